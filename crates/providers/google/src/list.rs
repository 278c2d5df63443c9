//! The list of models.

use ai_provider::{ErrorClass, ModelError, ModelInfo, ModelKind};
use serde::Deserialize;

use crate::models::Model;

/// Pages of the list. Google's fits into one; a server that never ends is not followed.
pub(crate) const MAX_PAGES: usize = 100;

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Page {
    models: Option<Vec<Entry>>,
    next_page_token: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Entry {
    name: Option<String>,
    display_name: Option<String>,
    input_token_limit: Option<u64>,
    output_token_limit: Option<u64>,
    supported_generation_methods: Option<Vec<String>>,
    thinking: Option<bool>,
}

impl Page {
    /// Adds the models of this page; returns where the next one begins, blank if this is the last.
    pub(crate) fn take_models(self, models: &mut Vec<ModelInfo>) -> Result<String, ModelError> {
        if self.models.is_none() && !models.is_empty() {
            return Ok(String::new());
        }
        let Some(entries) = self.models else {
            return Err(ModelError::new(ErrorClass::Protocol, "not a list of models: it holds no list"));
        };
        models.extend(entries.into_iter().filter_map(Entry::into_info));
        Ok(self.next_page_token.unwrap_or_default())
    }
}

impl Entry {
    fn into_info(self) -> Option<ModelInfo> {
        let name = self.name.filter(|name| !name.trim().is_empty())?;
        let id = name.strip_prefix("models/").unwrap_or(&name).to_owned();
        let methods = self.supported_generation_methods.unwrap_or_default();
        let has = |method: &str| methods.iter().any(|known| known == method);
        let kind = match (has("generateContent"), has("embedContent") || has("batchEmbedContents")) {
            (true, _) => Some(ModelKind::Language),
            (false, true) => Some(ModelKind::Embedding),
            (false, false) => None,
        };
        let capabilities = (kind == Some(ModelKind::Language)).then(|| {
            let mut known = Model::of(&id).capabilities();
            known.context_window = self.input_token_limit.or(known.context_window);
            known.max_output_tokens = self.output_token_limit.or(known.max_output_tokens);
            known.reasoning = self.thinking.unwrap_or(known.reasoning);
            known
        });
        let display_name = self.display_name.filter(|name| !name.trim().is_empty());
        Some(ModelInfo { id, display_name, kind, capabilities })
    }
}
