use std::sync::Arc;

use ai_http::{CallInfo, Codec, Decoder, Endpoint, Framing, HttpCall, error_of_response};
use ai_provider::{Capabilities, Delivery, FilePart, JsonObject, ModelError, Request, Warning};
use http::{HeaderMap, StatusCode};

use super::decode::{Asked, ResponsesDecoder};
use super::dialect::ResponsesDialect;
use super::encode::{self, Scope};

/// The Responses API as a codec: for a model of your own around [`HttpModel`](ai_http::HttpModel).
///
/// # Stale history
///
/// An answer holds blocks that mean something to its maker alone: ids of stored items and encrypted reasoning.
/// They are kept in the metadata of the parts, with the endpoint, model and account they are of, and go back only
/// there; elsewhere they are left out with a warning. Where the server itself no longer takes them (items that
/// expired, a key that was changed), the error is [`StaleReplay`](ai_provider::ErrorClass::StaleReplay). There is
/// one way on: send the same history once more without [`metadata`](ai_provider::TextPart::metadata), which costs
/// the model its earlier reasoning and nothing else. A second such error is final.
///
/// ```
/// use ai_http::Endpoint;
/// use ai_openai::{ResponsesCodec, ResponsesDialect};
/// let dialect = ResponsesDialect::generic("my-server", "http://localhost:8000/v1");
/// let codec = ResponsesCodec::new(dialect, Endpoint::base("http://localhost:8000/v1")?);
/// # let _ = codec;
/// # Ok::<(), ai_provider::ModelError>(())
/// ```
#[derive(Clone, Debug)]
pub struct ResponsesCodec {
    dialect: Arc<ResponsesDialect>,
    url: String,
    capabilities: Option<Capabilities>,
    extra_body: JsonObject,
}

impl ResponsesCodec {
    /// The codec of a server that is reached at this endpoint: of a base, under the path of the dialect.
    pub fn new(dialect: ResponsesDialect, endpoint: Endpoint) -> Self {
        let url = endpoint.url(&dialect.path, &[]);
        Self { dialect: Arc::new(dialect), url, capabilities: None, extra_body: JsonObject::new() }
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
    pub fn dialect(&self) -> &ResponsesDialect {
        &self.dialect
    }

    /// What a model can do: as was set, else as the dialect knows it.
    pub fn capabilities(&self, model: &str) -> Capabilities {
        self.capabilities.clone().unwrap_or_else(|| self.dialect.capabilities_of(model))
    }
}

impl Codec for ResponsesCodec {
    fn encode(&self, request: &Request, info: &CallInfo<'_>) -> Result<(HttpCall, Vec<Warning>), ModelError> {
        let (origin, capabilities) = (info.origin(), self.capabilities(&info.target.model));
        let scope =
            Scope { dialect: &self.dialect, capabilities: &capabilities, request, info, origin: &origin };
        let (body, warnings) = encode::body(scope, &self.extra_body)?;
        Ok((HttpCall::post_json(&self.url, &body)?, warnings))
    }

    fn must_download(&self, file: &FilePart, _info: &CallInfo<'_>) -> bool {
        encode::must_download(&self.dialect, file)
    }

    fn framing(&self, delivery: Delivery) -> Framing {
        match delivery {
            Delivery::Stream => Framing::Sse,
            Delivery::Whole => Framing::Whole,
        }
    }

    fn decoder(&self, info: &CallInfo<'_>) -> Box<dyn Decoder> {
        Box::new(ResponsesDecoder::new(Arc::clone(&self.dialect), Asked::default(), info))
    }

    fn decoder_for(&self, request: &Request, info: &CallInfo<'_>) -> Box<dyn Decoder> {
        let asked = Asked::of(request, &self.dialect, &info.target.provider);
        Box::new(ResponsesDecoder::new(Arc::clone(&self.dialect), asked, info))
    }

    fn error(&self, status: StatusCode, _headers: &HeaderMap, excerpt: &[u8]) -> ModelError {
        error_of_response(status, excerpt)
    }
}
