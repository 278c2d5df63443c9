use ai_http::{CallInfo, Codec, Decoder, Endpoint, Framing, HttpCall, path_segment};
use ai_provider::{
    Capabilities, Delivery, ErrorClass, FileData, FilePart, JsonObject, ModelError, Request, Warning,
};
use http::{HeaderMap, StatusCode};

use crate::decode::GeminiDecoder;
use crate::models::Model;
use crate::{encode, failure};

/// Gemini's `generateContent` as a codec: for a model of your own around [`HttpModel`](ai_http::HttpModel).
///
/// ```
/// use ai_google::GenerateContentCodec;
/// use ai_http::Endpoint;
/// let base = Endpoint::base("https://generativelanguage.googleapis.com/v1beta")?;
/// let codec = GenerateContentCodec::new(base);
/// # let _ = codec;
/// # Ok::<(), ai_provider::ModelError>(())
/// ```
#[derive(Clone, Debug)]
pub struct GenerateContentCodec {
    endpoint: Endpoint,
    capabilities: Option<Capabilities>,
    extra_body: JsonObject,
}

impl GenerateContentCodec {
    /// The codec of a server that is reached at this endpoint: of a base, under
    /// `models/MODEL:streamGenerateContent?alt=sse` for a stream and `models/MODEL:generateContent` for one body.
    pub fn new(endpoint: Endpoint) -> Self {
        Self { endpoint, capabilities: None, extra_body: JsonObject::new() }
    }

    /// Sets what the model can do. Default: what is known of it by its name.
    #[must_use]
    pub fn with_capabilities(mut self, capabilities: Capabilities) -> Self {
        self.capabilities = Some(capabilities);
        self
    }

    /// Sets fields of every body, over the settings and under what a request says by options and extra body.
    #[must_use]
    pub fn with_extra_body(mut self, fields: JsonObject) -> Self {
        self.extra_body = fields;
        self
    }

    /// What a model of this name can do.
    pub fn capabilities(&self, model: &str) -> Capabilities {
        self.capabilities.clone().unwrap_or_else(|| Model::of(model).capabilities())
    }

    fn url(&self, model: &str, delivery: Delivery) -> Result<String, ModelError> {
        let model = model_path(model)?;
        Ok(match delivery {
            Delivery::Stream => {
                self.endpoint.url(&format!("{model}:streamGenerateContent"), &[("alt", "sse")])
            }
            Delivery::Whole => self.endpoint.url(&format!("{model}:generateContent"), &[]),
        })
    }
}

/// The path of a model: its name is one segment, whatever it holds. Google's own lists put `models/` and
/// `tunedModels/` in front.
pub(crate) fn model_path(model: &str) -> Result<String, ModelError> {
    if model.chars().any(char::is_control) {
        let message = format!("{model:?} cannot be the id of a model");
        return Err(ModelError::new(ErrorClass::InvalidRequest, message));
    }
    let (folder, name) = match model.split_once('/') {
        Some((folder @ ("models" | "tunedModels"), name)) => (folder, name),
        _ => ("models", model),
    };
    Ok(format!("{folder}/{}", path_segment(name)?))
}

impl Codec for GenerateContentCodec {
    fn encode(&self, request: &Request, info: &CallInfo<'_>) -> Result<(HttpCall, Vec<Warning>), ModelError> {
        let capabilities = self.capabilities(&info.target.model);
        let (body, warnings) = encode::body(request, info, &capabilities, &self.extra_body)?;
        let call = HttpCall::post_json(self.url(&info.target.model, info.delivery)?, &body)?;
        Ok((call, warnings))
    }

    fn must_download(&self, file: &FilePart, info: &CallInfo<'_>) -> bool {
        matches!(&file.data, FileData::Url { url } if !encode::is_fetched(url, &info.target.endpoint))
    }

    /// A full endpoint says itself how it answers, so its answer is taken either way.
    fn framing(&self, delivery: Delivery) -> Framing {
        match (&self.endpoint, delivery) {
            (Endpoint::Base(_), Delivery::Whole) => Framing::Whole,
            _ => Framing::Sse,
        }
    }

    fn decoder(&self, info: &CallInfo<'_>) -> Box<dyn Decoder> {
        let several = info.delivery == Delivery::Stream || !matches!(self.endpoint, Endpoint::Base(_));
        Box::new(GeminiDecoder::new(info, several))
    }

    fn error(&self, status: StatusCode, _headers: &HeaderMap, excerpt: &[u8]) -> ModelError {
        failure::of_response(status, excerpt)
    }
}
