use super::*;

/// [HT-100] [HT-101]
#[test]
fn a_struct_with_all_kinds_of_fields_is_closed_and_requires_all() {
    let schema = adapt(&of::<Order>(), &OPENAI).unwrap();
    assert_taken(&schema, &OPENAI);
    assert_eq!(
        schema["required"],
        json!(["back", "count", "days", "level", "maybe_level", "name", "note", "shapes", "to"])
    );
    let fields = &schema["properties"];
    assert_eq!(fields["name"], json!({ "type": "string", "description": "Who pays." }));
    assert_eq!(fields["note"], json!({ "type": ["string", "null"] }));
    assert_eq!(fields["count"], json!({ "type": "integer", "minimum": 0, "maximum": 255 }));
    assert_eq!(fields["level"], json!({ "$ref": "#/$defs/Level" }));
    assert_eq!(fields["maybe_level"], json!({ "anyOf": [{ "$ref": "#/$defs/Level" }, { "type": "null" }] }));
    assert_eq!(
        fields["to"],
        json!({ "anyOf": [{ "$ref": "#/$defs/Address" }], "description": "Where it goes." })
    );
    assert_eq!(fields["back"], json!({ "anyOf": [{ "$ref": "#/$defs/Address" }, { "type": "null" }] }));
    assert_eq!(fields["days"], json!({ "type": "integer", "minimum": 0, "description": "default: 7" }));
    assert_eq!(schema["$defs"]["Address"]["required"], json!(["street", "zip"]));
}

/// [HT-101]
#[test]
fn what_need_not_be_there_may_be_null() {
    let optional = |schema: Value| {
        let whole = json!({ "type": "object", "properties": { "a": schema } });
        adapt(&whole, &OPENAI).unwrap()["properties"]["a"].clone()
    };
    assert_eq!(optional(json!({ "type": "string" })), json!({ "type": ["string", "null"] }));
    assert_eq!(optional(json!({ "type": ["string", "null"] })), json!({ "type": ["string", "null"] }));
    assert_eq!(
        optional(json!({ "enum": ["x", "y"], "description": "D" })),
        json!({ "type": ["string", "null"], "enum": ["x", "y", null], "description": "D" })
    );
    assert_eq!(
        optional(json!({ "const": 1, "description": "D" })),
        json!({ "anyOf": [{ "type": "integer", "const": 1 }, { "type": "null" }], "description": "D" })
    );
    assert_eq!(
        optional(json!({ "anyOf": [{ "type": "string" }, { "type": "number" }] })),
        json!({ "anyOf": [{ "type": "string" }, { "type": "number" }, { "type": "null" }] })
    );
    let either = json!({ "anyOf": [{ "type": "string" }, { "type": "null" }] });
    assert_eq!(optional(either.clone()), either);
    assert_eq!(
        optional(json!({ "type": "integer", "nullable": true })),
        json!({ "type": ["integer", "null"] })
    );
    // A default of null says nothing but that null is taken.
    assert_eq!(
        optional(json!({ "type": "string", "default": null })),
        json!({ "type": ["string", "null"], "description": "default: null" })
    );
}

/// [HT-102]
#[test]
fn a_data_enum_is_a_union_of_closed_objects() {
    let schema = adapt(&of::<Order>(), &OPENAI).unwrap();
    let branches = schema["$defs"]["Shape"]["anyOf"].as_array().unwrap();
    assert_eq!(branches.len(), 3);
    assert_eq!(branches[0]["properties"]["kind"], json!({ "type": "string", "const": "Circle" }));
    assert_eq!(branches[0]["required"], json!(["kind", "radius"]));
    // The content of a variant stands beside `$ref`: both become one object.
    let way: Vec<_> = branches[1]["properties"].as_object().unwrap().keys().collect();
    assert_eq!(way, ["kind", "street", "zip"]);
    assert_eq!(branches[1]["additionalProperties"], false);
    assert_eq!(branches[1]["description"], "A road.");
    assert_eq!(branches[2]["required"], json!(["kind"]));
}

/// [HT-103]
#[test]
fn a_type_may_contain_itself() {
    let schema = adapt(&of::<Tree>(), &OPENAI).unwrap();
    assert_taken(&schema, &OPENAI);
    assert_eq!(schema["properties"]["children"]["items"], json!({ "$ref": "#" }));
    assert_eq!(schema["properties"]["parent"], json!({ "anyOf": [{ "$ref": "#" }, { "type": "null" }] }));

    let schema = adapt(&of::<Forest>(), &OPENAI).unwrap();
    assert_taken(&schema, &OPENAI);
    assert_eq!(schema["$defs"]["Tree"]["properties"]["children"]["items"], json!({ "$ref": "#/$defs/Tree" }));
}

/// [HT-104]
#[test]
fn a_map_names_its_place() {
    let (path, why) = problem(&of::<Labelled>(), &OPENAI);
    assert_eq!(path, "#/$defs/Labels/properties/labels");
    assert!(why.contains("keys of any name"), "{why}");
    for map in [
        json!({ "type": "object" }),
        json!({ "type": "object", "additionalProperties": true }),
        json!({ "type": "object", "patternProperties": { "^x": { "type": "string" } } }),
        json!({ "type": "object", "properties": { "b": { "type": "string" } }, "additionalProperties": { "type": "string" } }),
    ] {
        assert_eq!(problem(&object("a/b", map), &OPENAI).0, "#/properties/a~1b");
    }
}

/// [HT-104]
#[test]
fn an_object_without_keys_is_no_map() {
    let empty = json!({ "type": "object", "properties": {}, "required": [], "additionalProperties": false });
    assert_eq!(adapt(&json!({ "type": "object" }), &OPENAI).unwrap(), empty);
    assert_eq!(property(json!({ "type": "object", "properties": {} }), &OPENAI).unwrap(), empty);
    assert_eq!(property(json!({ "additionalProperties": false }), &OPENAI).unwrap(), empty);
    // Keys beside those that are named are given up.
    let open = json!({ "type": "object", "properties": { "b": { "type": "string" } }, "additionalProperties": true });
    assert_eq!(property(open, &OPENAI).unwrap()["additionalProperties"], false);
}

/// [HT-105]
#[test]
fn the_root_is_an_object() {
    for root in
        [of::<Shape>(), of::<Level>(), of::<Vec<u8>>(), json!(true), json!({ "type": ["object", "null"] })]
    {
        let (path, why) = problem(&root, &OPENAI);
        assert_eq!(path, "#");
        assert!(why.contains("object") || why.contains("any value"), "{why}");
    }
    let named = json!({ "$ref": "#/$defs/A", "$defs": { "A": object("b", json!({ "type": "string" })) } });
    let schema = adapt(&named, &OPENAI).unwrap();
    assert_eq!(schema["properties"]["b"], json!({ "type": "string" }));
    assert!(schema.get("$ref").is_none() && schema.get("$defs").is_none(), "{schema}");
}

/// [HT-106]
#[test]
fn what_is_not_taken_is_told() {
    let schema = json!({
        "type": "string", "description": "A name.", "minLength": 2, "maxLength": 9, "format": "uri",
        "title": "Name", "$comment": "x", "examples": ["a"], "x-order": 1, "default": "b",
    });
    let taken = property(schema, &OPENAI).unwrap();
    assert_eq!(
        taken,
        json!({
            "type": "string", "title": "Name",
            "description": "A name.\n(default: \"b\"; format: \"uri\"; maxLength: 9; minLength: 2)",
        })
    );
    let list =
        json!({ "type": "array", "items": { "type": "integer", "format": "uint8" }, "uniqueItems": true });
    assert_eq!(
        property(list, &OPENAI).unwrap(),
        json!({ "type": "array", "items": { "type": "integer" }, "description": "uniqueItems: true" })
    );
    let unless = json!({ "type": "string", "not": { "const": "x" } });
    assert_eq!(
        property(unless, &OPENAI).unwrap(),
        json!({ "type": "string", "description": "not: {\"const\":\"x\"}" })
    );
}

/// [HT-107]
#[test]
fn a_type_is_found_where_it_is_not_said() {
    let found = |schema: Value| property(schema, &OPENAI).unwrap()["type"].clone();
    assert_eq!(found(json!({ "enum": ["a", 1, 2] })), json!(["string", "integer"]));
    assert_eq!(found(json!({ "const": true })), "boolean");
    assert_eq!(found(json!({ "properties": {} })), "object");
    assert_eq!(found(json!({ "items": { "type": "string" } })), "array");
    assert_eq!(found(json!({ "minLength": 1 })), "string");
    for anything in [json!(true), json!({}), json!({ "description": "what you like" })] {
        let (path, why) = problem(&object("a", anything), &OPENAI);
        assert_eq!(path, "#/properties/a");
        assert!(why.contains("any value"), "{why}");
    }
    let (path, _) = problem(&object("a", json!({ "type": "array" })), &OPENAI);
    assert_eq!(path, "#/properties/a");
}

/// [HT-108]
#[test]
fn parts_that_hold_at_once_become_one() {
    let both = json!({ "allOf": [
        { "type": "object", "properties": { "b": { "type": "number", "minimum": 1 } }, "required": ["b"] },
        { "properties": { "b": { "type": "integer", "minimum": 0 }, "c": { "enum": ["x", "y"] } } },
        { "$ref": "#/$defs/C" },
    ] });
    let mut whole = object("a", both);
    whole["$defs"] = json!({ "C": { "properties": { "c": { "enum": ["y", "z"] } }, "required": ["c"] } });
    let schema = adapt(&whole, &OPENAI).unwrap();
    assert_eq!(
        schema["properties"]["a"],
        json!({
            "type": "object", "additionalProperties": false, "required": ["b", "c"],
            "properties": { "b": { "type": "integer", "minimum": 1 }, "c": { "type": "string", "enum": ["y"] } },
        })
    );
    // One part alone is that part, and may contain itself.
    let mut list = object("next", json!({ "allOf": [{ "$ref": "#/$defs/N" }], "description": "The rest." }));
    list["$defs"] = json!({ "N": { "type": "object", "properties": { "next": { "allOf": [{ "$ref": "#/$defs/N" }] } } } });
    let schema = adapt(&list, &OPENAI).unwrap();
    let next = json!({ "anyOf": [{ "$ref": "#/$defs/N" }], "description": "The rest." });
    assert_eq!(schema["properties"]["next"], next);
    for (one, other) in [
        (json!({ "type": "string" }), json!({ "type": "number" })),
        (json!({ "const": 1 }), json!({ "const": 2 })),
        (json!({ "enum": ["a"] }), json!({ "enum": ["b"] })),
        (json!({ "pattern": "a" }), json!({ "pattern": "b" })),
    ] {
        let keyword = one.as_object().unwrap().keys().next().unwrap().clone();
        let (path, why) = problem(&object("a", json!({ "allOf": [one, other] })), &OPENAI);
        assert!(path.starts_with("#/properties/a"), "{path}");
        assert!(why.contains(&format!("`{keyword}`")), "{why}");
    }
}

/// [HT-109]
#[test]
fn what_stands_beside_a_union_goes_into_its_branches() {
    let flattened = json!({
        "type": "object", "properties": { "id": { "type": "string" } }, "required": ["id"], "description": "D",
        "oneOf": [object("b", json!({ "type": "string" })), object("c", json!({ "type": "string" }))],
    });
    let schema = property(flattened, &OPENAI).unwrap();
    assert_eq!(schema["anyOf"][0]["required"], json!(["b", "id"]));
    assert_eq!(schema["anyOf"][1]["required"], json!(["c", "id"]));
    assert_eq!(schema["description"], "D");
    assert!(schema.get("properties").is_none() && schema["anyOf"][0].get("description").is_none());
}

/// [HT-110]
#[test]
fn a_tuple_becomes_a_list_of_its_types() {
    let string = json!({ "type": "string" });
    let pair = json!({ "type": "array", "prefixItems": [string, { "type": "number" }], "minItems": 2, "maxItems": 2 });
    let taken = property(pair, &OPENAI).unwrap();
    assert_eq!(taken["items"], json!({ "anyOf": [string, { "type": "number" }] }));
    assert_eq!((&taken["minItems"], &taken["maxItems"]), (&json!(2), &json!(2)));
    assert_eq!(taken["description"], "items in this order: [{\"type\":\"string\"},{\"type\":\"number\"}]");
    let twice = json!({ "type": "array", "items": [string, string], "additionalItems": string });
    assert_eq!(property(twice, &OPENAI).unwrap()["items"], string);
    let schema = adapt(&of::<(u8, String, Level)>(), &SchemaRules { object_root: false, ..OPENAI }).unwrap();
    assert_taken(&schema, &SchemaRules { object_root: false, ..OPENAI });
}
