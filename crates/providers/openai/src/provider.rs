use std::future::poll_fn;
use std::sync::Arc;

use ai_http::{
    Authorize, Bearer, Codec, Endpoint, HttpCall, HttpModel, Limits, ReqwestTransport, Timeouts, Transport,
};
use ai_provider::{
    ApiKey, CallContext, Capabilities, ErrorClass, KeySource, Keys, LanguageModel, ModelError, ModelInfo,
    Provider, Request, StreamPart, TargetId,
};
use async_trait::async_trait;
use http::HeaderMap;

use crate::codec::ChatCodec;
use crate::dialect::Dialect;
use crate::models::{ListCodec, models};

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
    connection: Connection,
}

/// How a call gets out: the same for all models.
#[derive(Clone)]
struct Connection {
    transport: Arc<dyn Transport>,
    keys: Arc<dyn KeySource>,
    authorize: Arc<dyn Authorize>,
    timeouts: Timeouts,
    limits: Limits,
    headers: HeaderMap,
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

    fn model<C: Codec>(&self, codec: C, model: &str, capabilities: Capabilities) -> HttpModel<C> {
        let connection = self.connection.clone();
        HttpModel::new(codec, self.target(model), connection.transport)
            .with_keys(connection.keys)
            .with_authorize(connection.authorize)
            .with_capabilities(capabilities)
            .with_timeouts(connection.timeouts)
            .with_limits(connection.limits)
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
        let codec = ChatCodec::new(self.dialect.clone(), self.endpoint.clone())
            .with_headers(self.connection.headers.clone());
        Ok(Arc::new(self.model(codec, id, self.capabilities(id))))
    }

    /// See [`Provider::list_models`]. `Unsupported` too for a provider with a full
    /// [`endpoint_url`](OpenAiBuilder::endpoint_url): it has no place for a list.
    async fn list_models(&self) -> Result<Vec<ModelInfo>, ModelError> {
        if matches!(self.endpoint, Endpoint::Full(_)) {
            let message = format!("{} is reached by one URL alone, which has no list of models", self.name);
            return Err(ModelError::new(ErrorClass::Unsupported, message));
        }
        let codec =
            ListCodec { url: self.endpoint.url("models", &[]), headers: self.connection.headers.clone() };
        let list = self.model(codec, "", Capabilities::default());
        let mut answer = list.stream(Request::default(), CallContext::new());
        while let Some(part) = poll_fn(|cx| answer.as_mut().poll_next(cx)).await {
            if let StreamPart::Raw { raw_value } = part? {
                return models(&raw_value);
            }
        }
        Err(ModelError::new(ErrorClass::Incomplete, "the server closed without a list of models"))
    }
}

impl std::fmt::Debug for OpenAi {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OpenAi")
            .field("name", &self.name)
            .field("endpoint", &self.endpoint)
            .field("keys", &self.connection.keys.labels())
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
    keys: Option<Arc<dyn KeySource>>,
    authorize: Option<Arc<dyn Authorize>>,
    transport: Option<Arc<dyn Transport>>,
    timeouts: Timeouts,
    limits: Limits,
    headers: Vec<(String, Option<String>)>,
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

    /// Sets where keys come from. Default: none.
    #[must_use]
    pub fn keys(mut self, keys: Arc<dyn KeySource>) -> Self {
        self.keys = Some(keys);
        self
    }

    /// Sets the one key.
    #[must_use]
    pub fn api_key(self, key: ApiKey) -> Self {
        self.keys(Arc::new(Keys::one(key)))
    }

    /// Sets how a call shows its key. Default: `authorization: Bearer KEY`.
    #[must_use]
    pub fn authorize(mut self, authorize: Arc<dyn Authorize>) -> Self {
        self.authorize = Some(authorize);
        self
    }

    /// Sets the transport. Default: a reqwest client of its own.
    #[must_use]
    pub fn transport(mut self, transport: Arc<dyn Transport>) -> Self {
        self.transport = Some(transport);
        self
    }

    /// Sets how long to wait for the server.
    #[must_use]
    pub fn timeouts(mut self, timeouts: Timeouts) -> Self {
        self.timeouts = timeouts;
        self
    }

    /// Sets how much of an answer is held in memory.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Adds a header to every call. Its value is kept out of logs and errors if the name says that it is a secret
    /// (`api-key`, `x-token`, …).
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), Some(value.into())));
        self
    }

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
        // A call stands in, so that these headers are checked like all others.
        let mut call = HttpCall::get("");
        call.apply_extra(&self.headers)?;
        let transport = match self.transport {
            Some(transport) => transport,
            None => Arc::new(ReqwestTransport::new()?),
        };
        let connection = Connection {
            transport,
            keys: self.keys.unwrap_or_else(|| Arc::new(Keys::none())),
            authorize: self.authorize.unwrap_or_else(|| Arc::new(Bearer)),
            timeouts: self.timeouts,
            limits: self.limits,
            headers: call.headers,
        };
        Ok(OpenAi { name, dialect, endpoint, connection })
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
