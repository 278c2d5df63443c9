use std::sync::Arc;

use ai_http::{Client, ClientBuilder, Endpoint, HttpCall, client_setters};
use ai_provider::{
    CallContext, Capabilities, ErrorClass, LanguageModel, ModelError, ModelInfo, Provider, TargetId,
};
use async_trait::async_trait;

use crate::codec::ChatCodec;
use crate::dialect::Dialect;
use crate::models::models;

/// OpenAI, or a server that speaks like it.
///
/// ```
/// use ai_openai::{Dialect, OpenAi};
/// use ai_provider::{ApiKey, Provider};
///
/// # fn main() -> Result<(), ai_provider::ModelError> {
/// let openai = OpenAi::builder().api_key(ApiKey::new("sk-1")?).build()?;
/// let model = openai.language_model("gpt-4.1-mini")?;
/// assert_eq!(model.target().to_string(), "openai:gpt-4.1-mini");
///
/// let local = OpenAi::builder()
///     .dialect(Dialect::generic("local", "http://localhost:8000/v1"))
///     .build()?;
/// assert_eq!(local.name(), "local");
/// # Ok(()) }
/// ```
pub struct OpenAi {
    name: String,
    dialect: Dialect,
    endpoint: Endpoint,
    client: Client,
}

impl OpenAi {
    /// Begins with OpenAI itself, without a key.
    pub fn builder() -> OpenAiBuilder {
        OpenAiBuilder::default()
    }

    /// How its server speaks.
    pub fn dialect(&self) -> &Dialect {
        &self.dialect
    }

    fn target(&self, model: &str) -> TargetId {
        TargetId::new(&self.name, model, self.endpoint.name())
    }

    /// What is known of a model: what its dialect can do, and whether it reasons.
    fn capabilities(&self, model: &str) -> Capabilities {
        let mut capabilities = self.dialect.capabilities.clone();
        capabilities.reasoning |= self.dialect.models.is_reasoning(model);
        capabilities
    }
}

#[async_trait]
impl Provider for OpenAi {
    fn name(&self) -> &str {
        &self.name
    }

    fn language_model(&self, id: &str) -> Result<Arc<dyn LanguageModel>, ModelError> {
        let id = id.trim();
        if id.is_empty() || id.chars().any(char::is_control) {
            return Err(invalid(format!("{id:?} cannot be the id of a model")));
        }
        let codec = ChatCodec::new(self.dialect.clone(), self.endpoint.clone());
        Ok(Arc::new(self.client.model(codec, self.target(id), self.capabilities(id))))
    }

    /// See [`Provider::list_models`]. `Unsupported` too for a provider with a full
    /// [`endpoint_url`](OpenAiBuilder::endpoint_url): it has no place for a list.
    async fn list_models(&self) -> Result<Vec<ModelInfo>, ModelError> {
        if matches!(self.endpoint, Endpoint::Full(_)) {
            let message = format!("{} is reached by one URL alone, which has no list of models", self.name);
            return Err(ModelError::new(ErrorClass::Unsupported, message));
        }
        let call = HttpCall::get(self.endpoint.url("models", &[]));
        models(&self.client.fetch_json(&self.target(""), call, CallContext::new()).await?)
    }
}

impl std::fmt::Debug for OpenAi {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OpenAi")
            .field("name", &self.name)
            .field("endpoint", &self.endpoint)
            .field("keys", &self.client.keys())
            .finish_non_exhaustive()
    }
}

/// Sets up an [`OpenAi`]. Nothing is checked, and nothing sent, before [`build`](Self::build).
#[derive(Default)]
pub struct OpenAiBuilder {
    name: Option<String>,
    dialect: Option<Dialect>,
    base_url: Option<String>,
    endpoint_url: Option<String>,
    client: ClientBuilder,
}

impl OpenAiBuilder {
    /// Sets the name under which models are asked for and options and metadata stand. Default: the dialect's.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Sets how the server speaks. Default: as OpenAI.
    #[must_use]
    pub fn dialect(mut self, dialect: Dialect) -> Self {
        self.dialect = Some(dialect);
        self
    }

    /// Sets the base URL, to which the path of each call is appended: for example `https://host/v1`. A query is
    /// kept. Default: the dialect's.
    #[must_use]
    pub fn base_url(mut self, url: impl Into<String>) -> Self {
        self.base_url = Some(url.into());
        self
    }

    /// Sets the URL of chat completions itself, for servers with a path of their own. It wins over the base.
    #[must_use]
    pub fn endpoint_url(mut self, url: impl Into<String>) -> Self {
        self.endpoint_url = Some(url.into());
        self
    }

    client_setters!(client);

    /// Names the organization that pays (`OpenAI-Organization`).
    #[must_use]
    pub fn organization(self, id: impl Into<String>) -> Self {
        self.header("openai-organization", id)
    }

    /// Names the project that pays (`OpenAI-Project`).
    #[must_use]
    pub fn project(self, id: impl Into<String>) -> Self {
        self.header("openai-project", id)
    }

    /// The provider.
    ///
    /// # Errors
    /// `InvalidRequest` if there is no usable URL, name or header; whatever the default transport meets.
    pub fn build(self) -> Result<OpenAi, ModelError> {
        let dialect = match self.dialect {
            Some(dialect) => dialect,
            None => Dialect::by_name("openai").ok_or_else(|| invalid("the dialect `openai` is missing"))?,
        };
        let name = self.name.unwrap_or_else(|| dialect.name.clone().into_owned());
        if name.trim().is_empty() {
            return Err(invalid("a provider needs a name"));
        }
        let endpoint = match (&self.endpoint_url, self.base_url.as_deref().unwrap_or(&dialect.base_url)) {
            (Some(full), _) => Endpoint::full(full)?,
            (None, base) if base.trim().is_empty() => {
                return Err(invalid(format!("{name} has no usual place: set its base URL")));
            }
            (None, base) => Endpoint::base(base)?,
        };
        let client = self.client.build()?;
        Ok(OpenAi { name, dialect, endpoint, client })
    }
}

impl std::fmt::Debug for OpenAiBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OpenAiBuilder").field("name", &self.name).finish_non_exhaustive()
    }
}

fn invalid(message: impl Into<String>) -> ModelError {
    ModelError::new(ErrorClass::InvalidRequest, message)
}
