//! JSON Schema where OpenAI holds the model to the letter of it.

use ai_http::schema::{ExtraKeys, Maps, SchemaProblem, SchemaRules, adapt};
use serde_json::Value;

/// Every property is there and no other; types may contain themselves; there are no maps.
const STRICT: SchemaRules = SchemaRules {
    object_root: true,
    typed: true,
    all_required: true,
    extra_keys: ExtraKeys::Forbidden,
    maps: Maps::Refused,
    one_of: false,
    all_of: false,
    tuples: false,
    keywords: Some(&[
        "title",
        "pattern",
        "format",
        "minimum",
        "exclusiveMinimum",
        "maximum",
        "exclusiveMaximum",
        "multipleOf",
        "minItems",
        "maxItems",
    ]),
    formats: Some(&["date-time", "date", "time", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"]),
    ..SchemaRules::PLAIN
};

/// The schema as it must be to be sent with `strict: true`, in Chat Completions and Responses alike.
///
/// # Errors
/// A [`SchemaProblem`] that names the place if it cannot be.
pub(crate) fn strict(schema: &Value) -> Result<Value, SchemaProblem> {
    adapt(schema, &STRICT)
}
