//! Models, events and what comes of them.

use std::sync::Arc;

use ai_http::{Endpoint, HttpModel, Transport};
use ai_openai::{ResponsesCodec, ResponsesDialect};
use ai_provider::{
    ApiKey, CallContext, Delivery, ErrorRecord, Finish, Keys, LanguageModel, Message, ModelError, Request,
    StreamPart, TargetId,
};
use ai_testkit::{Cut, MemoryReply, MemoryTransport, check_order, collect};
use bytes::Bytes;

pub const ENDPOINT: &str = "http://localhost/v1";

pub fn dialect(name: &str) -> ResponsesDialect {
    ResponsesDialect::by_name(name).unwrap()
}

pub fn codec(name: &str) -> ResponsesCodec {
    ResponsesCodec::new(dialect(name), Endpoint::base(ENDPOINT).unwrap())
}

pub fn model(name: &str, transport: impl Transport + 'static) -> Arc<dyn LanguageModel> {
    let target = TargetId::new(name.to_owned(), "m", ENDPOINT);
    let keys = Keys::one(ApiKey::new("sk-secret-of-the-test").unwrap());
    Arc::new(HttpModel::new(codec(name), target, Arc::new(transport)).with_keys(Arc::new(keys)))
}

pub type Outcome = (Vec<StreamPart>, Option<ModelError>);

/// What a model of this dialect makes of a reply to this request. The order rules hold for whatever it is.
pub async fn answer(name: &str, mut request: Request, delivery: Delivery, reply: MemoryReply) -> Outcome {
    let model = model(name, MemoryTransport::new().reply(reply));
    request.delivery = delivery;
    let ctx = CallContext::new().with_request_id("request-1");
    let outcome = collect(model.stream(request, ctx)).await;
    check_order(&outcome.0).unwrap();
    outcome
}

pub async fn run(name: &str, delivery: Delivery, reply: MemoryReply) -> Outcome {
    answer(name, Request::new([Message::user("Hi")]), delivery, reply).await
}

/// What comes of a body, cut like this; the same error in a form that can be compared.
pub async fn decoded(
    name: &str,
    delivery: Delivery,
    body: impl Into<Bytes>,
    cut: Cut,
) -> (Vec<StreamPart>, Option<ErrorRecord>) {
    let (parts, error) = run(name, delivery, MemoryReply::ok(body).cut(cut)).await;
    (parts, error.map(|error| error.record()))
}

/// What comes of a stream, in one piece.
pub async fn stream(name: &str, body: impl Into<Bytes>) -> Outcome {
    run(name, Delivery::Stream, MemoryReply::sse(body)).await
}

/// The parts of a stream that ends well.
pub async fn parts(name: &str, body: impl Into<Bytes>) -> Vec<StreamPart> {
    let (parts, error) = stream(name, body).await;
    assert!(error.is_none(), "{error:?}");
    parts
}

/// What comes of an answer in one body.
pub async fn whole(name: &str, body: impl Into<Bytes>) -> Outcome {
    run(name, Delivery::Whole, MemoryReply::ok(body)).await
}

pub fn text(parts: &[StreamPart]) -> String {
    let texts = parts.iter().filter_map(|part| match part {
        StreamPart::TextDelta { delta, .. } => Some(delta.as_str()),
        _ => None,
    });
    texts.collect()
}

pub fn reasoning(parts: &[StreamPart]) -> String {
    let texts = parts.iter().filter_map(|part| match part {
        StreamPart::ReasoningDelta { delta, .. } => Some(delta.as_str()),
        _ => None,
    });
    texts.collect()
}

/// Id, name and input of the calls.
pub fn calls(parts: &[StreamPart]) -> Vec<(String, String, String)> {
    let calls = parts.iter().filter_map(|part| match part {
        StreamPart::ToolCall(call) => Some((call.id.to_string(), call.name.clone(), call.input.clone())),
        _ => None,
    });
    calls.collect()
}

/// The finish, which must be there.
pub fn finish(parts: &[StreamPart]) -> Finish {
    match parts.last() {
        Some(StreamPart::Finish(finish)) => (**finish).clone(),
        other => panic!("the last part is {other:?}"),
    }
}

/// An event of this JSON, named by its type as servers do it.
pub fn event(json: &str) -> String {
    let value: serde_json::Value = serde_json::from_str(json).unwrap();
    format!("event: {}\ndata: {json}\n\n", value["type"].as_str().unwrap())
}
