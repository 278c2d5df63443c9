use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A JSON object.
pub type JsonObject = serde_json::Map<String, Value>;

/// Settings only one provider understands: namespace → JSON object.
///
/// Namespaces are those of the adapters (`openai`, `anthropic`, …). An adapter reads its own and ignores the
/// rest, so one request can carry options for its primary and for every fallback. Kept in a sorted map, so
/// that equal options give equal bytes on the wire.
///
/// ```
/// use ai_provider::ProviderOptions;
/// use serde_json::json;
/// let options = ProviderOptions::default().with("openai", "user", json!("u1"));
/// assert_eq!(options.get("openai").and_then(|o| o.get("user")), Some(&json!("u1")));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ProviderOptions(BTreeMap<String, JsonObject>);

impl ProviderOptions {
    /// The options of one namespace.
    pub fn get(&self, namespace: &str) -> Option<&JsonObject> {
        self.0.get(namespace)
    }

    /// Sets one option.
    #[must_use]
    pub fn with(mut self, namespace: impl Into<String>, option: impl Into<String>, value: Value) -> Self {
        self.0.entry(namespace.into()).or_default().insert(option.into(), value);
        self
    }

    /// Whether there is no namespace at all; one without options counts, so that it is stored too.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Namespaces with their options, in order of name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &JsonObject)> {
        self.0.iter().map(|(namespace, options)| (namespace.as_str(), options))
    }

    /// Merges other options over these: per namespace, deep for objects, replacement for all else.
    pub fn merge(&mut self, over: &Self) {
        for (namespace, options) in &over.0 {
            let ours = self.0.entry(namespace.clone()).or_default();
            for (key, value) in options {
                match ours.get_mut(key) {
                    Some(mine) => merge_json(mine, value),
                    None => {
                        ours.insert(key.clone(), value.clone());
                    }
                }
            }
        }
    }
}

/// Merges `over` into `base`: objects key by key and deep, everything else (arrays too) replaced.
///
/// Recursion is bounded by the depth of `over`, which `serde_json` limits to 128 for parsed text.
pub fn merge_json(base: &mut Value, over: &Value) {
    match (base, over) {
        (Value::Object(base), Value::Object(over)) => {
            for (key, value) in over {
                match base.get_mut(key) {
                    Some(mine) => merge_json(mine, value),
                    None => {
                        base.insert(key.clone(), value.clone());
                    }
                }
            }
        }
        (base, over) => *base = over.clone(),
    }
}
