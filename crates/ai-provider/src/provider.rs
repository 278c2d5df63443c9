use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::capabilities::Capabilities;
use crate::embedding::EmbeddingModel;
use crate::error::{ErrorClass, ModelError};
use crate::model::LanguageModel;

/// Makes models by id. A factory a provider does not have answers with `Unsupported`.
#[async_trait]
pub trait Provider: Send + Sync + 'static {
    /// The provider's name, for example `openai`: the namespace of its options and metadata too.
    fn name(&self) -> &str;

    /// A language model. No request is made: an unknown id shows when the model is called.
    ///
    /// # Errors
    /// `Unsupported` if the provider has no language models, `InvalidRequest` if the id cannot be one.
    fn language_model(&self, id: &str) -> Result<Arc<dyn LanguageModel>, ModelError> {
        Err(unsupported(self.name(), "language models", id))
    }

    /// An embedding model.
    ///
    /// # Errors
    /// As [`language_model`](Self::language_model).
    fn embedding_model(&self, id: &str) -> Result<Arc<dyn EmbeddingModel>, ModelError> {
        Err(unsupported(self.name(), "embedding models", id))
    }

    /// The models the endpoint offers.
    ///
    /// # Errors
    /// `Unsupported` if the API has no such list; else whatever the request met.
    async fn list_models(&self) -> Result<Vec<ModelInfo>, ModelError> {
        Err(ModelError::new(ErrorClass::Unsupported, format!("{} has no list of models", self.name())))
    }
}

impl fmt::Debug for dyn Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Provider").field("name", &self.name()).finish_non_exhaustive()
    }
}

fn unsupported(provider: &str, what: &str, id: &str) -> ModelError {
    ModelError::new(ErrorClass::Unsupported, format!("{provider} has no {what}, so it cannot make `{id}`"))
}

/// An entry of a provider's list of models.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelInfo {
    /// The id to ask for.
    pub id: String,
    /// A name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display_name: Option<String>,
    /// What kind it is, where the list says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<ModelKind>,
    /// What it can do, where the list says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capabilities: Option<Capabilities>,
}

/// Kinds of models.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ModelKind {
    /// Text in, text and tool calls out.
    Language,
    /// Text in, vectors out.
    Embedding,
}
