use std::collections::BTreeMap;
use std::sync::Arc;

use ai_http::{Client, ClientBuilder, Endpoint, HeaderKey, HttpCall, client_setters, merge_field};
use ai_provider::{
    CallContext, Capabilities, EmbeddingModel, ErrorClass, JsonObject, LanguageModel, ModelError, ModelInfo,
    Provider, TargetId,
};
use async_trait::async_trait;
use http::{HeaderMap, HeaderName};
use serde_json::Value;

use crate::codec::{GenerateContentCodec, model_path};
use crate::embedding::GoogleEmbedding;
use crate::failure::of_response;
use crate::list::{self, Page};
use ai_http::ModelSetup;

const BASE_URL: &str = "https://generativelanguage.googleapis.com/v1beta";

/// The one place of the key. Google takes it in the query too, where it would end up in logs.
const KEY_HEADER: HeaderName = HeaderName::from_static("x-goog-api-key");

/// Google's Gemini API, or a server that speaks like it.
///
/// ```
/// use ai_google::Google;
/// use ai_provider::{ApiKey, Provider};
///
/// # fn main() -> Result<(), ai_provider::ModelError> {
/// let google = Google::builder().api_key(ApiKey::new("AIza-1")?).build()?;
/// let model = google.language_model("gemini-2.5-flash")?;
/// assert_eq!(model.target().to_string(), "google:gemini-2.5-flash");
/// # Ok(()) }
/// ```
pub struct Google {
    name: String,
    endpoint: Endpoint,
    capabilities: Option<Capabilities>,
    client: Client,
    extra_body: JsonObject,
    models: BTreeMap<String, (ModelSetup, HeaderMap)>,
}

impl Google {
    /// Begins with Google itself, without a key.
    pub fn builder() -> GoogleBuilder {
        GoogleBuilder::default()
    }

    fn target(&self, model: &str) -> TargetId {
        TargetId::new(&self.name, model, self.endpoint.name())
    }

    /// Where there is more than the one call of a full URL.
    fn base(&self, what: &str) -> Result<&Endpoint, ModelError> {
        match &self.endpoint {
            Endpoint::Base(_) => Ok(&self.endpoint),
            _ => {
                let message = format!("{} is reached by one URL alone, which has no {what}", self.name);
                Err(ModelError::new(ErrorClass::Unsupported, message))
            }
        }
    }
}

#[async_trait]
impl Provider for Google {
    fn name(&self) -> &str {
        &self.name
    }

    fn language_model(&self, id: &str) -> Result<Arc<dyn LanguageModel>, ModelError> {
        let id = id.trim();
        model_path(id)?;
        let setup = self.models.get(id);
        let mut extra_body = self.extra_body.clone();
        for (key, value) in setup.into_iter().flat_map(|(setup, _)| setup.body()) {
            merge_field(&mut extra_body, key, value);
        }
        let mut codec = GenerateContentCodec::new(self.endpoint.clone()).with_extra_body(extra_body);
        let told = setup.and_then(|(setup, _)| setup.known_capabilities());
        if let Some(capabilities) = told.or(self.capabilities.as_ref()) {
            codec = codec.with_capabilities(capabilities.clone());
        }
        let capabilities = codec.capabilities(id);
        let model = self.client.model(codec, self.target(id), capabilities);
        Ok(match setup {
            Some((_, headers)) => Arc::new(model.and_headers(headers.clone())),
            None => Arc::new(model),
        })
    }

    /// See [`Provider::embedding_model`]. `Unsupported` too for a provider with a full
    /// [`endpoint_url`](GoogleBuilder::endpoint_url).
    fn embedding_model(&self, id: &str) -> Result<Arc<dyn EmbeddingModel>, ModelError> {
        let id = id.trim();
        let path = model_path(id)?;
        let url = self.base("embeddings")?.url(&format!("{path}:batchEmbedContents"), &[]);
        Ok(Arc::new(GoogleEmbedding::new(self.client.clone(), self.target(id), url)))
    }

    /// See [`Provider::list_models`]. `Unsupported` too for a provider with a full
    /// [`endpoint_url`](GoogleBuilder::endpoint_url).
    async fn list_models(&self) -> Result<Vec<ModelInfo>, ModelError> {
        let base = self.base("list of models")?;
        let mut models = Vec::new();
        let mut token = String::new();
        for _ in 0..list::MAX_PAGES {
            let mut query = vec![("pageSize", "1000")];
            if !token.is_empty() {
                query.push(("pageToken", &token));
            }
            let call = HttpCall::get(base.url("models", &query));
            let page: Page = self.client.fetch_json(&self.target(""), call, CallContext::new()).await?;
            token = page.take_models(&mut models)?;
            if token.is_empty() {
                return Ok(models);
            }
        }
        Err(ModelError::new(
            ErrorClass::TooLarge,
            format!("the list of models has more than {} pages", list::MAX_PAGES),
        ))
    }
}

impl std::fmt::Debug for Google {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Google")
            .field("name", &self.name)
            .field("endpoint", &self.endpoint)
            .field("keys", &self.client.keys())
            .finish_non_exhaustive()
    }
}

/// Sets up a [`Google`]. Nothing is checked, and nothing sent, before [`build`](Self::build).
#[derive(Default)]
pub struct GoogleBuilder {
    name: Option<String>,
    base_url: Option<String>,
    endpoint_url: Option<String>,
    capabilities: Option<Capabilities>,
    client: ClientBuilder,
    extra_body: JsonObject,
    models: BTreeMap<String, ModelSetup>,
}

impl GoogleBuilder {
    /// Sets the name under which models are asked for and options and metadata stand. Default: `google`.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Sets the base URL, to which the path of each call is appended. A query is kept. Default: Google's
    /// `v1beta`.
    #[must_use]
    pub fn base_url(mut self, url: impl Into<String>) -> Self {
        self.base_url = Some(url.into());
        self
    }

    /// Sets the URL of content generation itself, model and method included, for servers with a path of their
    /// own. It wins over the base. An answer is read as what it is: a stream, or one document.
    #[must_use]
    pub fn endpoint_url(mut self, url: impl Into<String>) -> Self {
        self.endpoint_url = Some(url.into());
        self
    }

    /// Sets what all models of this provider can do. Default: what is known of each by its name.
    #[must_use]
    pub fn capabilities(mut self, capabilities: Capabilities) -> Self {
        self.capabilities = Some(capabilities);
        self
    }

    client_setters!(client);

    /// Sets a field of the body of every call of its language models, under those of a model and of a request:
    /// what the SDK has no name for.
    #[must_use]
    pub fn extra_body(mut self, field: impl Into<String>, value: Value) -> Self {
        self.extra_body.insert(field.into(), value);
        self
    }

    /// Sets what differs for the language model of this id.
    #[must_use]
    pub fn model(mut self, id: impl Into<String>, setup: ModelSetup) -> Self {
        self.models.insert(id.into(), setup);
        self
    }

    /// The provider. A call shows its key in the header `x-goog-api-key`, unless
    /// [`authorize`](Self::authorize) says otherwise.
    ///
    /// # Errors
    /// `InvalidRequest` if a URL, the name or a header is not usable; whatever the default transport meets.
    pub fn build(self) -> Result<Google, ModelError> {
        let name = self.name.unwrap_or_else(|| "google".to_owned());
        if name.trim().is_empty() {
            return Err(ModelError::new(ErrorClass::InvalidRequest, "a provider needs a name"));
        }
        let endpoint = match (&self.endpoint_url, &self.base_url) {
            (Some(full), _) => Endpoint::full(full)?,
            (None, base) => Endpoint::base(base.as_deref().unwrap_or(BASE_URL))?,
        };
        let errors = |status, _: &HeaderMap, body: &[u8]| of_response(status, body);
        let client = self.client.authorize_or(HeaderKey(KEY_HEADER)).read_errors(errors).build()?;
        let models = self.models.into_iter().map(|(id, setup)| {
            let headers = setup.header_map()?;
            Ok((id, (setup, headers)))
        });
        let models = models.collect::<Result<_, ModelError>>()?;
        let (capabilities, extra_body) = (self.capabilities, self.extra_body);
        Ok(Google { name, endpoint, capabilities, client, extra_body, models })
    }
}

impl std::fmt::Debug for GoogleBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GoogleBuilder").field("name", &self.name).finish_non_exhaustive()
    }
}
