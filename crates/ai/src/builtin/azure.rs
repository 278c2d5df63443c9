use std::borrow::Cow;

use ai_core::{ProviderExtension, ToolCapability, ToolPatch, Variant};
use ai_openai::{Api, Dialect};
use ai_provider::{ErrorClass, ModelError};

use super::openai::missing;
use super::settings::{connect, family, keys, settings};
use super::variables::key_variables;

settings! {
    /// Settings of `azure`, `azure-responses` and `azure-anthropic`. Models are asked for by the name of their
    /// deployment.
    AzureSettings {
        /// The name of the resource, of which the base URL is made. Default: `AZURE_RESOURCE_NAME`; not used where a URL
        /// is set.
        resource_name: Option<String>,
        /// The version of the API, a query of each call of `azure`. Default: none, or the last one that is stable where
        /// `deployment_urls` is set.
        api_version: Option<String>,
        /// Whether the deployment stands in the path, as it did before `/openai/v1`. For `azure` alone.
        deployment_urls: bool,
    }
}

family! {
    /// Azure, by Chat Completions.
    Azure, "azure", AzureSettings
}
family! {
    /// Azure, by the Responses API.
    AzureResponses, "azure-responses", AzureSettings
}
#[cfg(feature = "anthropic")]
family! {
    /// Models of Anthropic at Azure, by the Messages API.
    AzureAnthropic, "azure-anthropic", AzureSettings
}

pub(super) fn extension() -> ProviderExtension<AzureSettings> {
    let responses = Variant::new("responses")
        .display_name("Azure, Responses")
        .transform(|_, settings: AzureSettings| async move { make(settings, Api::Responses) })
        .tool(ToolCapability::WebSearch, ToolPatch::tool("openai.web_search_preview", "web_search_preview"))
        .tool(ToolCapability::FileSearch, ToolPatch::tool("openai.file_search", "file_search"))
        .tool(ToolCapability::CodeExecution, ToolPatch::tool("openai.code_interpreter", "code_interpreter"));
    let azure = ProviderExtension::new("azure", |settings: AzureSettings| async move {
        make(settings, Api::ChatCompletions)
    });
    let azure = azure.alias("azure-openai").variant(responses);
    #[cfg(feature = "anthropic")]
    let azure = azure.variant(
        super::anthropic::with_tools(Variant::new("anthropic"))
            .display_name("Azure, Anthropic")
            .transform(|_, settings: AzureSettings| async move { anthropic(settings) }),
    );
    azure
}

fn make(mut settings: AzureSettings, api: Api) -> Result<ai_openai::OpenAi, ModelError> {
    let by_path = settings.deployment_urls && api == Api::ChatCompletions;
    let row = if by_path { "azure-deployments" } else { "azure" };
    let mut dialect = Dialect::by_name(row).ok_or_else(|| missing(row))?;
    dialect.name = "azure".into();
    if let Some(version) = &settings.api_version {
        dialect.query = Cow::Owned(vec![("api-version".into(), version.clone().into())]);
    }
    let path = if by_path { "openai" } else { "openai/v1" };
    settings.base_url = place(&settings, |resource| format!("https://{resource}.openai.azure.com/{path}"))?;
    let builder = ai_openai::OpenAi::builder().dialect(dialect).api(api);
    connect!(builder, settings, keys(&settings.api_key, key_variables("azure"))).build()
}

/// The same resource, where models of Anthropic are served; a base URL that is set is that of the resource.
#[cfg(feature = "anthropic")]
fn anthropic(mut settings: AzureSettings) -> Result<ai_anthropic::Anthropic, ModelError> {
    settings.base_url = match &settings.base_url {
        Some(url) => Some(format!("{}/anthropic/v1", url.trim_end_matches('/'))),
        None => {
            place(&settings, |resource| format!("https://{resource}.services.ai.azure.com/anthropic/v1"))?
        }
    };
    connect!(ai_anthropic::Anthropic::builder(), settings, keys(&settings.api_key, key_variables("azure")))
        .build()
}

fn place(settings: &AzureSettings, of: impl Fn(&str) -> String) -> Result<Option<String>, ModelError> {
    if settings.base_url.is_some() || settings.endpoint_url.is_some() {
        return Ok(settings.base_url.clone());
    }
    let invalid = |message: &str| ModelError::new(ErrorClass::InvalidRequest, message);
    let resource = settings.resource_name.clone().or_else(|| std::env::var("AZURE_RESOURCE_NAME").ok());
    let Some(resource) = resource else {
        return Err(invalid(
            "it is not known where it is: set `resourceName`, `baseUrl` or AZURE_RESOURCE_NAME",
        ));
    };
    let legal = |c: char| c.is_ascii_alphanumeric() || c == '-';
    if resource.is_empty() || !resource.chars().all(legal) {
        return Err(invalid("the name of a resource has letters, digits and hyphens, and is not empty"));
    }
    Ok(Some(of(&resource)))
}
