use std::sync::Arc;

use ai_http::{CallInfo, Codec, Decoder, Endpoint, Framing, HttpCall, error_of_response};
use ai_provider::{Delivery, ModelError, Request, Warning};
use http::{HeaderMap, StatusCode};

use crate::decode::ChatDecoder;
use crate::dialect::Dialect;
use crate::encode;

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
    url: String,
}

impl ChatCodec {
    /// The codec of a server that is reached at this endpoint: of a base, under `chat/completions`.
    pub fn new(dialect: Dialect, endpoint: Endpoint) -> Self {
        let url = endpoint.url("chat/completions", &[]);
        Self { dialect: Arc::new(dialect), url }
    }

    /// How the server speaks.
    pub fn dialect(&self) -> &Dialect {
        &self.dialect
    }
}

impl Codec for ChatCodec {
    fn encode(&self, request: &Request, info: &CallInfo<'_>) -> Result<(HttpCall, Vec<Warning>), ModelError> {
        let (body, warnings) = encode::body(&self.dialect, request, info)?;
        Ok((HttpCall::post_json(&self.url, &body)?, warnings))
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

    fn error(&self, status: StatusCode, _headers: &HeaderMap, excerpt: &[u8]) -> ModelError {
        error_of_response(status, excerpt)
    }
}
