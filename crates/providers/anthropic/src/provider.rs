use std::sync::Arc;

use ai_http::{Bearer, Client, ClientBuilder, Endpoint, HeaderKey, HttpCall, client_setters};
use ai_provider::{
    CallContext, Capabilities, ErrorClass, LanguageModel, ModelError, ModelInfo, Provider, TargetId,
};
use async_trait::async_trait;
use http::HeaderName;

use crate::codec::MessagesCodec;
use crate::list::{Page, models};

/// Where Anthropic itself is reached.
const BASE_URL: &str = "https://api.anthropic.com/v1";

/// Pages of a list of models that are read: 100 models each, ten times as many as there are.
const MAX_PAGES: usize = 20;

/// Anthropic, or a server that speaks like it.
///
/// ```
/// use ai_anthropic::Anthropic;
/// use ai_provider::{ApiKey, Provider};
///
/// # fn main() -> Result<(), ai_provider::ModelError> {
/// let anthropic = Anthropic::builder().api_key(ApiKey::new("sk-ant-1")?).build()?;
/// let model = anthropic.language_model("claude-sonnet-4-5")?;
/// assert_eq!(model.target().to_string(), "anthropic:claude-sonnet-4-5");
///
/// let local = Anthropic::builder().name("local").base_url("http://localhost:8080/v1").build()?;
/// assert_eq!(local.name(), "local");
/// # Ok(()) }
/// ```
pub struct Anthropic {
    name: String,
    endpoint: Endpoint,
    codec: MessagesCodec,
    client: Client,
}

impl Anthropic {
    /// Begins with Anthropic itself, without a key.
    pub fn builder() -> AnthropicBuilder {
        AnthropicBuilder::default()
    }

    fn target(&self, model: &str) -> TargetId {
        TargetId::new(&self.name, model, self.endpoint.name())
    }
}

#[async_trait]
impl Provider for Anthropic {
    fn name(&self) -> &str {
        &self.name
    }

    fn language_model(&self, id: &str) -> Result<Arc<dyn LanguageModel>, ModelError> {
        let id = id.trim();
        if id.is_empty() || id.chars().any(char::is_control) {
            return Err(invalid(format!("{id:?} cannot be the id of a model")));
        }
        let capabilities = self.codec.capabilities(id);
        Ok(Arc::new(self.client.model(self.codec.clone(), self.target(id), capabilities)))
    }

    /// See [`Provider::list_models`]. `Unsupported` too for a provider with a full
    /// [`endpoint_url`](AnthropicBuilder::endpoint_url): it has no place for a list.
    async fn list_models(&self) -> Result<Vec<ModelInfo>, ModelError> {
        if matches!(self.endpoint, Endpoint::Full(_)) {
            let message = format!("{} is reached by one URL alone, which has no list of models", self.name);
            return Err(ModelError::new(ErrorClass::Unsupported, message));
        }
        let mut all = Vec::new();
        let mut after: Option<String> = None;
        for _ in 0..MAX_PAGES {
            let mut query = vec![("limit", "100")];
            query.extend(after.as_deref().map(|id| ("after_id", id)));
            let mut call = HttpCall::get(self.endpoint.url("models", &query));
            self.codec.name_version(&mut call)?;
            let page: Page = self.client.fetch_json(&self.target(""), call, CallContext::new()).await?;
            let next = page.next();
            all.extend(models(page, &self.codec)?);
            // A page that leads to itself leads nowhere.
            if next.is_none() || next == after {
                break;
            }
            after = next;
        }
        Ok(all)
    }
}

impl std::fmt::Debug for Anthropic {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Anthropic")
            .field("name", &self.name)
            .field("endpoint", &self.endpoint)
            .field("keys", &self.client.keys())
            .finish_non_exhaustive()
    }
}

/// Sets up an [`Anthropic`]. Nothing is checked, and nothing sent, before [`build`](Self::build).
#[derive(Default)]
pub struct AnthropicBuilder {
    name: Option<String>,
    base_url: Option<String>,
    endpoint_url: Option<String>,
    version: Option<String>,
    betas: Vec<String>,
    bearer: bool,
    capabilities: Option<Capabilities>,
    client: ClientBuilder,
}

impl AnthropicBuilder {
    /// Sets the name under which models are asked for and options and metadata stand. Default: `anthropic`.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Sets the base URL, to which the path of each call is appended: for example `https://host/v1`. A query is
    /// kept. Default: Anthropic's own.
    #[must_use]
    pub fn base_url(mut self, url: impl Into<String>) -> Self {
        self.base_url = Some(url.into());
        self
    }

    /// Sets the URL of messages itself, for servers with a path of their own. It wins over the base.
    #[must_use]
    pub fn endpoint_url(mut self, url: impl Into<String>) -> Self {
        self.endpoint_url = Some(url.into());
        self
    }

    client_setters!(client);

    /// Sends the key as `authorization: Bearer KEY`, as tokens of OAuth and many gateways want it. Default:
    /// `x-api-key: KEY`.
    #[must_use]
    pub fn bearer(mut self) -> Self {
        self.bearer = true;
        self
    }

    /// Sets the version of the API (`anthropic-version`). Default: `2023-06-01`.
    #[must_use]
    pub fn version(mut self, version: impl Into<String>) -> Self {
        self.version = Some(version.into());
        self
    }

    /// Asks for what is not generally available with every call (`anthropic-beta`), beside what a request needs
    /// by itself. May be called several times.
    #[must_use]
    pub fn beta(mut self, beta: impl Into<String>) -> Self {
        self.betas.push(beta.into());
        self
    }

    /// Sets what the models can do, in place of what is known of them by their ids: for servers with models of
    /// other makers.
    #[must_use]
    pub fn capabilities(mut self, capabilities: Capabilities) -> Self {
        self.capabilities = Some(capabilities);
        self
    }

    /// The provider.
    ///
    /// # Errors
    /// `InvalidRequest` if there is no usable URL, name or header; whatever the default transport meets.
    pub fn build(self) -> Result<Anthropic, ModelError> {
        let name = self.name.unwrap_or_else(|| "anthropic".to_owned());
        if name.trim().is_empty() {
            return Err(invalid("a provider needs a name"));
        }
        let endpoint = match (&self.endpoint_url, &self.base_url) {
            (Some(full), _) => Endpoint::full(full)?,
            (None, base) => Endpoint::base(base.as_deref().unwrap_or(BASE_URL))?,
        };
        let mut codec = MessagesCodec::new(endpoint.clone()).with_betas(self.betas.iter().cloned());
        if let Some(version) = self.version {
            codec = codec.with_version(version);
        }
        if let Some(capabilities) = self.capabilities {
            codec = codec.with_capabilities(capabilities);
        }
        // A call stands in, so that these headers are checked like all others.
        let mut call = HttpCall::get("");
        codec.name_version(&mut call)?;
        call.set_header(crate::encode::BETAS, &self.betas.join(","))?;
        let client = match self.bearer {
            true => self.client.authorize_or(Bearer),
            false => self.client.authorize_or(HeaderKey(HeaderName::from_static("x-api-key"))),
        };
        Ok(Anthropic {
            name,
            endpoint,
            codec,
            client: client.read_errors(crate::failure::of_response).build()?,
        })
    }
}

impl std::fmt::Debug for AnthropicBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AnthropicBuilder").field("name", &self.name).finish_non_exhaustive()
    }
}

fn invalid(message: impl Into<String>) -> ModelError {
    ModelError::new(ErrorClass::InvalidRequest, message)
}
