//! The list of models.

use ai_provider::{ErrorClass, ModelError, ModelInfo, ModelKind};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use crate::codec::MessagesCodec;

/// A page of the list; servers with models of other makers give the list of another API, or a bare one.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Page {
    Listed {
        data: Vec<Value>,
        #[serde(default)]
        has_more: Option<bool>,
        #[serde(default)]
        last_id: Option<String>,
    },
    Named {
        models: Vec<Value>,
    },
    Bare(Vec<Value>),
    /// No list at all.
    Other(IgnoredAny),
}

impl Page {
    /// Where the next page begins, if there is one.
    pub(crate) fn next(&self) -> Option<String> {
        match self {
            Self::Listed { has_more: Some(true), last_id, .. } => last_id.clone().filter(|id| !id.is_empty()),
            _ => None,
        }
    }
}

pub(crate) fn models(page: Page, codec: &MessagesCodec) -> Result<Vec<ModelInfo>, ModelError> {
    let list = match page {
        Page::Listed { data, .. } => data,
        Page::Named { models } => models,
        Page::Bare(list) => list,
        Page::Other(_) => {
            return Err(ModelError::new(ErrorClass::Protocol, "not a list of models: it holds no list"));
        }
    };
    let models = list.iter().filter_map(|model| {
        let text =
            |name: &str| model.get(name).and_then(Value::as_str).filter(|text| !text.trim().is_empty());
        let id = text("id").or_else(|| text("name"))?;
        Some(ModelInfo {
            id: id.to_owned(),
            display_name: text("display_name").map(str::to_owned),
            kind: Some(ModelKind::Language),
            capabilities: Some(codec.capabilities(id)),
        })
    });
    Ok(models.collect())
}
