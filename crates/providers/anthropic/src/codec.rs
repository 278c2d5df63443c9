use std::borrow::Cow;

use ai_http::{CallInfo, Codec, Decoder, Endpoint, Framing, HttpCall};
use ai_provider::{Capabilities, Delivery, FilePart, ModelError, Request, Warning};
use http::{HeaderMap, StatusCode};

use crate::decode::MessagesDecoder;
use crate::models::Model;
use crate::{encode, failure};

/// The version of the API this adapter is written for.
const VERSION: &str = "2023-06-01";

/// The Messages API as a codec: for a model of your own around [`HttpModel`](ai_http::HttpModel).
///
/// ```
/// use ai_anthropic::MessagesCodec;
/// use ai_http::Endpoint;
/// let codec = MessagesCodec::new(Endpoint::base("https://api.anthropic.com/v1")?);
/// # let _ = codec;
/// # Ok::<(), ai_provider::ModelError>(())
/// ```
#[derive(Clone, Debug)]
pub struct MessagesCodec {
    url: String,
    version: Cow<'static, str>,
    betas: Vec<String>,
    capabilities: Option<Capabilities>,
}

impl MessagesCodec {
    /// The codec of a server that is reached at this endpoint: of a base, under `messages`.
    pub fn new(endpoint: Endpoint) -> Self {
        Self {
            url: endpoint.url("messages", &[]),
            version: VERSION.into(),
            betas: Vec::new(),
            capabilities: None,
        }
    }

    /// Sets the version of the API (`anthropic-version`). Default: `2023-06-01`.
    #[must_use]
    pub fn with_version(mut self, version: impl Into<String>) -> Self {
        self.version = Cow::Owned(version.into());
        self
    }

    /// Sets what every call asks for besides what is generally available. What the request itself needs is added.
    #[must_use]
    pub fn with_betas(mut self, betas: impl IntoIterator<Item = String>) -> Self {
        self.betas = betas.into_iter().collect();
        self
    }

    /// Sets what the model can do, in place of what is known of it.
    #[must_use]
    pub fn with_capabilities(mut self, capabilities: Capabilities) -> Self {
        self.capabilities = Some(capabilities);
        self
    }

    /// What the model of this id can do.
    pub fn capabilities(&self, model: &str) -> Capabilities {
        self.capabilities.clone().unwrap_or_else(|| Model::of(model).capabilities())
    }

    /// The version of the API, as every call names it.
    ///
    /// # Errors
    /// `InvalidRequest` if the version cannot stand in a header.
    pub(crate) fn name_version(&self, call: &mut HttpCall) -> Result<(), ModelError> {
        call.set_header("anthropic-version", &self.version)
    }
}

impl Codec for MessagesCodec {
    fn encode(&self, request: &Request, info: &CallInfo<'_>) -> Result<(HttpCall, Vec<Warning>), ModelError> {
        let capabilities = self.capabilities(&info.target.model);
        encode::encode(request, info, &capabilities, &self.betas, |encoded| {
            let mut call = HttpCall::post_json(&self.url, &encoded.body)?;
            self.name_version(&mut call)?;
            if !encoded.betas.is_empty() {
                call.set_header(encode::BETAS, &encoded.betas)?;
            }
            Ok((call, encoded.warnings))
        })
    }

    fn must_download(&self, file: &FilePart, _info: &CallInfo<'_>) -> bool {
        encode::must_download(file)
    }

    fn framing(&self, delivery: Delivery) -> Framing {
        match delivery {
            Delivery::Stream => Framing::Sse,
            Delivery::Whole => Framing::Whole,
        }
    }

    fn decoder(&self, info: &CallInfo<'_>) -> Box<dyn Decoder> {
        Box::new(MessagesDecoder::new(None, info))
    }

    fn decoder_for(&self, request: &Request, info: &CallInfo<'_>) -> Box<dyn Decoder> {
        Box::new(MessagesDecoder::new(Some(request), info))
    }

    fn error(&self, status: StatusCode, headers: &HeaderMap, excerpt: &[u8]) -> ModelError {
        failure::of_response(status, headers, excerpt)
    }
}
