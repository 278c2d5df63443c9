//! A JSON Schema, whatever it holds, is adapted or refused with the place that cannot be.

use ai_http::schema::{Constants, ExtraKeys, Leftover, Maps, Nulls, Refs, SchemaRules, adapt};
use ai_provider::ErrorClass;
use serde_json::Value;

use super::Seen;

/// The strictest of all rules, and the ones with the least words.
const STRICT: SchemaRules = SchemaRules {
    object_root: true,
    typed: true,
    all_required: true,
    extra_keys: ExtraKeys::Forbidden,
    maps: Maps::Refused,
    one_of: false,
    all_of: false,
    ..SchemaRules::PLAIN
};
const POOR: SchemaRules = SchemaRules {
    refs: Refs::Inline,
    recursion: false,
    typed: true,
    extra_keys: ExtraKeys::Unsaid,
    maps: Maps::Described,
    one_of: false,
    all_of: false,
    nulls: Nulls::Nullable,
    constants: Constants::StringEnum,
    tuples: false,
    keywords: Some(&["minimum"]),
    formats: Some(&["date-time"]),
    leftover: Leftover::Dropped,
    ..SchemaRules::PLAIN
};

/// Adapts a schema by each of the rules.
pub fn schema(data: &[u8]) -> Seen {
    let Ok(schema) = serde_json::from_slice::<Value>(data) else { return Seen::default() };
    let mut seen = Seen::default();
    for rules in [SchemaRules::PLAIN, STRICT, POOR] {
        match adapt(&schema, &rules) {
            Ok(adapted) => {
                seen.finished = true;
                assert_eq!(adapt(&schema, &rules), Ok(adapted.clone()), "the same twice");
                assert!(rules.refs == Refs::Keep || !refers(&adapted), "a reference is left: {adapted}");
            }
            Err(problem) => {
                assert!(problem.path.starts_with('#') && !problem.why.is_empty(), "{problem:?}");
                seen.class = Some(ErrorClass::InvalidRequest);
            }
        }
    }
    seen
}

/// Whether a schema within refers to another: a property may have this name too.
fn refers(schema: &Value) -> bool {
    match schema {
        Value::Object(fields) => {
            let named =
                |name: &str| matches!(name, "properties" | "$defs" | "definitions" | "patternProperties");
            fields.get("$ref").is_some_and(Value::is_string)
                || fields.iter().any(|(name, value)| match value {
                    Value::Object(inner) if named(name) => inner.values().any(refers),
                    // What stands in these is data, not a schema.
                    _ if matches!(name.as_str(), "enum" | "const" | "default" | "examples" | "example") => {
                        false
                    }
                    value => refers(value),
                })
        }
        Value::Array(items) => items.iter().any(refers),
        _ => false,
    }
}
