use ai_core::{AnyExtension, ProviderExtension, ToolCapability, ToolPatch, Variant};
use ai_openai::{Api, Dialect};
use ai_provider::{ErrorClass, JsonObject, ModelError};

use super::openai::missing;
use super::settings::{connect, family, keys, settings};
use super::variables::key_variables;

settings! {
    /// Settings of the servers that speak like OpenAI.
    CompatibleSettings {
        /// Fields of the body of every call, under those of a request.
        extra_body: JsonObject,
    }
}

settings! {
    /// Settings of `openai-compatible`: any server that speaks Chat Completions. `name` and `base_url` (or
    /// `endpoint_url`) must be set.
    OpenAiCompatibleSettings {
        /// The row of [`Dialect`](ai_openai::Dialect) that fits the server; by default nothing special is known of it.
        dialect: Option<String>,
        /// Fields of the body of every call, under those of a request.
        extra_body: JsonObject,
    }
}

family! {
    /// xAI, by Chat Completions.
    Xai, "xai", CompatibleSettings
}
family! {
    /// xAI, by the Responses API.
    XaiResponses, "xai-responses", CompatibleSettings
}
family! {
    /// DeepSeek.
    DeepSeek, "deepseek", CompatibleSettings
}
family! {
    /// OpenRouter.
    OpenRouter, "openrouter", CompatibleSettings
}
family! {
    /// Groq.
    Groq, "groq", CompatibleSettings
}
family! {
    /// Mistral.
    Mistral, "mistral", CompatibleSettings
}
family! {
    /// Moonshot.
    Moonshot, "moonshot", CompatibleSettings
}
family! {
    /// Alibaba.
    Alibaba, "alibaba", CompatibleSettings
}
family! {
    /// Perplexity.
    Perplexity, "perplexity", CompatibleSettings
}
family! {
    /// Ollama.
    Ollama, "ollama", CompatibleSettings
}
family! {
    /// Any server that speaks Chat Completions.
    OpenAiCompatible, "openai-compatible", OpenAiCompatibleSettings
}

/// Those that are a row of the table and a key.
const PLAIN: [&str; 7] = ["deepseek", "openrouter", "mistral", "moonshot", "alibaba", "perplexity", "ollama"];

pub(super) fn extensions() -> Vec<AnyExtension> {
    let groq =
        row("groq").tool(ToolCapability::WebSearch, ToolPatch::tool("groq.browser_search", "browser_search"));
    let search = ToolPatch::tool("xai.web_search", "web_search").and_tool("xai.x_search", "x_search");
    let responses = Variant::new("responses")
        .display_name("xAI, Responses")
        .transform(|_, settings: CompatibleSettings| async move { make("xai", Api::Responses, &settings) })
        .tool(ToolCapability::WebSearch, search)
        .tool(ToolCapability::CodeExecution, ToolPatch::tool("xai.code_execution", "code_execution"))
        .tool(ToolCapability::FileSearch, ToolPatch::tool("xai.file_search", "file_search"));
    let xai = row("xai").alias("grok").variant(responses);
    let any = ProviderExtension::new("openai-compatible", |settings: OpenAiCompatibleSettings| async move {
        any(&settings)
    });
    let plain = PLAIN.into_iter().map(|name| row(name).into());
    plain.chain([groq.into(), xai.into(), any.into()]).collect()
}

fn row(name: &'static str) -> ProviderExtension<CompatibleSettings> {
    ProviderExtension::new(name, move |settings: CompatibleSettings| async move {
        make(name, Api::ChatCompletions, &settings)
    })
}

fn make(name: &str, api: Api, settings: &CompatibleSettings) -> Result<ai_openai::OpenAi, ModelError> {
    let dialect = Dialect::by_name(name).ok_or_else(|| missing(name))?;
    let builder = ai_openai::OpenAi::builder().dialect(dialect).api(api);
    let builder = connect!(builder, settings, keys(&settings.api_key, key_variables(name)));
    settings
        .extra_body
        .iter()
        .fold(builder, |builder, (field, value)| builder.extra_body(field, value.clone()))
        .build()
}

fn any(settings: &OpenAiCompatibleSettings) -> Result<ai_openai::OpenAi, ModelError> {
    let invalid = |message: String| ModelError::new(ErrorClass::InvalidRequest, message);
    let name = settings.name.as_deref().map(str::trim).filter(|name| !name.is_empty());
    let Some(name) = name else { return Err(invalid("`name` is missing: name the server".to_owned())) };
    if settings.base_url.is_none() && settings.endpoint_url.is_none() {
        return Err(invalid(format!("`baseUrl` is missing: say where `{name}` is")));
    }
    let dialect = match &settings.dialect {
        None => Dialect::generic(name.to_owned(), ""),
        Some(row) => Dialect::by_name(row).ok_or_else(|| {
            let known = Dialect::names().collect::<Vec<_>>().join(", ");
            invalid(format!("`dialect` is none of those that are known: {known}"))
        })?,
    };
    let builder = ai_openai::OpenAi::builder().dialect(dialect);
    let builder = connect!(builder, settings, keys(&settings.api_key, &[]));
    settings
        .extra_body
        .iter()
        .fold(builder, |builder, (field, value)| builder.extra_body(field, value.clone()))
        .build()
}
