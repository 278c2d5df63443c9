use super::*;

fn with_definitions(definitions: Value) -> Value {
    let mut schema = object("a", json!({ "$ref": "#/$defs/A" }));
    schema["$defs"] = definitions;
    schema
}

const ALL: [&SchemaRules; 4] = [&OPENAI, &GEMINI, &ANTHROPIC, &SchemaRules::PLAIN];

/// [HT-120]
#[test]
fn a_reference_leads_into_the_document() {
    for (reference, word) in [
        (json!("#/$defs/Nobody"), "leads nowhere"),
        (json!("https://example.com/schema.json#/$defs/A"), "nothing is fetched"),
        (json!("other.json"), "nothing is fetched"),
        (json!("#anchor"), "no JSON pointer"),
        (json!("#%ff"), "not UTF-8"),
        (json!(7), "no text"),
    ] {
        for rules in ALL {
            let (path, why) = problem(&object("a", json!({ "$ref": reference })), rules);
            assert_eq!(path, "#/properties/a");
            assert!(why.contains(word), "{why}");
        }
    }
    let (_, why) = problem(&object("a", json!({ "$dynamicRef": "#x" })), &OPENAI);
    assert!(why.contains("$dynamicRef"), "{why}");
}

/// [HT-120]
#[test]
fn a_reference_may_lead_anywhere_in_the_document() {
    let schema = json!({
        "type": "object",
        "properties": {
            "a": { "type": "object", "properties": { "x/y": { "type": "string" } } },
            "b": { "$ref": "#/properties/a/properties/x~1y" },
            "c": { "$ref": "#/%64efinitions/%C3%A9 t" },
            "d": { "$ref": "#/definitions/d/y" },
            "e": { "$ref": "#/definitions/e/y" },
        },
        "definitions": { "é t": { "type": "integer" }, "d": { "y": { "type": "null" } }, "e": { "y": { "type": "boolean" } } },
    });
    let taken = adapt(&schema, &OPENAI).unwrap();
    assert_taken(&taken, &OPENAI);
    let names: Vec<_> = taken["$defs"].as_object().unwrap().keys().collect();
    assert_eq!(names.len(), 4, "{names:?}");
    let taken = adapt(&schema, &GEMINI).unwrap();
    assert_eq!(taken["properties"]["b"], json!({ "type": "string" }));
    assert_eq!(taken["properties"]["c"], json!({ "type": "integer" }));
    assert_eq!(taken["properties"]["e"], json!({ "type": "boolean" }));
}

/// [HT-121]
#[test]
fn a_reference_to_itself_alone_is_a_problem() {
    for definitions in [
        json!({ "A": { "$ref": "#/$defs/A" } }),
        json!({ "A": { "$ref": "#/$defs/B" }, "B": { "$ref": "#/$defs/C" }, "C": { "$ref": "#/$defs/B" } }),
        json!({ "A": { "anyOf": [{ "$ref": "#/$defs/A" }] } }),
        json!({ "A": { "allOf": [{ "$ref": "#/$defs/A" }, { "type": "object" }] } }),
        json!({ "A": { "type": "object", "$ref": "#/$defs/B" }, "B": { "$ref": "#/$defs/A", "minProperties": 1 } }),
        json!({ "A": { "type": "object", "properties": { "b": { "$ref": "#/$defs/A", "maxProperties": 2 } } } }),
    ] {
        for rules in [&OPENAI, &GEMINI, &ANTHROPIC] {
            let (_, why) = problem(&with_definitions(definitions.clone()), rules);
            assert!(
                ["only to itself", "contains itself", "part of itself"].iter().any(|word| why.contains(word)),
                "{why}"
            );
        }
    }
    assert_eq!(problem(&json!({ "$ref": "#" }), &OPENAI).0, "#");
}

/// [HT-122]
#[test]
fn depth_has_an_end() {
    // Without `json!`, which copies what it is given.
    let keyword =
        |keyword: &str, value: Value| Value::Object([(keyword.to_owned(), value)].into_iter().collect());
    let nest = |depth: usize, wrap: &dyn Fn(Value) -> Value| {
        let inner = (0..depth).fold(json!({ "type": "string" }), |inner, _| wrap(inner));
        keyword("properties", keyword("a", inner))
    };
    let items = |inner| keyword("items", inner);
    assert!(adapt(&nest(100, &items), &OPENAI).is_ok());
    let all_of = |inner| keyword("allOf", Value::Array(vec![inner]));
    let any_of = |inner| keyword("anyOf", Value::Array(vec![inner, json!({ "type": "null" })]));
    let object = |inner| keyword("properties", keyword("b", inner));
    let unless = |inner| keyword("not", inner);
    for schema in [
        nest(140, &items),
        nest(50_000, &items),
        nest(20_000, &all_of),
        nest(20_000, &unless),
        nest(200, &any_of),
        nest(200, &object),
    ] {
        for rules in ALL {
            let (path, why) = problem(&schema, rules);
            assert!(why.contains("deeper than 128") && path.starts_with('#'), "{why}");
        }
        discard(schema);
    }
    // A chain of references that is short to write.
    let chain: serde_json::Map<_, _> = (0..1000)
        .map(|at| {
            (
                format!("d{at}"),
                json!({ "type": "array", "items": { "$ref": format!("#/$defs/d{}", at + 1) } }),
            )
        })
        .chain([
            ("d1000".to_owned(), json!({ "type": "string" })),
            ("A".to_owned(), json!({ "$ref": "#/$defs/d0" })),
        ])
        .collect();
    for rules in ALL {
        assert!(problem(&with_definitions(chain.clone().into()), rules).1.contains("deeper than 128"));
    }
}

/// Drops without recursion, which the values' own drop does.
fn discard(value: Value) {
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        match value {
            Value::Array(items) => open.extend(items),
            Value::Object(map) => open.extend(map.into_iter().map(|(_, value)| value)),
            _ => {}
        }
    }
}

/// [HT-123]
#[test]
fn size_has_an_end_once_references_are_followed() {
    let doubling = |wrap: fn(&str) -> Value| {
        let definitions: serde_json::Map<_, _> = (0..40)
            .map(|at| (format!("d{at}"), wrap(&format!("#/$defs/d{}", at + 1))))
            .chain([
                ("d40".to_owned(), object("z", json!({ "type": "string" }))),
                ("A".to_owned(), json!({ "$ref": "#/$defs/d0" })),
            ])
            .collect();
        with_definitions(definitions.into())
    };
    let twice = doubling(
        |next| json!({ "type": "object", "properties": { "l": { "$ref": next }, "r": { "$ref": next } } }),
    );
    assert!(adapt(&twice, &OPENAI).is_ok());
    assert!(problem(&twice, &GEMINI).1.contains("more than 50000 values"));
    let merged = doubling(|next| json!({ "allOf": [{ "$ref": next }, { "$ref": next }] }));
    for rules in [&OPENAI, &GEMINI, &ANTHROPIC] {
        assert!(problem(&merged, rules).1.contains("more than 50000 values"));
    }
    let long = "x".repeat(100_000);
    let mut texts = with_definitions(json!({ "A": { "type": "string", "description": long } }));
    for at in 0..100 {
        texts["properties"][format!("p{at}")] = json!({ "$ref": "#/$defs/A" });
    }
    assert!(adapt(&texts, &OPENAI).is_ok());
    assert!(problem(&texts, &GEMINI).1.contains("more than 50000 values"));
    let wide: Vec<_> = (0..60_000).collect();
    assert!(problem(&object("a", json!({ "enum": wide })), &OPENAI).1.contains("more than 50000 values"));
    let nested = (0..60)
        .fold(json!({ "type": "string" }), |inner, _| json!({ "type": "array", "prefixItems": [inner] }));
    let taken = adapt(&object("a", nested), &OPENAI).unwrap();
    assert!(taken.to_string().len() < 200_000);
}

/// [HT-123]
#[test]
fn large_schemas_take_little_time_and_problems_stay_short() {
    let start = std::time::Instant::now();
    let values: Vec<_> = (0..11_000).map(|n| n.to_string()).collect();
    let both =
        json!({ "allOf": [{ "enum": values, "required": values }, { "enum": values, "required": values }] });
    assert!(adapt(&object("a", both), &SchemaRules { all_of: false, ..SchemaRules::PLAIN }).is_err());
    let few: Vec<_> = values.iter().take(4_000).cloned().collect();
    let parts = json!({ "allOf": [{ "enum": few }, { "enum": few }] });
    assert_eq!(property(parts, &OPENAI).unwrap()["enum"].as_array().unwrap().len(), 4_000);
    let names: serde_json::Map<_, _> =
        (0..5_000).map(|n| (format!("p{n}"), json!({ "type": "null" }))).collect();
    let required: Vec<_> = names.keys().cloned().collect();
    let wide = json!({ "type": "object", "properties": names, "required": required });
    for rules in [&OPENAI, &GEMINI, &ANTHROPIC] {
        assert!(adapt(&wide, rules).is_ok());
    }
    assert!(start.elapsed() < std::time::Duration::from_secs(10), "{:?}", start.elapsed());

    let long = "é".repeat(100_000);
    for schema in
        [object(&long, json!({ "type": long })), object("a", json!({ "$ref": format!("#/{long}") }))]
    {
        let (path, why) = problem(&schema, &OPENAI);
        assert!(path.chars().count() <= 302 && why.chars().count() <= 301, "{} {}", path.len(), why.len());
    }
}

/// [HT-124]
#[test]
fn what_is_no_schema_is_a_problem() {
    for (schema, word) in [
        (json!(7), "object or a boolean"),
        (json!(false), "no value"),
        (json!({ "type": "text" }), "is no type"),
        (json!({ "type": [] }), "is no type"),
        (json!({ "type": ["string", 7] }), "is no type"),
        (json!({ "type": "object", "properties": [] }), "`properties`"),
        (
            json!({ "type": "object", "properties": { "b": { "type": "null" } }, "required": "b" }),
            "`required`",
        ),
        (
            json!({ "type": "object", "properties": { "b": { "type": "null" } }, "required": ["c"] }),
            "`c` is required",
        ),
        (json!({ "type": "array", "items": 3 }), "object or a boolean"),
        (json!({ "type": "array", "prefixItems": {} }), "`prefixItems`"),
        (json!({ "anyOf": [] }), "`anyOf` has no branches"),
        (json!({ "anyOf": {} }), "`anyOf` is no list"),
        (json!({ "anyOf": [{ "type": "null" }], "oneOf": [{ "type": "null" }] }), "at once"),
        (json!({ "enum": [] }), "`enum`"),
        (json!({ "enum": "a" }), "`enum`"),
        (json!({ "const": 1, "enum": [2] }), "`const` is none of `enum`"),
    ] {
        for rules in ALL {
            let (path, why) = problem(&object("a", schema.clone()), rules);
            assert!(path.starts_with("#/properties/a"), "{path}");
            assert!(why.contains(word), "{why} for {schema}");
        }
    }
    let (path, why) = problem(&object("a", json!({ "allOf": 7, "type": "string" })), &OPENAI);
    assert_eq!((path.as_str(), why.contains("`allOf`")), ("#/properties/a", true));
    let shown = adapt(&json!(7), &OPENAI).unwrap_err().to_string();
    assert_eq!(shown, "the schema at #: a schema is an object or a boolean");
}
