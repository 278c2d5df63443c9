use std::sync::Arc;

use ai_http::{CallInfo, Codec, Decoder, Endpoint, Framing, HttpCall, error_of_response};
use ai_provider::{Capabilities, Delivery, FilePart, JsonObject, ModelError, Request, Warning};
use http::{HeaderMap, StatusCode};

use crate::decode::ChatDecoder;
use crate::dialect::Dialect;
use crate::encode::{self, Scope};

/// Chat Completions as a codec: for a model of your own around [`HttpModel`](ai_http::HttpModel).
///
/// ```
/// use ai_http::Endpoint;
/// use ai_openai::{ChatCodec, Dialect};
/// let dialect = Dialect::generic("my-server", "http://localhost:8000/v1");
/// let codec = ChatCodec::new(dialect, Endpoint::base("http://localhost:8000/v1")?);
/// # let _ = codec;
/// # Ok::<(), ai_provider::ModelError>(())
/// ```
#[derive(Clone, Debug)]
pub struct ChatCodec {
    dialect: Arc<Dialect>,
    endpoint: Endpoint,
    capabilities: Option<Capabilities>,
    extra_body: JsonObject,
}

impl ChatCodec {
    /// The codec of a server that is reached at this endpoint: of a base, under `chat/completions`, behind what the
    /// dialect puts in front of it.
    pub fn new(dialect: Dialect, endpoint: Endpoint) -> Self {
        Self { dialect: Arc::new(dialect), endpoint, capabilities: None, extra_body: JsonObject::new() }
    }

    /// Sets what the model can do. Default: what the dialect knows of it.
    #[must_use]
    pub fn with_capabilities(mut self, capabilities: Capabilities) -> Self {
        self.capabilities = Some(capabilities);
        self
    }

    /// Sets fields that go into every body, under the options and the extra body of the request.
    #[must_use]
    pub fn with_extra_body(mut self, fields: JsonObject) -> Self {
        self.extra_body = fields;
        self
    }

    /// How the server speaks.
    pub fn dialect(&self) -> &Dialect {
        &self.dialect
    }

    /// What a model can do: as was set, else as the dialect knows it.
    pub fn capabilities(&self, model: &str) -> Capabilities {
        self.capabilities.clone().unwrap_or_else(|| self.dialect.capabilities_of(model))
    }
}

impl Codec for ChatCodec {
    fn encode(&self, request: &Request, info: &CallInfo<'_>) -> Result<(HttpCall, Vec<Warning>), ModelError> {
        let capabilities = self.capabilities(&info.target.model);
        let scope = Scope { dialect: &self.dialect, capabilities: &capabilities, request, info };
        let (body, warnings) = encode::body(scope, &self.extra_body)?;
        let url = self.dialect.url(&self.endpoint, "chat/completions", &info.target.model)?;
        Ok((HttpCall::post_json(url, &body)?, warnings))
    }

    /// Sound, documents and text go as data; images and moving pictures by URL, where the server gets them.
    fn must_download(&self, file: &FilePart, info: &CallInfo<'_>) -> bool {
        let kind = file.media_type.split('/').next().unwrap_or_default();
        let by_url = match kind {
            "image" => self.dialect.image_urls,
            "video" => true,
            _ => false,
        };
        !by_url && self.capabilities(&info.target.model).input.accepts(&file.media_type)
    }

    fn framing(&self, delivery: Delivery) -> Framing {
        match delivery {
            Delivery::Stream => Framing::Sse,
            Delivery::Whole => Framing::Whole,
        }
    }

    fn decoder(&self, info: &CallInfo<'_>) -> Box<dyn Decoder> {
        Box::new(ChatDecoder::new(Arc::clone(&self.dialect), info))
    }

    fn decoder_for(&self, request: &Request, info: &CallInfo<'_>) -> Box<dyn Decoder> {
        Box::new(ChatDecoder::new(Arc::clone(&self.dialect), info).answering(request))
    }

    fn error(&self, status: StatusCode, _headers: &HeaderMap, excerpt: &[u8]) -> ModelError {
        error_of_response(status, excerpt)
    }
}
