use ai_core::{ProviderExtension, ToolCapability, ToolPatch};
use ai_provider::ModelError;

use super::settings::{SecretKeys, connect, family, keys, settings};
use super::variables::key_variables;

settings! {
    /// Settings of `anthropic`.
    AnthropicSettings {
        /// A token sent as `authorization: Bearer`, in place of a key. Default: `ANTHROPIC_AUTH_TOKEN`, where no key
        /// is set.
        auth_token: Option<SecretKeys>,
        /// The version of the API. Default: `2023-06-01`.
        version: Option<String>,
        /// What is asked for with every call although it is not generally available.
        betas: Vec<String>,
    }
}

family! {
    /// Anthropic.
    Anthropic, "anthropic", AnthropicSettings
}

pub(super) fn extension() -> ProviderExtension<AnthropicSettings> {
    let extension =
        ProviderExtension::new("anthropic", |settings: AnthropicSettings| async move { make(&settings) });
    tools()
        .into_iter()
        .fold(extension.alias("claude"), |extension, (capability, patch)| extension.tool(capability, patch))
}

/// A variant of another provider that serves models of Anthropic offers the same.
#[cfg(feature = "openai")]
pub(super) fn with_tools<S: ai_core::ProviderSettings>(variant: ai_core::Variant<S>) -> ai_core::Variant<S> {
    tools().into_iter().fold(variant, |variant, (capability, patch)| variant.tool(capability, patch))
}

/// The oldest of the dated versions that are supported: all models have them.
fn tools() -> [(ToolCapability, ToolPatch); 3] {
    [
        (ToolCapability::WebSearch, ToolPatch::tool("anthropic.web_search_20250305", "web_search")),
        (ToolCapability::UrlContext, ToolPatch::tool("anthropic.web_fetch_20250910", "web_fetch")),
        (
            ToolCapability::CodeExecution,
            ToolPatch::tool("anthropic.code_execution_20250825", "code_execution"),
        ),
    ]
}

fn make(settings: &AnthropicSettings) -> Result<ai_anthropic::Anthropic, ModelError> {
    let (key, token) = key_variables("anthropic").split_at(1);
    let set = |names: &[&str]| names.iter().any(|name| std::env::var_os(name).is_some());
    let by_token = settings.api_key.is_none() && (settings.auth_token.is_some() || !set(key) && set(token));
    let mut builder = ai_anthropic::Anthropic::builder();
    let keys = match by_token {
        true => {
            builder = builder.bearer();
            keys(&settings.auth_token, token)
        }
        false => keys(&settings.api_key, key),
    };
    let mut builder = connect!(builder, settings, keys);
    if let Some(version) = &settings.version {
        builder = builder.version(version);
    }
    settings.betas.iter().fold(builder, |builder, beta| builder.beta(beta)).build()
}
