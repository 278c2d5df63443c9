use ai_core::{ProviderExtension, ToolCapability, ToolPatch, Variant};
use ai_openai::{Api, OpenAiBuilder};
use ai_provider::{ErrorClass, ModelError};

use super::settings::{connect, family, keys, settings};
use super::variables::key_variables;

settings! {
    /// Settings of `openai` and `openai-chat`.
    OpenAiSettings {
        /// The organization that pays.
        organization: Option<String>,
        /// The project that pays.
        project: Option<String>,
    }
}

family! {
    /// OpenAI, by the Responses API.
    OpenAi, "openai", OpenAiSettings
}

family! {
    /// OpenAI, by Chat Completions.
    OpenAiChat, "openai-chat", OpenAiSettings
}

pub(super) fn extension() -> ProviderExtension<OpenAiSettings> {
    let chat = Variant::new("chat")
        .display_name("OpenAI, Chat Completions")
        .transform(|_, settings: OpenAiSettings| async move { make(&settings, Api::ChatCompletions) });
    ProviderExtension::new(
        "openai",
        |settings: OpenAiSettings| async move { make(&settings, Api::Responses) },
    )
    .alias("openai-response")
    .tool(ToolCapability::WebSearch, ToolPatch::tool("openai.web_search", "web_search"))
    .tool(ToolCapability::FileSearch, ToolPatch::tool("openai.file_search", "file_search"))
    .tool(ToolCapability::CodeExecution, ToolPatch::tool("openai.code_interpreter", "code_interpreter"))
    .variant(without_tools(chat))
}

/// Chat Completions has no such tools.
fn without_tools(variant: Variant<OpenAiSettings>) -> Variant<OpenAiSettings> {
    let all = [ToolCapability::WebSearch, ToolCapability::FileSearch, ToolCapability::CodeExecution];
    all.into_iter().fold(variant, |variant, capability| variant.tool(capability, ToolPatch::default()))
}

fn make(settings: &OpenAiSettings, api: Api) -> Result<ai_openai::OpenAi, ModelError> {
    let keys = keys(&settings.api_key, key_variables("openai"));
    let mut builder: OpenAiBuilder = connect!(ai_openai::OpenAi::builder().api(api), settings, keys);
    if let Some(organization) = &settings.organization {
        builder = builder.organization(organization);
    }
    if let Some(project) = &settings.project {
        builder = builder.project(project);
    }
    builder.build()
}

pub(super) fn missing(what: &str) -> ModelError {
    ModelError::new(ErrorClass::Unsupported, format!("{what} is missing from the table of servers"))
}
