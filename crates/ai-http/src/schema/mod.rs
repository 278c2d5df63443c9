//! JSON Schema as an API takes it.
//!
//! Each API takes a part of JSON Schema of its own. What it takes is a [`SchemaRules`] value of its adapter;
//! [`adapt`] rewrites a schema by it, without changing what it means where it can, and telling the model in the
//! description what the API has no word for.

use std::fmt;

use serde_json::Value;

mod bounds;
mod keywords;
mod merge;
mod nullable;
mod object;
mod path;
mod refs;
mod rules;
mod union;
mod walk;

#[cfg(test)]
mod tests;

pub use rules::{Constants, ExtraKeys, Leftover, Maps, Nulls, Refs, SchemaRules};

/// Why a schema cannot be said to an API, and where in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaProblem {
    /// The place as a JSON pointer fragment, such as `#/properties/labels`.
    pub path: String,
    /// What is wrong there.
    pub why: String,
}

impl fmt::Display for SchemaProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the schema at {}: {}", self.path, self.why)
    }
}

impl std::error::Error for SchemaProblem {}

/// The schema as the API of the rules takes it.
///
/// What is left out of the result because the API has no word for it only ever widens the schema, so the answer
/// must still be checked against the original. The one thing that is narrowed: an object that allows further keys
/// beside its own loses them where the API wants closed objects.
///
/// ```
/// use ai_http::schema::{ExtraKeys, SchemaRules, adapt};
/// use serde_json::json;
/// let rules = SchemaRules { extra_keys: ExtraKeys::Forbidden, all_required: true, ..SchemaRules::PLAIN };
/// let schema = json!({ "type": "object", "properties": { "city": { "type": "string" } } });
/// let city = json!({ "type": ["string", "null"] });
/// assert_eq!(adapt(&schema, &rules)?, json!({
///     "type": "object", "properties": { "city": city }, "required": ["city"], "additionalProperties": false,
/// }));
/// # Ok::<(), ai_http::schema::SchemaProblem>(())
/// ```
///
/// # Errors
/// A [`SchemaProblem`] if the rules have no form for a part of it, if it is no valid schema, if a reference leads
/// nowhere, out of the document or only to itself, and if it is larger than any API takes: deeper than 128 levels
/// or more than 50,000 values, once references are followed.
pub fn adapt(schema: &Value, rules: &SchemaRules) -> Result<Value, SchemaProblem> {
    bounds::check(schema)?;
    walk::Walker::new(schema, rules).document().map(Value::Object)
}
