use super::*;

/// [HT-111] [HT-112]
#[test]
fn a_struct_with_all_kinds_of_fields_stands_in_one_piece() {
    let schema = adapt(&of::<Order>(), &GEMINI).unwrap();
    assert_taken(&schema, &GEMINI);
    let fields = &schema["properties"];
    assert_eq!(schema["required"], json!(["name", "count", "level", "to", "shapes"]));
    assert_eq!(fields["note"], json!({ "type": "string", "nullable": true }));
    assert_eq!(fields["level"], json!({ "type": "string", "enum": ["Low", "High"] }));
    assert_eq!(fields["maybe_level"], json!({ "type": "string", "enum": ["Low", "High"], "nullable": true }));
    assert_eq!(fields["to"]["description"], "Where it goes.");
    assert_eq!(
        fields["to"]["properties"]["street"],
        json!({ "type": "string", "description": "With the number." })
    );
    assert_eq!(fields["back"]["nullable"], true);
    assert_eq!(fields["days"], json!({ "type": "integer", "minimum": 0 }));
    assert_eq!(
        fields["shapes"]["items"]["anyOf"][0]["properties"]["kind"],
        json!({ "type": "string", "enum": ["Circle"] })
    );
}

/// [HT-111]
#[test]
fn a_type_that_contains_itself_names_its_place() {
    assert_eq!(problem(&of::<Tree>(), &GEMINI).0, "#/properties/children/items");
    let (path, why) = problem(&of::<Forest>(), &GEMINI);
    assert_eq!(path, "#/$defs/Tree/properties/children/items");
    assert!(why.contains("#/$defs/Tree` contains itself"), "{why}");
    // Twice beside each other is not within itself.
    let mut twice = object("a", json!({ "$ref": "#/$defs/A" }));
    twice["properties"]["b"] = json!({ "$ref": "#/$defs/A" });
    twice["$defs"] = json!({ "A": { "type": "string" } });
    assert_eq!(adapt(&twice, &GEMINI).unwrap()["properties"]["b"], json!({ "type": "string" }));
}

/// [HT-112]
#[test]
fn null_is_a_flag() {
    let taken = |schema: Value| property(schema, &GEMINI).unwrap();
    let text = json!({ "type": "string", "nullable": true });
    assert_eq!(taken(json!({ "type": ["string", "null"] })), text);
    assert_eq!(taken(json!({ "type": "string", "nullable": true })), text);
    assert_eq!(taken(json!({ "anyOf": [{ "type": "string" }, { "type": "null" }] })), text);
    assert_eq!(
        taken(json!({ "type": ["string", "null"], "enum": ["a", null] })),
        json!({ "type": "string", "nullable": true, "enum": ["a"] })
    );
    assert_eq!(taken(json!({ "type": "null" })), json!({ "type": "null" }));
    assert_eq!(taken(json!({ "anyOf": [{ "type": "null" }] })), json!({ "type": "null" }));
    assert_eq!(
        taken(
            json!({ "oneOf": [{ "type": "string" }, { "type": "null" }, { "type": "integer" }], "description": "D" })
        ),
        json!({ "anyOf": [{ "type": "string" }, { "type": "integer" }], "nullable": true, "description": "D" })
    );
    assert_eq!(
        taken(
            json!({ "type": ["string", "integer", "null"], "pattern": "a", "minimum": 1, "description": "D" })
        ),
        json!({
            "anyOf": [{ "type": "string", "pattern": "a" }, { "type": "integer", "minimum": 1 }],
            "nullable": true, "description": "D",
        })
    );
    assert_eq!(
        taken(json!({ "enum": ["a", null, "b"] })),
        json!({ "type": "string", "enum": ["a", "b"], "nullable": true })
    );
}

/// [HT-113]
#[test]
fn fixed_values_are_an_enum_of_texts() {
    let taken =
        |schema: Value| property(schema, &SchemaRules { leftover: Leftover::Described, ..GEMINI }).unwrap();
    assert_eq!(taken(json!({ "const": "a" })), json!({ "type": "string", "enum": ["a"] }));
    assert_eq!(taken(json!({ "const": 1 })), json!({ "type": "integer", "description": "one of: [1]" }));
    assert_eq!(
        taken(json!({ "enum": [1.5, 2.5] })),
        json!({ "type": "number", "description": "one of: [1.5,2.5]" })
    );
    assert_eq!(
        taken(json!({ "enum": ["a", true] })),
        json!({ "anyOf": [
            { "type": "string", "enum": ["a"] },
            { "type": "boolean", "description": "one of: [true]" },
        ] })
    );
    assert_eq!(property(json!({ "const": 1 }), &GEMINI).unwrap(), json!({ "type": "integer" }));
}

/// [HT-114]
#[test]
fn what_is_not_known_is_dropped_and_maps_are_told() {
    let schema = json!({
        "type": "string", "minLength": 2, "format": "uri", "$id": "x", "deprecated": true, "not": {}, "default": "a",
    });
    assert_eq!(property(schema, &GEMINI).unwrap(), json!({ "type": "string" }));
    let closed = json!({ "type": "object", "properties": { "b": { "type": "string" } }, "additionalProperties": false });
    assert_eq!(
        property(closed, &GEMINI).unwrap(),
        json!({ "type": "object", "properties": { "b": { "type": "string" } } })
    );
    let described = SchemaRules { leftover: Leftover::Described, ..GEMINI };
    let map =
        json!({ "type": "object", "additionalProperties": { "type": "string" }, "description": "Labels." });
    assert_eq!(
        property(map, &described).unwrap(),
        json!({ "type": "object", "description": "Labels.\n(additionalProperties: {\"type\":\"string\"})" })
    );
}
