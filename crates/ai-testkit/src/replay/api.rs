use std::sync::Arc;

use ai_http::Transport;
use ai_openai::{Dialect, OpenAi};
use ai_provider::{ApiKey, ErrorClass, LanguageModel, ModelError, Provider};

/// An API that has an adapter here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
#[non_exhaustive]
pub enum Api {
    /// OpenAI's Chat Completions, and what servers make of it.
    #[value(name = "openai-chat")]
    OpenAiChat,
}

/// Whom to ask, and how to get there.
#[derive(Clone)]
pub struct Target {
    /// The base URL; the path of the API is appended unless it ends with it.
    pub base_url: String,
    /// How the server speaks, by the name of a row of the adapter's table; `generic` where there is no table.
    pub dialect: String,
    /// The id of the model.
    pub model: String,
    /// The key, where the server wants one.
    pub key: Option<ApiKey>,
    /// The way there.
    pub transport: Arc<dyn Transport>,
}

impl Api {
    /// The name, as on the command line and in `expected.jsonl`.
    pub fn name(self) -> &'static str {
        match self {
            Self::OpenAiChat => "openai-chat",
        }
    }

    /// The adapter's model.
    ///
    /// # Errors
    /// `InvalidRequest` for a dialect the API does not have, and whatever the adapter refuses.
    pub fn model(self, target: Target) -> Result<Arc<dyn LanguageModel>, ModelError> {
        match self {
            Self::OpenAiChat => chat(target),
        }
    }
}

fn chat(target: Target) -> Result<Arc<dyn LanguageModel>, ModelError> {
    let dialect = Dialect::by_name(&target.dialect).ok_or_else(|| no_dialect(&target, Dialect::names()))?;
    let mut builder =
        OpenAi::builder().dialect(dialect).base_url(target.base_url).transport(target.transport);
    if let Some(key) = target.key {
        builder = builder.api_key(key);
    }
    builder.build()?.language_model(&target.model)
}

fn no_dialect(target: &Target, names: impl Iterator<Item = &'static str>) -> ModelError {
    let names: Vec<_> = names.collect();
    let message = format!("no dialect is called {:?}; there are {}", target.dialect, names.join(", "));
    ModelError::new(ErrorClass::InvalidRequest, message)
}

impl std::fmt::Debug for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Target")
            .field("base_url", &ai_http::redact_url(&self.base_url))
            .field("dialect", &self.dialect)
            .field("model", &self.model)
            .finish_non_exhaustive()
    }
}
