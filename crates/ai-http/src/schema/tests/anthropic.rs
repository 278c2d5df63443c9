use super::*;

/// [HT-115]
#[test]
fn a_struct_with_all_kinds_of_fields_is_closed_and_leaves_out_what_it_may() {
    let schema = adapt(&of::<Order>(), &ANTHROPIC).unwrap();
    assert_taken(&schema, &ANTHROPIC);
    assert_eq!(schema["required"], json!(["name", "count", "level", "to", "shapes"]));
    assert_eq!(
        schema["properties"]["count"],
        json!({ "type": "integer", "description": "maximum: 255; minimum: 0" })
    );
    assert_eq!(schema["properties"]["days"]["default"], 7);
    assert_eq!(schema["properties"]["level"], json!({ "$ref": "#/$defs/Level" }));
    assert_eq!(schema["$defs"]["Shape"]["anyOf"].as_array().unwrap().len(), 3);
    assert_eq!(schema["$defs"]["Address"]["additionalProperties"], false);
}

/// [HT-115]
#[test]
fn recursion_and_maps_name_their_place() {
    assert_eq!(problem(&of::<Tree>(), &ANTHROPIC).0, "#/properties/children/items");
    assert_eq!(problem(&of::<Forest>(), &ANTHROPIC).0, "#/$defs/Tree/properties/children/items");
    assert_eq!(problem(&of::<Labelled>(), &ANTHROPIC).0, "#/$defs/Labels/properties/labels");
}

/// [HT-107]
#[test]
fn any_value_stays_any_value_where_no_type_is_needed() {
    assert_eq!(property(json!(true), &ANTHROPIC).unwrap(), json!({}));
    assert_eq!(property(json!({ "description": "D" }), &ANTHROPIC).unwrap(), json!({ "description": "D" }));
    assert_eq!(property(json!({ "enum": ["a", 1] }), &ANTHROPIC).unwrap(), json!({ "enum": ["a", 1] }));
}
