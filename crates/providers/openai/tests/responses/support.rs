//! Models, events and what comes of them.

use std::sync::Arc;

use ai_http::{CallInfo, Codec, Endpoint, HttpModel, IdSeed, Transport};
use ai_openai::{ResponsesCodec, ResponsesDialect};
use ai_provider::{
    Account, ApiKey, CallContext, Delivery, ErrorRecord, Finish, JsonObject, Keys, LanguageModel, Message,
    ModelError, Request, RequestId, StreamPart, TargetId, Warning,
};
use ai_testkit::{Cut, MemoryReply, MemoryTransport, check_order, collect, fold};
use bytes::Bytes;
use serde_json::{Value, json};

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

/// The body a request becomes, as text, with the warnings.
pub fn encoded(name: &str, model: &str, request: &Request) -> Result<(String, Vec<Warning>), ModelError> {
    let target = TargetId::new(name.to_owned(), model, ENDPOINT);
    let account = account();
    let info = CallInfo {
        target: &target,
        account: Some(&account),
        delivery: request.delivery,
        ids: IdSeed::new(&RequestId::from("request-1")),
    };
    let (call, warnings) = codec(name).encode(request, &info)?;
    Ok((String::from_utf8(call.body.to_vec()).unwrap(), warnings))
}

/// The account of the key that [`model`] uses.
pub fn account() -> Account {
    ApiKey::new("sk-secret-of-the-test").unwrap().account().clone()
}

/// The body of a request as JSON, and what was warned of.
pub fn sent(name: &str, model: &str, request: &Request) -> (Value, Vec<String>) {
    let (body, warnings) = encoded(name, model, request).unwrap();
    (serde_json::from_str(&body).unwrap(), warnings.iter().map(ToString::to_string).collect())
}

/// The same where nothing is to be warned of.
pub fn body(name: &str, request: &Request) -> Value {
    let (body, warnings) = sent(name, "m", request);
    assert_eq!(warnings, [""; 0]);
    body
}

/// What a model of this name answered in this stream, as a message of a history.
pub async fn said(name: &str, body: impl Into<Bytes>) -> Message {
    let model = model(name, MemoryTransport::new().reply(MemoryReply::sse(body)));
    let (answer, error) = fold(model.stream(Request::new([Message::user("Hi")]), CallContext::new())).await;
    assert!(error.is_none(), "{error:?}");
    Message::Assistant(answer.message)
}

pub fn events(list: &[Value]) -> String {
    list.iter().map(|json| event(&json.to_string())).collect()
}

pub fn created() -> Value {
    json!({"type": "response.created", "response": {
        "id": "resp_1", "object": "response", "created_at": 7, "model": "m-1", "status": "in_progress",
    }})
}

/// The first event of a response that the server keeps.
pub fn kept() -> Value {
    let mut created = created();
    created["response"]["store"] = true.into();
    created
}

pub fn added(index: usize, item: Value) -> Value {
    json!({"type": "response.output_item.added", "output_index": index, "item": item})
}

pub fn done(index: usize, item: Value) -> Value {
    json!({"type": "response.output_item.done", "output_index": index, "item": item})
}

/// A delta of this kind for the item of this index and id.
pub fn delta(kind: &str, index: usize, id: &str, text: &str) -> Value {
    json!({
        "type": format!("response.{kind}.delta"), "output_index": index, "item_id": id,
        "content_index": 0, "summary_index": 0, "delta": text,
    })
}

pub fn completed() -> Value {
    json!({"type": "response.completed", "response": {
        "id": "resp_1", "status": "completed", "model": "m-1", "output": [],
        "usage": {"input_tokens": 3, "output_tokens": 2, "total_tokens": 5},
    }})
}

pub fn incomplete(reason: &str) -> Value {
    json!({"type": "response.incomplete", "response": {
        "id": "resp_1", "status": "incomplete", "incomplete_details": {"reason": reason},
        "usage": {"input_tokens": 3, "output_tokens": 2},
    }})
}

/// A message item that is done.
pub fn message(id: &str, text: &str) -> Value {
    json!({"type": "message", "id": id, "role": "assistant", "status": "completed",
        "content": [{"type": "output_text", "text": text, "annotations": []}]})
}

pub fn function_call(id: &str, call_id: &str, name: &str, arguments: &str) -> Value {
    json!({"type": "function_call", "id": id, "call_id": call_id, "name": name, "arguments": arguments,
        "status": "completed"})
}

/// The events of a call: begun, in pieces, done.
pub fn called(index: usize, id: &str, call_id: &str, name: &str, pieces: &[&str]) -> Vec<Value> {
    let mut list = vec![added(index, function_call(id, call_id, name, ""))];
    list.extend(pieces.iter().map(|piece| delta("function_call_arguments", index, id, piece)));
    list.push(done(index, function_call(id, call_id, name, &pieces.concat())));
    list
}

/// The metadata of a part under the name of its provider.
pub fn values<'a>(metadata: &'a Option<Box<ai_provider::ProviderMetadata>>, name: &str) -> &'a JsonObject {
    metadata.as_ref().unwrap().get(name).unwrap()
}
