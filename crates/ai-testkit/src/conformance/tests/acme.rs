//! An API made up for these tests, and an adapter for it without fault.

use std::sync::Arc;

use ai_http::{
    CallInfo, Codec, Decoder, End, Event, Framing, HttpCall, HttpModel, Next, Parts, error_of_response,
};
use ai_provider::{
    Delivery, ErrorClass, Finish, JsonObject, Keys, LanguageModel, ModelError, Request, StreamPart, TargetId,
    ToolCall, UnifiedFinish, Usage, Warning,
};
use http::{HeaderMap, StatusCode};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Site;

/// The codec: `{"text"}`, `{"call"}` and `{"done"}` as events, or all of them in one document.
#[derive(Clone)]
pub(super) struct Acme {
    pub(super) url: String,
    pub(super) fault: &'static str,
}

impl Acme {
    pub(super) fn new(site: &Site) -> Self {
        Self { url: format!("{}/chat", site.url), fault: "" }
    }
}

/// A model of this codec.
pub(super) fn model<C: Codec>(codec: C, site: &Site) -> Result<Arc<dyn LanguageModel>, ModelError> {
    let target = TargetId::new("acme", &site.model, &site.url);
    let model = HttpModel::new(codec, target, Arc::clone(&site.transport))
        .with_keys(Arc::new(Keys::one(site.key.clone())))
        .with_limits(site.limits);
    Ok(Arc::new(model))
}

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    stream: bool,
    tools: Vec<&'a str>,
    #[serde(flatten)]
    extra: &'a JsonObject,
    messages: Vec<Value>,
}

impl Codec for Acme {
    fn encode(&self, request: &Request, info: &CallInfo<'_>) -> Result<(HttpCall, Vec<Warning>), ModelError> {
        let mut messages = Vec::new();
        for message in &request.messages {
            let mut message = serde_json::to_value(message).unwrap();
            without_blanks(&mut message);
            messages.push(message);
        }
        let body = Body {
            model: &info.target.model,
            stream: info.delivery == Delivery::Stream,
            tools: request.tools.iter().map(ai_provider::ToolDefinition::name).collect(),
            extra: &request.extra_body,
            messages,
        };
        Ok((HttpCall::post_json(&self.url, &body)?, Vec::new()))
    }

    fn framing(&self, delivery: Delivery) -> Framing {
        match delivery {
            Delivery::Stream => Framing::Sse,
            Delivery::Whole => Framing::Whole,
        }
    }

    fn decoder(&self, _: &CallInfo<'_>) -> Box<dyn Decoder> {
        Box::new(AcmeDecoder { open: false, calls: Vec::new(), fault: self.fault })
    }

    fn error(&self, status: StatusCode, _: &HeaderMap, excerpt: &[u8]) -> ModelError {
        error_of_response(status, excerpt)
    }
}

/// Takes out what holds a blank text.
fn without_blanks(value: &mut Value) {
    let is_blank =
        |value: &Value| value.get("text").and_then(Value::as_str).is_some_and(|text| text.trim().is_empty());
    match value {
        Value::Array(items) => {
            items.retain(|item| !is_blank(item));
            items.iter_mut().for_each(without_blanks);
        }
        Value::Object(fields) => fields.values_mut().for_each(without_blanks),
        _ => {}
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Frame {
    text: Option<String>,
    call: Option<ToolCall>,
    done: Option<String>,
}

struct AcmeDecoder {
    open: bool,
    calls: Vec<ToolCall>,
    fault: &'static str,
}

impl Decoder for AcmeDecoder {
    fn event(&mut self, event: Event<'_>, out: &mut Parts) -> Result<Next, ModelError> {
        let read = serde_json::from_str::<Frame>(event.data);
        let frame = match read {
            Ok(frame) => frame,
            Err(_) if self.fault == "ignores garbage" => return Ok(Next::More),
            Err(error) => {
                let message = format!("event {} is no frame: {error}", event.number);
                return Err(ModelError::new(ErrorClass::Protocol, message));
            }
        };
        if frame.text.is_none() && frame.call.is_none() && frame.done.is_none() {
            return Err(ModelError::new(ErrorClass::Protocol, "the frame is empty"));
        }
        if let Some(text) = frame.text {
            if !std::mem::replace(&mut self.open, true) && self.fault != "never starts a block" {
                out.push(StreamPart::text_start("0"));
            }
            out.push(StreamPart::text_delta("0", text));
        }
        self.calls.extend(frame.call);
        let Some(done) = frame.done else { return Ok(Next::More) };
        self.finish(&done, out);
        Ok(Next::Done)
    }

    fn end(&mut self, _: End, out: &mut Parts) -> Result<(), ModelError> {
        if self.fault == "takes every end for a finish" {
            self.finish("stop", out);
            return Ok(());
        }
        if self.fault == "loses what came" {
            out.push(StreamPart::text_start("1"));
            out.push(StreamPart::text_delta("1", "(interrupted)"));
        }
        Err(ModelError::new(ErrorClass::Incomplete, "the body ends too early"))
    }
}

impl AcmeDecoder {
    fn finish(&mut self, done: &str, out: &mut Parts) {
        if self.open {
            out.push(StreamPart::text_end("0"));
        }
        for call in self.calls.drain(..) {
            out.push(StreamPart::ToolCall(Box::new(call)));
        }
        let unified: UnifiedFinish = serde_json::from_value(done.into()).unwrap_or(UnifiedFinish::Other);
        let finish = Finish { reason: unified.into(), usage: Usage::default(), metadata: None };
        out.push(StreamPart::Finish(Box::new(finish)));
    }
}
