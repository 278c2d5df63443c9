#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    missing_docs,
    dead_code,
    unreachable_pub,
    reason = "tests fail by panicking, and no test uses all of this"
)]

pub mod history;

use std::sync::Arc;

use ai_http::{CallInfo, Codec, Endpoint, IdSeed, Transport};
use ai_openai::{ChatCodec, Dialect, OpenAi};
use ai_provider::{
    ApiKey, CallContext, Delivery, LanguageModel, Message, ModelError, Provider, Request, RequestId,
    StreamPart, TargetId, Warning,
};
use ai_testkit::{Cut, MemoryReply, MemoryTransport, check_order, collect};
use bytes::Bytes;
use serde_json::Value;

pub const ENDPOINT: &str = "http://localhost/v1";

pub fn dialect(name: &str) -> Dialect {
    Dialect::by_name(name).unwrap()
}

pub fn model(dialect: Dialect, transport: impl Transport + 'static) -> Arc<dyn LanguageModel> {
    let provider = OpenAi::builder()
        .dialect(dialect)
        .base_url(ENDPOINT)
        .api_key(ApiKey::new("sk-secret-of-the-test").unwrap())
        .transport(Arc::new(transport))
        .build()
        .unwrap();
    provider.language_model("m").unwrap()
}

pub type Outcome = (Vec<StreamPart>, Option<ModelError>);

/// What a model of this dialect makes of a reply. The order rules hold for whatever it is.
pub async fn run(dialect: Dialect, delivery: Delivery, reply: MemoryReply) -> Outcome {
    let model = model(dialect, MemoryTransport::new().reply(reply));
    let mut request = Request::new([Message::user("Hi")]);
    request.delivery = delivery;
    let ctx = CallContext::new().with_request_id("request-1");
    let outcome = collect(model.stream(request, ctx)).await;
    check_order(&outcome.0).unwrap();
    outcome
}

/// What comes of a body, cut like this; the same error in a form that can be compared.
pub async fn decoded(
    dialect: Dialect,
    delivery: Delivery,
    body: impl Into<Bytes>,
    cut: Cut,
) -> (Vec<StreamPart>, Option<ai_provider::ErrorRecord>) {
    let (parts, error) = run(dialect, delivery, MemoryReply::ok(body).cut(cut)).await;
    (parts, error.map(|error| error.record()))
}

/// What comes of a stream, in one piece.
pub async fn stream(name: &str, body: impl Into<Bytes>) -> Outcome {
    run(dialect(name), Delivery::Stream, MemoryReply::sse(body)).await
}

/// What comes of an answer in one body.
pub async fn whole(name: &str, body: impl Into<Bytes>) -> Outcome {
    run(dialect(name), Delivery::Whole, MemoryReply::ok(body)).await
}

/// The body a request becomes, as text, with the warnings.
pub fn encoded(
    dialect: &Dialect,
    model: &str,
    request: &Request,
) -> Result<(String, Vec<Warning>), ModelError> {
    let target = TargetId::new(dialect.name.clone(), model, ENDPOINT);
    let info = CallInfo {
        target: &target,
        account: None,
        delivery: request.delivery,
        ids: IdSeed::new(&RequestId::from("request-1")),
    };
    let codec = ChatCodec::new(dialect.clone(), Endpoint::base(ENDPOINT)?);
    let (call, warnings) = codec.encode(request, &info)?;
    Ok((String::from_utf8(call.body.to_vec()).unwrap(), warnings))
}

/// The body a request becomes, as JSON, without warnings.
pub fn body(name: &str, request: &Request) -> Value {
    let (body, warnings) = encoded(&dialect(name), "m", request).unwrap();
    assert_eq!(warnings, []);
    serde_json::from_str(&body).unwrap()
}

/// The text of the parts.
pub fn text(parts: &[StreamPart]) -> String {
    let texts = parts.iter().filter_map(|part| match part {
        StreamPart::TextDelta { delta, .. } => Some(delta.as_str()),
        _ => None,
    });
    texts.collect()
}

/// The reasoning of the parts.
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
pub fn finish(parts: &[StreamPart]) -> ai_provider::Finish {
    match parts.last() {
        Some(StreamPart::Finish(finish)) => (**finish).clone(),
        other => panic!("the last part is {other:?}"),
    }
}

/// A chunk with this delta.
pub fn ch(delta: &str) -> String {
    format!(
        r#"data: {{"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{{"index":0,"delta":{delta},"finish_reason":null}}]}}"#
    ) + "\n\n"
}

/// A chunk with a piece of a tool call.
pub fn tc(fragment: &str) -> String {
    ch(&format!(r#"{{"tool_calls":[{fragment}]}}"#))
}

/// A chunk with a finish reason.
pub fn fin(reason: &str) -> String {
    ch("{}").replace(r#""finish_reason":null"#, &format!(r#""finish_reason":{reason}"#))
}

/// A frame of this JSON.
pub fn data(json: &str) -> String {
    format!("data: {json}\n\n")
}

pub const DONE: &str = "data: [DONE]\n\n";
