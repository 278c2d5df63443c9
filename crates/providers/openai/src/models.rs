use ai_http::{
    CallInfo, Codec, Decoder, End, Event, Framing, HttpCall, Next, Parts, error_of_frame, error_of_response,
};
use ai_provider::{
    Delivery, ErrorClass, Finish, FinishReason, ModelError, ModelInfo, Request, StreamPart, UnifiedFinish,
    Usage, Warning,
};
use http::{HeaderMap, StatusCode};
use serde_json::Value;

/// The list of models, as an answer of one raw part: so the driver of all calls holds its timers, limits and
/// keys too.
#[derive(Debug)]
pub(crate) struct ListCodec {
    pub(crate) url: String,
    pub(crate) headers: HeaderMap,
}

struct ListDecoder;

impl Codec for ListCodec {
    fn encode(&self, _: &Request, _: &CallInfo<'_>) -> Result<(HttpCall, Vec<Warning>), ModelError> {
        let mut call = HttpCall::get(&self.url);
        call.headers.extend(self.headers.clone());
        Ok((call, Vec::new()))
    }

    fn framing(&self, _: Delivery) -> Framing {
        Framing::Whole
    }

    fn decoder(&self, _: &CallInfo<'_>) -> Box<dyn Decoder> {
        Box::new(ListDecoder)
    }

    fn error(&self, status: StatusCode, _: &HeaderMap, excerpt: &[u8]) -> ModelError {
        error_of_response(status, excerpt)
    }
}

impl Decoder for ListDecoder {
    fn event(&mut self, event: Event<'_>, out: &mut Parts) -> Result<Next, ModelError> {
        if let Some(error) = error_of_frame(event.data) {
            return Err(error);
        }
        let raw_value = serde_json::from_str(event.data).map_err(|error| {
            ModelError::new(ErrorClass::Protocol, format!("not a list of models: {error}"))
        })?;
        out.push(StreamPart::Raw { raw_value });
        let reason = FinishReason::from(UnifiedFinish::Stop);
        out.push(StreamPart::Finish(Box::new(Finish { reason, usage: Usage::default(), metadata: None })));
        Ok(Next::Done)
    }

    fn end(&mut self, _: End, _: &mut Parts) -> Result<(), ModelError> {
        Err(ModelError::new(ErrorClass::Incomplete, "the server closed without a list of models"))
    }
}

/// The models of a list: under `data`, as OpenAI has it, or bare.
pub(crate) fn models(list: &Value) -> Result<Vec<ModelInfo>, ModelError> {
    let list = list.get("data").or_else(|| list.get("models")).unwrap_or(list);
    let Some(list) = list.as_array() else {
        return Err(ModelError::new(ErrorClass::Protocol, "not a list of models: it holds no list"));
    };
    let models = list.iter().filter_map(|model| {
        let text =
            |name: &str| model.get(name).and_then(Value::as_str).filter(|text| !text.trim().is_empty());
        Some(ModelInfo {
            id: text("id").or_else(|| text("name"))?.to_owned(),
            display_name: text("display_name").map(str::to_owned),
            kind: None,
            capabilities: None,
        })
    });
    Ok(models.collect())
}
