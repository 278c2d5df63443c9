//! JSON Schema as Gemini takes it: a part of OpenAPI's.

use ai_http::schema::{Constants, ExtraKeys, Leftover, Maps, Nulls, Refs, SchemaProblem, SchemaRules, adapt};
use ai_provider::JsonObject;
use serde_json::Value;

const RULES: SchemaRules = SchemaRules {
    refs: Refs::Inline,
    recursion: false,
    object_root: false,
    typed: true,
    all_required: false,
    extra_keys: ExtraKeys::Unsaid,
    maps: Maps::Described,
    one_of: false,
    all_of: false,
    nulls: Nulls::Nullable,
    constants: Constants::StringEnum,
    tuples: false,
    keywords: Some(&[
        "title",
        "format",
        "minItems",
        "maxItems",
        "minLength",
        "maxLength",
        "minProperties",
        "maxProperties",
        "minimum",
        "maximum",
        "pattern",
        "propertyOrdering",
    ]),
    formats: Some(&["date-time", "enum", "float", "double", "int32", "int64"]),
    leftover: Leftover::Described,
};

/// The schema of an answer.
pub(super) fn of_answer(schema: &Value) -> Result<Value, SchemaProblem> {
    adapt(schema, &RULES)
}

/// The schema of a tool's input; none for a tool without input, which the API wants left out.
pub(super) fn of_input(schema: &Value) -> Result<Option<Value>, SchemaProblem> {
    let schema = adapt(schema, &SchemaRules { object_root: true, ..RULES })?;
    let empty = schema.get("properties").and_then(Value::as_object).is_none_or(JsonObject::is_empty);
    let says_more = schema.get("anyOf").is_some() || schema.get("description").is_some();
    Ok((!empty || says_more).then_some(schema))
}
