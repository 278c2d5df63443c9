use ai_http::{CallInfo, Codec, Decoder, Endpoint, Framing, HttpCall, error_of_response};
use ai_provider::{Delivery, ModelError, Request, Warning};
use http::{HeaderMap, StatusCode};

use crate::{decode::CohereDecoder, encode};

/// Cohere's chat API: what a call looks like, and how its answer is read.
#[derive(Clone, Debug)]
pub struct CohereCodec {
    url: String,
}

impl CohereCodec {
    /// The codec of a server that is reached at this endpoint: of a base, under `v2/chat`.
    pub fn new(endpoint: &Endpoint) -> Self {
        Self { url: endpoint.url("v2/chat", &[]) }
    }
}

impl Codec for CohereCodec {
    fn encode(&self, request: &Request, info: &CallInfo<'_>) -> Result<(HttpCall, Vec<Warning>), ModelError> {
        let (body, warnings) = encode::body(request, info)?;
        Ok((HttpCall::post_json(&self.url, &body)?, warnings))
    }

    fn framing(&self, delivery: Delivery) -> Framing {
        match delivery {
            Delivery::Stream => Framing::Sse,
            Delivery::Whole => Framing::Whole,
        }
    }

    fn decoder(&self, info: &CallInfo<'_>) -> Box<dyn Decoder> {
        Box::new(CohereDecoder::new(info))
    }

    fn error(&self, status: StatusCode, _headers: &HeaderMap, excerpt: &[u8]) -> ModelError {
        error_of_response(status, excerpt)
    }
}
