//! Models, bodies and what comes of them.

pub mod history;

use std::sync::Arc;

use ai_anthropic::{Anthropic, MessagesCodec};
use ai_http::{CallInfo, Codec, Endpoint, HttpCall, IdSeed, Transport};
use ai_provider::{
    Account, ApiKey, CallContext, Delivery, ErrorRecord, Finish, LanguageModel, Message, ModelError,
    Provider, Request, RequestId, StreamPart, TargetId, Warning,
};
use ai_testkit::{Cut, MemoryReply, MemoryTransport, check_order, collect};
use bytes::Bytes;
use serde_json::Value;

pub const ENDPOINT: &str = "http://localhost/v1";
/// A model that takes nearly everything.
pub const MODEL: &str = "claude-sonnet-4-6";

pub fn model(id: &str, transport: impl Transport + 'static) -> Arc<dyn LanguageModel> {
    let provider = Anthropic::builder()
        .base_url(ENDPOINT)
        .api_key(ApiKey::new("sk-secret-of-the-test").unwrap())
        .transport(Arc::new(transport))
        .build()
        .unwrap();
    provider.language_model(id).unwrap()
}

pub type Outcome = (Vec<StreamPart>, Option<ModelError>);

/// What a model makes of a reply to this request. The order rules hold for whatever it is.
pub async fn answer(id: &str, mut request: Request, delivery: Delivery, reply: MemoryReply) -> Outcome {
    request.delivery = delivery;
    let model = model(id, MemoryTransport::new().reply(reply));
    let ctx = CallContext::new().with_request_id("request-1");
    let outcome = collect(model.stream(request, ctx)).await;
    check_order(&outcome.0).unwrap();
    outcome
}

pub async fn run(delivery: Delivery, reply: MemoryReply) -> Outcome {
    answer(MODEL, Request::new([Message::user("Hi")]), delivery, reply).await
}

/// What comes of a body, cut like this; the error in a form that can be compared.
pub async fn decoded(
    delivery: Delivery,
    body: impl Into<Bytes>,
    cut: Cut,
) -> (Vec<StreamPart>, Option<ErrorRecord>) {
    let (parts, error) = run(delivery, MemoryReply::ok(body).cut(cut)).await;
    (parts, error.map(|error| error.record()))
}

/// What comes of a stream, in one piece.
pub async fn stream(body: impl Into<Bytes>) -> Outcome {
    run(Delivery::Stream, MemoryReply::sse(body)).await
}

/// What comes of a stream that must not fail.
pub async fn streamed(body: impl Into<Bytes>) -> Vec<StreamPart> {
    let (parts, error) = stream(body).await;
    assert!(error.is_none(), "{error:?}");
    parts
}

/// What comes of an answer in one body.
pub async fn whole(body: impl Into<Bytes>) -> Outcome {
    run(Delivery::Whole, MemoryReply::ok(body)).await
}

/// The call a request becomes, with the warnings.
pub fn encoded(id: &str, request: &Request) -> Result<(HttpCall, Vec<Warning>), ModelError> {
    let target = TargetId::new("anthropic", id, ENDPOINT);
    let account = Account::from("key");
    let info = CallInfo {
        target: &target,
        account: Some(&account),
        delivery: request.delivery,
        ids: IdSeed::new(&RequestId::from("request-1")),
    };
    MessagesCodec::new(Endpoint::base(ENDPOINT)?).encode(request, &info)
}

pub fn json(call: &HttpCall) -> Value {
    serde_json::from_slice(&call.body).unwrap()
}

/// The body a request becomes, without warnings.
pub fn body(id: &str, request: &Request) -> Value {
    let (call, warnings) = encoded(id, request).unwrap();
    assert_eq!(warnings, []);
    json(&call)
}

/// The body, and what was warned of.
pub fn warned(id: &str, request: &Request) -> (Value, Vec<String>) {
    let (call, warnings) = encoded(id, request).unwrap();
    (json(&call), warnings.iter().map(ToString::to_string).collect())
}

/// What a call asks for besides what is generally available.
pub fn betas(id: &str, request: &Request) -> Vec<String> {
    let (call, _) = encoded(id, request).unwrap();
    let header = call.headers.get("anthropic-beta").map(|value| value.to_str().unwrap());
    header.unwrap_or_default().split(',').filter(|beta| !beta.is_empty()).map(str::to_owned).collect()
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

/// One call, in the form of [`calls`].
pub fn called(id: &str, name: &str, input: &str) -> (String, String, String) {
    (id.to_owned(), name.to_owned(), input.to_owned())
}

/// The input as it came in pieces.
pub fn pieces(parts: &[StreamPart], call: &str) -> String {
    let pieces = parts.iter().filter_map(|part| match part {
        StreamPart::ToolInputDelta { id, delta } if id == call => Some(delta.as_str()),
        _ => None,
    });
    pieces.collect()
}

/// The finish, which must be there.
pub fn finish(parts: &[StreamPart]) -> Finish {
    match parts.last() {
        Some(StreamPart::Finish(finish)) => (**finish).clone(),
        other => panic!("the last part is {other:?}"),
    }
}

/// An event, named by its type.
pub fn an(json: &str) -> String {
    let kind = serde_json::from_str::<Value>(json).unwrap()["type"].as_str().unwrap().to_owned();
    format!("event: {kind}\ndata: {json}\n\n")
}

/// The start of a message.
pub fn start() -> String {
    an(
        r#"{"type":"message_start","message":{"id":"m1","type":"message","role":"assistant","content":[],"model":"m","stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":25,"output_tokens":1}}}"#,
    )
}

/// The start of a block.
pub fn block(index: u32, block: &str) -> String {
    an(&format!(r#"{{"type":"content_block_start","index":{index},"content_block":{block}}}"#))
}

/// A delta of a block.
pub fn delta(index: u32, delta: &str) -> String {
    an(&format!(r#"{{"type":"content_block_delta","index":{index},"delta":{delta}}}"#))
}

/// The end of a block.
pub fn stop(index: u32) -> String {
    an(&format!(r#"{{"type":"content_block_stop","index":{index}}}"#))
}

/// A block of text in one delta.
pub fn text_block(index: u32, text: &str) -> String {
    let text = Value::from(text);
    [
        block(index, r#"{"type":"text","text":""}"#),
        delta(index, &format!(r#"{{"type":"text_delta","text":{text}}}"#)),
        stop(index),
    ]
    .concat()
}

/// A call with its input in these pieces.
pub fn tool_block(index: u32, id: &str, name: &str, pieces: &[&str]) -> String {
    let begin = block(index, &format!(r#"{{"type":"tool_use","id":"{id}","name":"{name}","input":{{}}}}"#));
    let pieces: String = pieces.iter().map(|piece| input(index, piece)).collect();
    [begin, pieces, stop(index)].concat()
}

/// A piece of the input of a call.
pub fn input(index: u32, piece: &str) -> String {
    delta(index, &format!(r#"{{"type":"input_json_delta","partial_json":{}}}"#, Value::from(piece)))
}

/// The end of a message for this reason.
pub fn end(reason: &str) -> String {
    let progress = format!(
        r#"{{"type":"message_delta","delta":{{"stop_reason":"{reason}","stop_sequence":null}},"usage":{{"output_tokens":15}}}}"#
    );
    [an(&progress), an(r#"{"type":"message_stop"}"#)].concat()
}
