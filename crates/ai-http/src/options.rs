//! Options and extra fields on their way into a body.

use ai_provider::{JsonObject, ProviderOptions, merge_json};
use serde_json::Value;

/// Merges a field into an object, deep where both sides are objects.
pub fn merge_field(base: &mut JsonObject, key: &str, value: &Value) {
    match base.get_mut(key) {
        Some(mine) => merge_json(mine, value),
        None => {
            base.insert(key.to_owned(), value.clone());
        }
    }
}

/// The options that stand under these names, merged: later names win.
///
/// ```
/// use ai_provider::ProviderOptions;
/// # fn f(options: &ProviderOptions) {
/// let mine = ai_http::options_of(options, &["openai", "my-server"]);
/// # }
/// ```
pub fn options_of(options: &ProviderOptions, namespaces: &[&str]) -> JsonObject {
    let mut all = JsonObject::new();
    for namespace in namespaces {
        for (key, value) in options.get(namespace).into_iter().flatten() {
            merge_field(&mut all, key, value);
        }
    }
    all
}
