//! A small API of our own, so that these tests depend on no provider's wire.
//!
//! Each event is a JSON object with any of `text`, `usage`, `reason` (the answer is over but for its
//! usage), `finish` (it is over) and `error`; `[DONE]` ends the trailing events.

use std::sync::Arc;
use std::time::Duration;

use ai_http::{
    CallInfo, Codec, Decoder, End, Event, Framing, HttpCall, HttpModel, Next, Parts, Transport,
    class_of_status, error_of_response, excerpt,
};
use ai_provider::{
    CallContext, Delivery, ErrorClass, Finish, FinishReason, LanguageModel, Message, ModelError, Request,
    StreamPart, TargetId, UnifiedFinish, Usage, Warning,
};
use ai_testkit::collect;
use http::{HeaderMap, StatusCode};
use serde_json::{Value, json};

pub(crate) const URL: &str = "http://api.test/v1/chat";

/// How long trailing events are awaited.
pub(crate) const TRAILING: Duration = Duration::from_secs(2);

pub(crate) struct Api {
    pub(crate) url: String,
    pub(crate) framing: fn() -> Framing,
}

impl Api {
    pub(crate) fn at(url: impl Into<String>) -> Self {
        Self { url: url.into(), framing: || Framing::Sse }
    }
}

impl Codec for Api {
    fn encode(&self, request: &Request, info: &CallInfo<'_>) -> Result<(HttpCall, Vec<Warning>), ModelError> {
        if request.messages.is_empty() {
            return Err(ModelError::new(ErrorClass::InvalidRequest, "there is no message"));
        }
        let body =
            json!({"model": info.target.model, "account": info.account.map(|account| account.as_str())});
        Ok((HttpCall::post_json(&self.url, &body)?, vec![Warning::other("test api")]))
    }

    fn framing(&self, delivery: Delivery) -> Framing {
        match delivery {
            Delivery::Stream => (self.framing)(),
            Delivery::Whole => Framing::Whole,
        }
    }

    fn decoder(&self, _: &CallInfo<'_>) -> Box<dyn Decoder> {
        Box::new(Reader::default())
    }

    fn error(&self, status: StatusCode, _: &HeaderMap, excerpt: &[u8]) -> ModelError {
        error_of_response(status, excerpt)
    }
}

#[derive(Default)]
struct Reader {
    open: bool,
    reason: Option<String>,
    usage: Usage,
}

impl Reader {
    fn finish(&mut self, raw: &str, out: &mut Parts) {
        if std::mem::take(&mut self.open) {
            out.push(StreamPart::text_end("0"));
        }
        let reason = FinishReason::new(UnifiedFinish::Stop, raw);
        let finish = Finish { reason, usage: self.usage.clone(), metadata: None };
        out.push(StreamPart::Finish(finish.into()));
    }

    fn text(&mut self, text: &str, out: &mut Parts) {
        if !std::mem::replace(&mut self.open, true) {
            out.push(StreamPart::text_start("0"));
        }
        out.push(StreamPart::text_delta("0", text));
    }
}

impl Decoder for Reader {
    fn event(&mut self, event: Event<'_>, out: &mut Parts) -> Result<Next, ModelError> {
        if event.data == "[DONE]" {
            return match self.reason.take() {
                Some(reason) => {
                    self.finish(&reason, out);
                    Ok(Next::Done)
                }
                None => Err(ModelError::new(ErrorClass::Incomplete, "the end came without a reason")),
            };
        }
        let value: Value = serde_json::from_str(event.data)
            .map_err(|error| ModelError::new(ErrorClass::Protocol, "not JSON").with_source(error))?;
        if let Some(text) = value["text"].as_str() {
            self.text(text, out);
        }
        if let Some(error) = value.get("error") {
            let status = StatusCode::from_u16(error["code"].as_u64().unwrap_or(500) as u16).unwrap();
            let message = error["message"].as_str().unwrap_or_default();
            // Cut, as codecs do.
            let message = excerpt(message.as_bytes());
            return Err(ModelError::new(class_of_status(status), message).with_status(status.as_u16()));
        }
        if let Some(tokens) = value["usage"].as_u64() {
            self.usage.output.total = Some(tokens);
        }
        if let Some(finish) = value["finish"].as_str() {
            self.finish(finish, out);
            if value["badly"] == "fails" {
                return Err(ModelError::new(ErrorClass::Server, "failed behind the finish"));
            }
            // One that goes on although it is over, and says so twice.
            if value["badly"] == true {
                self.text("behind the finish", out);
                self.finish("again", out);
                return Ok(Next::More);
            }
            return Ok(Next::Done);
        }
        if value["done"] == true {
            return Ok(Next::Done);
        }
        if let Some(reason) = value["reason"].as_str() {
            self.reason = Some(reason.to_owned());
        }
        Ok(if self.reason.is_some() { Next::Trailing(TRAILING) } else { Next::More })
    }

    fn end(&mut self, why: End, out: &mut Parts) -> Result<(), ModelError> {
        match self.reason.take() {
            Some(reason) => {
                self.finish(&format!("{reason} {why:?}"), out);
                Ok(())
            }
            None => Err(ModelError::new(ErrorClass::Incomplete, "no finish came")),
        }
    }
}

pub(crate) fn target() -> TargetId {
    TargetId::new("test", "small", "http://api.test/v1")
}

pub(crate) fn model(transport: impl Transport + 'static) -> HttpModel<Api> {
    HttpModel::new(Api::at(URL), target(), Arc::new(transport))
}

pub(crate) fn request() -> Request {
    Request::new([Message::user("hello")])
}

/// `data:` frames of these JSON objects.
pub(crate) fn frames(events: &[&str]) -> String {
    events.iter().map(|event| format!("data: {event}\n\n")).collect()
}

/// What a call gave: its text, the raw finish reason, the error.
pub(crate) type Outcome = (String, Option<String>, Option<ModelError>);

pub(crate) async fn call(model: &impl LanguageModel) -> Outcome {
    call_with(model, request(), CallContext::new()).await
}

pub(crate) async fn call_with(model: &impl LanguageModel, request: Request, ctx: CallContext) -> Outcome {
    let (parts, error) = collect(model.stream(request, ctx)).await;
    let (text, finish) = read(&parts);
    (text, finish, error)
}

pub(crate) fn read(parts: &[StreamPart]) -> (String, Option<String>) {
    let text = parts.iter().filter_map(|part| match part {
        StreamPart::TextDelta { delta, .. } => Some(delta.as_str()),
        _ => None,
    });
    let mut finishes = parts.iter().filter_map(|part| match part {
        StreamPart::Finish(finish) => finish.reason.raw.clone(),
        _ => None,
    });
    let finish = finishes.next();
    assert_eq!(finishes.next(), None, "one finish at most");
    (text.collect(), finish)
}

/// A shorthand for an outcome: text, finish, class.
pub(crate) fn brief(outcome: &Outcome) -> (&str, Option<&str>, Option<ErrorClass>) {
    (&outcome.0, outcome.1.as_deref(), outcome.2.as_ref().map(ModelError::class))
}
