use std::collections::BTreeMap;
use std::sync::Arc;

use ai_http::{Client, ClientBuilder, Codec, Endpoint, HeaderKey, HttpCall, client_setters, merge_field};
use ai_provider::{
    CallContext, Capabilities, EmbeddingModel, ErrorClass, JsonObject, LanguageModel, ModelError, ModelInfo,
    Provider, TargetId,
};
use async_trait::async_trait;
use http::{HeaderMap, HeaderName};
use serde_json::Value;

use crate::codec::ChatCodec;
use crate::dialect::{Dialect, KeyForm};
use crate::embedding::OpenAiEmbedding;
use crate::models::models;
use crate::responses::{ResponsesCodec, ResponsesDialect};
use ai_http::ModelSetup;

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
    /// How the server speaks Responses, if that is the API of the models.
    responses: Option<ResponsesDialect>,
    endpoint: Endpoint,
    client: Client,
    extra_body: JsonObject,
    models: BTreeMap<String, (ModelSetup, HeaderMap)>,
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

    /// An id as it can be asked for.
    fn checked<'a>(&self, id: &'a str) -> Result<&'a str, ModelError> {
        let id = id.trim();
        match id.is_empty() || id.chars().any(char::is_control) {
            true => Err(invalid(format!("{id:?} cannot be the id of a model"))),
            false => Ok(id),
        }
    }

    /// The fields that go into every body for this model.
    fn extra_body(&self, id: &str) -> JsonObject {
        let mut fields = self.extra_body.clone();
        for (key, value) in self.models.get(id).into_iter().flat_map(|(setup, _)| setup.body()) {
            merge_field(&mut fields, key, value);
        }
        fields
    }

    /// A model around this codec, by what was set for it.
    fn model<C: Codec>(&self, codec: C, id: &str, capabilities: Capabilities) -> Arc<dyn LanguageModel> {
        let setup = self.models.get(id);
        let capabilities =
            setup.and_then(|(setup, _)| setup.known_capabilities().cloned()).unwrap_or(capabilities);
        let model = self.client.model(codec, self.target(id), capabilities);
        match setup {
            Some((_, headers)) => Arc::new(model.and_headers(headers.clone())),
            None => Arc::new(model),
        }
    }
}

#[async_trait]
impl Provider for OpenAi {
    fn name(&self) -> &str {
        &self.name
    }

    fn language_model(&self, id: &str) -> Result<Arc<dyn LanguageModel>, ModelError> {
        let id = self.checked(id)?;
        if let Some(dialect) = &self.responses {
            let mut codec = ResponsesCodec::new(dialect.clone(), self.endpoint.clone())
                .with_extra_body(self.extra_body(id));
            if let Some(capabilities) =
                self.models.get(id).and_then(|(setup, _)| setup.known_capabilities().cloned())
            {
                codec = codec.with_capabilities(capabilities);
            }
            let capabilities = codec.capabilities(id);
            return Ok(self.model(codec, id, capabilities));
        }
        let mut codec =
            ChatCodec::new(self.dialect.clone(), self.endpoint.clone()).with_extra_body(self.extra_body(id));
        if let Some(capabilities) =
            self.models.get(id).and_then(|(setup, _)| setup.known_capabilities().cloned())
        {
            codec = codec.with_capabilities(capabilities);
        }
        let capabilities = codec.capabilities(id);
        Ok(self.model(codec, id, capabilities))
    }

    /// See [`Provider::embedding_model`]. `Unsupported` too for a provider with a full
    /// [`endpoint_url`](OpenAiBuilder::endpoint_url): it has no place for embeddings. The fields of
    /// [`extra_body`](OpenAiBuilder::extra_body) are for language models; those of a [`ModelSetup`] go along.
    fn embedding_model(&self, id: &str) -> Result<Arc<dyn EmbeddingModel>, ModelError> {
        let id = self.checked(id)?;
        if matches!(self.endpoint, Endpoint::Full(_)) {
            let message = format!("{} is reached by one URL alone, which has no embeddings", self.name);
            return Err(ModelError::new(ErrorClass::Unsupported, message));
        }
        let setup = self.models.get(id);
        Ok(Arc::new(OpenAiEmbedding {
            dialect: Arc::new(self.dialect.clone()),
            endpoint: self.endpoint.clone(),
            client: self.client.clone(),
            target: self.target(id),
            extra_body: setup.map(|(setup, _)| setup.body().clone()).unwrap_or_default(),
        }))
    }

    /// See [`Provider::list_models`]. `Unsupported` too for a provider with a full
    /// [`endpoint_url`](OpenAiBuilder::endpoint_url): it has no place for a list.
    async fn list_models(&self) -> Result<Vec<ModelInfo>, ModelError> {
        if matches!(self.endpoint, Endpoint::Full(_)) {
            let message = format!("{} is reached by one URL alone, which has no list of models", self.name);
            return Err(ModelError::new(ErrorClass::Unsupported, message));
        }
        let query: Vec<_> = self.dialect.query.iter().map(|(name, value)| (&**name, &**value)).collect();
        let call = HttpCall::get(self.endpoint.url("models", &query));
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

/// Which API the models of an [`OpenAi`] speak.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Api {
    /// Chat Completions, which nearly every server has.
    #[default]
    ChatCompletions,
    /// Responses: what OpenAI itself recommends. It keeps reasoning between steps and runs tools at the server.
    Responses,
}

/// Sets up an [`OpenAi`]. Nothing is checked, and nothing sent, before [`build`](Self::build).
#[derive(Default)]
pub struct OpenAiBuilder {
    name: Option<String>,
    dialect: Option<Dialect>,
    api: Api,
    responses: Option<ResponsesDialect>,
    base_url: Option<String>,
    endpoint_url: Option<String>,
    client: ClientBuilder,
    extra_body: JsonObject,
    models: BTreeMap<String, ModelSetup>,
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

    /// Sets the API of the models. Default: Chat Completions.
    ///
    /// ```
    /// use ai_openai::{Api, OpenAi};
    /// let openai = OpenAi::builder().api(Api::Responses).build()?;
    /// # let _ = openai; Ok::<(), ai_provider::ModelError>(())
    /// ```
    #[must_use]
    pub fn api(mut self, api: Api) -> Self {
        self.api = api;
        self
    }

    /// Sets how the server speaks Responses, and that its models speak it. Default for
    /// [`Api::Responses`]: the row of the dialect's name, or the open variant.
    #[must_use]
    pub fn responses(mut self, dialect: ResponsesDialect) -> Self {
        self.responses = Some(dialect);
        self.api(Api::Responses)
    }

    /// Sets the base URL, to which the path of each call is appended: for example `https://host/v1`. A query is
    /// kept. Default: the dialect's.
    #[must_use]
    pub fn base_url(mut self, url: impl Into<String>) -> Self {
        self.base_url = Some(url.into());
        self
    }

    /// Sets the URL of the API itself (of chat completions, or of responses), for servers with a path of their own.
    /// It wins over the base.
    #[must_use]
    pub fn endpoint_url(mut self, url: impl Into<String>) -> Self {
        self.endpoint_url = Some(url.into());
        self
    }

    client_setters!(client);

    /// Sets a field of the body of every call of its language models, under those of a model and of a request: what
    /// the SDK has no name for.
    #[must_use]
    pub fn extra_body(mut self, field: impl Into<String>, value: Value) -> Self {
        self.extra_body.insert(field.into(), value);
        self
    }

    /// Sets what differs for the model of this id.
    #[must_use]
    pub fn model(mut self, id: impl Into<String>, setup: ModelSetup) -> Self {
        self.models.insert(id.into(), setup);
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
        let dialect = match (self.dialect, &self.responses) {
            (Some(dialect), _) => dialect,
            (None, Some(responses)) => Dialect::by_name(&responses.name)
                .unwrap_or_else(|| Dialect::generic(responses.name.clone(), responses.base_url.clone())),
            (None, None) => {
                Dialect::by_name("openai").ok_or_else(|| invalid("the dialect `openai` is missing"))?
            }
        };
        let responses = match self.api {
            Api::Responses => Some(self.responses.unwrap_or_else(|| ResponsesDialect::of(&dialect))),
            Api::ChatCompletions => None,
        };
        let name = self.name.unwrap_or_else(|| dialect.name.clone().into_owned());
        let usual = responses.as_ref().map_or(&dialect.base_url, |responses| &responses.base_url);
        if name.trim().is_empty() {
            return Err(invalid("a provider needs a name"));
        }
        let endpoint = match (&self.endpoint_url, self.base_url.as_deref().unwrap_or(usual)) {
            (Some(full), _) => Endpoint::full(full)?,
            (None, base) if base.trim().is_empty() => {
                return Err(invalid(format!("{name} has no usual place: set its base URL")));
            }
            (None, base) => Endpoint::base(base)?,
        };
        let client = match &dialect.key {
            KeyForm::Bearer => self.client,
            KeyForm::Header(header) => {
                let parsed = HeaderName::try_from(&**header);
                let header =
                    parsed.map_err(|_| invalid(format!("{header:?} cannot be the name of a header")))?;
                self.client.authorize_or(HeaderKey(header))
            }
        };
        let client = client.build()?;
        let models = self.models.into_iter().map(|(id, setup)| {
            let headers = setup.header_map()?;
            Ok((id, (setup, headers)))
        });
        let models = models.collect::<Result<_, ModelError>>()?;
        Ok(OpenAi { name, dialect, responses, endpoint, client, extra_body: self.extra_body, models })
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
