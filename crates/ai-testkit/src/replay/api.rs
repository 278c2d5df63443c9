use std::sync::Arc;

use ai_anthropic::Anthropic;
use ai_google::Google;
use ai_http::Transport;
use ai_openai::{Dialect, OpenAi, ResponsesDialect};
use ai_provider::{ApiKey, ErrorClass, LanguageModel, ModelError, Provider};

/// An API that has an adapter here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
#[non_exhaustive]
pub enum Api {
    /// OpenAI's Chat Completions, and what servers make of it.
    #[value(name = "openai-chat")]
    OpenAiChat,
    /// OpenAI's Responses, and its open variant.
    #[value(name = "openai-responses")]
    OpenAiResponses,
    /// Anthropic's Messages.
    #[value(name = "anthropic-messages")]
    AnthropicMessages,
    /// Google's generateContent.
    #[value(name = "google-generate-content")]
    GoogleGenerateContent,
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
            Self::OpenAiResponses => "openai-responses",
            Self::AnthropicMessages => "anthropic-messages",
            Self::GoogleGenerateContent => "google-generate-content",
        }
    }

    /// The adapter's model.
    ///
    /// # Errors
    /// `InvalidRequest` for a dialect the API does not have, and whatever the adapter refuses.
    pub fn model(self, target: Target) -> Result<Arc<dyn LanguageModel>, ModelError> {
        let Target { base_url, dialect, model, key, transport } = target;
        // The builders have these setters in common, and no type.
        macro_rules! provider {
            ($builder:expr) => {{
                let builder = $builder.base_url(base_url).transport(transport);
                let builder = match key {
                    Some(key) => builder.api_key(key),
                    None => builder,
                };
                builder.build()?.language_model(&model)
            }};
        }
        match self {
            Self::OpenAiChat => {
                let row =
                    Dialect::by_name(&dialect).ok_or_else(|| none_called(&dialect, Dialect::names()))?;
                provider!(OpenAi::builder().dialect(row))
            }
            Self::OpenAiResponses => {
                let row = ResponsesDialect::by_name(&dialect)
                    .ok_or_else(|| none_called(&dialect, ResponsesDialect::names()))?;
                provider!(OpenAi::builder().responses(row))
            }
            Self::AnthropicMessages | Self::GoogleGenerateContent if dialect != GENERIC => {
                Err(none_called(&dialect, [GENERIC].into_iter()))
            }
            Self::AnthropicMessages => provider!(Anthropic::builder()),
            Self::GoogleGenerateContent => provider!(Google::builder()),
        }
    }
}

/// The dialect of an API without dialects.
const GENERIC: &str = "generic";

fn none_called(dialect: &str, names: impl Iterator<Item = &'static str>) -> ModelError {
    let names: Vec<_> = names.collect();
    let message = format!("this API has no dialect {dialect:?}, but {}", names.join(", "));
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
