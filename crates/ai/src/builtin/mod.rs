//! The providers that come with the SDK, as extensions of a registry.

#[cfg(feature = "anthropic")]
mod anthropic;
#[cfg(feature = "openai")]
mod azure;
#[cfg(feature = "openai")]
mod compatible;
#[cfg(feature = "google")]
mod google;
#[cfg(feature = "openai")]
mod openai;
#[cfg(any(feature = "openai", feature = "anthropic", feature = "google"))]
mod settings;
mod variables;

use ai_core::{AnyExtension, Error, Registry};

#[cfg(feature = "anthropic")]
pub use anthropic::{Anthropic, AnthropicSettings};
#[cfg(all(feature = "openai", feature = "anthropic"))]
pub use azure::AzureAnthropic;
#[cfg(feature = "openai")]
pub use azure::{Azure, AzureResponses, AzureSettings};
#[cfg(feature = "openai")]
pub use compatible::{
    Alibaba, CompatibleSettings, DeepSeek, Groq, Mistral, Moonshot, Ollama, OpenAiCompatible,
    OpenAiCompatibleSettings, OpenRouter, Perplexity, Xai, XaiResponses,
};
#[cfg(feature = "google")]
pub use google::{Google, GoogleSettings};
#[cfg(feature = "openai")]
pub use openai::{OpenAi, OpenAiChat, OpenAiSettings};
#[cfg(any(feature = "openai", feature = "anthropic", feature = "google"))]
pub use settings::{Headers, SecretKeys, SharedTransport};
pub use variables::key_variables;

/// A registry of the built-in providers of the features that are on.
///
/// | id | aliases | API | key, unless the settings have one |
/// |---|---|---|---|
/// | `openai` | `openai-response` | Responses | `OPENAI_API_KEY` |
/// | `openai-chat` | | Chat Completions | `OPENAI_API_KEY` |
/// | `anthropic` | `claude` | Messages | `ANTHROPIC_API_KEY`, or `ANTHROPIC_AUTH_TOKEN` as a bearer token |
/// | `google` | `google-ai`, `gemini`, `google-gemini` | Gemini | `GEMINI_API_KEY`, `GOOGLE_API_KEY` or `GOOGLE_GENERATIVE_AI_API_KEY` |
/// | `azure` | `azure-openai` | Chat Completions | `AZURE_API_KEY`; the resource from `AZURE_RESOURCE_NAME` |
/// | `azure-responses` | | Responses | as `azure` |
/// | `azure-anthropic` | | Messages | as `azure` |
/// | `xai` | `grok` | Chat Completions | `XAI_API_KEY` |
/// | `xai-responses` | | Responses | `XAI_API_KEY` |
/// | `deepseek` | | Chat Completions | `DEEPSEEK_API_KEY` |
/// | `openrouter` | | Chat Completions | `OPENROUTER_API_KEY` |
/// | `groq` | | Chat Completions | `GROQ_API_KEY` |
/// | `mistral` | | Chat Completions | `MISTRAL_API_KEY` |
/// | `moonshot` | | Chat Completions | `MOONSHOT_API_KEY` |
/// | `alibaba` | | Chat Completions | `DASHSCOPE_API_KEY` |
/// | `perplexity` | | Chat Completions | `PERPLEXITY_API_KEY` |
/// | `ollama` | | Chat Completions | none |
/// | `openai-compatible` | | Chat Completions | none; `name` and `baseUrl` must be set |
///
/// A variable holds one key, or several separated by commas. It is read when the provider is made, which happens when
/// the first of its models is asked for. A provider whose variable is not set can be made all the same: calling a model
/// says which one to set.
///
/// Each takes settings of its own type, such as [`OpenAiSettings`]; as JSON their fields are in camel case:
///
/// ```no_run
/// # #[cfg(feature = "openai")]
/// # async fn f() -> Result<(), ai::Error> {
/// use ai::builtin::{Groq, CompatibleSettings};
/// use serde_json::json;
///
/// let registry = ai::builtin()?;
/// // From a configuration file:
/// let groq = registry.provider_with("groq", json!({"apiKey": "gsk-1", "headers": {"x-team": "blue"}})).await?;
/// // From code, checked by the compiler:
/// let mut settings = CompatibleSettings::default();
/// settings.base_url = Some("http://localhost:8080/v1".to_owned());
/// let model = registry.resolve::<Groq>(settings, "llama-3.3-70b-versatile").await?;
/// # let _ = (groq, model); Ok(()) }
/// ```
///
/// # Errors
/// None as it is: the ids of the list are all different. An application that registers more gets them from there.
pub fn builtin() -> Result<Registry, Error> {
    let mut registry = Registry::new();
    registry.register_all(extensions())?;
    Ok(registry)
}

/// The extensions of [`builtin`](fn@builtin), to register some of them, or others beside them.
pub fn extensions() -> Vec<AnyExtension> {
    #[allow(unused_mut, reason = "without a feature there are none")]
    let mut extensions = Vec::<AnyExtension>::new();
    #[cfg(feature = "openai")]
    extensions.extend([openai::extension().into(), azure::extension().into()]);
    #[cfg(feature = "openai")]
    extensions.extend(compatible::extensions());
    #[cfg(feature = "anthropic")]
    extensions.extend([anthropic::extension().into()]);
    #[cfg(feature = "google")]
    extensions.extend([google::extension().into()]);
    extensions
}
