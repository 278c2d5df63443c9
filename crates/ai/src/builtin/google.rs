use ai_core::{ProviderExtension, ToolCapability, ToolPatch};
use ai_provider::ModelError;

use super::settings::{connect, family, keys, settings};
use super::variables::key_variables;

settings! {
    /// Settings of `google`.
    GoogleSettings {}
}

family! {
    /// Google's Gemini.
    Google, "google", GoogleSettings
}

pub(super) fn extension() -> ProviderExtension<GoogleSettings> {
    let google = ProviderExtension::new("google", |settings: GoogleSettings| async move { make(&settings) });
    ["google-ai", "gemini", "google-gemini"]
        .into_iter()
        .fold(google, ProviderExtension::alias)
        .tool(ToolCapability::WebSearch, ToolPatch::tool("google.google_search", "google_search"))
        .tool(ToolCapability::UrlContext, ToolPatch::tool("google.url_context", "url_context"))
        .tool(ToolCapability::CodeExecution, ToolPatch::tool("google.code_execution", "code_execution"))
        .tool(ToolCapability::FileSearch, ToolPatch::tool("google.file_search", "file_search"))
}

fn make(settings: &GoogleSettings) -> Result<ai_google::Google, ModelError> {
    connect!(ai_google::Google::builder(), settings, keys(&settings.api_key, key_variables("google"))).build()
}
