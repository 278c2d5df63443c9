//! What the tests share.

use std::sync::Arc;

use ai_google::GenerateContentCodec;
use ai_http::{CallInfo, Codec, Endpoint, HeaderKey, HttpModel, IdSeed, Transport};
use ai_provider::{
    ApiKey, CallContext, Delivery, ErrorRecord, Finish, JsonObject, Keys, LanguageModel, Message, ModelError,
    Origin, ProviderMetadata, ProviderOptions, Request, RequestId, StreamPart, TargetId, ToolCall,
};
use ai_testkit::{Cut, MemoryReply, MemoryTransport, check_order, collect};
use bytes::Bytes;
use http::HeaderName;
use serde_json::Value;

pub(crate) const ENDPOINT: &str = "http://localhost/v1beta";

pub(crate) fn model(id: &str, transport: impl Transport + 'static) -> Arc<dyn LanguageModel> {
    let codec = GenerateContentCodec::new(Endpoint::base(ENDPOINT).unwrap());
    let model = HttpModel::new(codec, TargetId::new("google", id, ENDPOINT), Arc::new(transport))
        .with_keys(Arc::new(Keys::one(ApiKey::new("AIzaCANARY").unwrap().of_account("one"))))
        .with_authorize(Arc::new(HeaderKey(HeaderName::from_static("x-goog-api-key"))));
    Arc::new(model)
}

pub(crate) type Outcome = (Vec<StreamPart>, Option<ModelError>);

/// What the model makes of a reply. The order rules hold for whatever it is.
pub(crate) async fn run(delivery: Delivery, reply: MemoryReply) -> Outcome {
    let model = model("gemini-3-pro-preview", MemoryTransport::new().reply(reply));
    let mut request = Request::new([Message::user("Hi")]);
    request.delivery = delivery;
    let ctx = CallContext::new().with_request_id("request-1");
    let outcome = collect(model.stream(request, ctx)).await;
    check_order(&outcome.0).unwrap();
    outcome
}

/// What comes of a body, cut like this; the same error in a form that can be compared.
pub(crate) async fn decoded(
    delivery: Delivery,
    body: impl Into<Bytes>,
    cut: Cut,
) -> (Vec<StreamPart>, Option<ErrorRecord>) {
    let (parts, error) = run(delivery, MemoryReply::ok(body).cut(cut)).await;
    (parts, error.map(|error| error.record()))
}

/// What comes of a stream, in one piece.
pub(crate) async fn stream(body: impl Into<Bytes>) -> Outcome {
    run(Delivery::Stream, MemoryReply::sse(body)).await
}

/// The parts of a stream that succeeds.
pub(crate) async fn good(body: impl Into<Bytes>) -> Vec<StreamPart> {
    let (parts, error) = stream(body).await;
    assert!(error.is_none(), "{error:?}");
    parts
}

/// What comes of an answer in one body.
pub(crate) async fn whole(body: impl Into<Bytes>) -> Outcome {
    run(Delivery::Whole, MemoryReply::ok(body)).await
}

/// The text of the parts.
pub(crate) fn text(parts: &[StreamPart]) -> String {
    let texts = parts.iter().filter_map(|part| match part {
        StreamPart::TextDelta { delta, .. } => Some(delta.as_str()),
        _ => None,
    });
    texts.collect()
}

/// The reasoning of the parts.
pub(crate) fn reasoning(parts: &[StreamPart]) -> String {
    let texts = parts.iter().filter_map(|part| match part {
        StreamPart::ReasoningDelta { delta, .. } => Some(delta.as_str()),
        _ => None,
    });
    texts.collect()
}

pub(crate) fn tool_calls(parts: &[StreamPart]) -> Vec<ToolCall> {
    let calls = parts.iter().filter_map(|part| match part {
        StreamPart::ToolCall(call) => Some((**call).clone()),
        _ => None,
    });
    calls.collect()
}

/// Name and input of the calls.
pub(crate) fn calls(parts: &[StreamPart]) -> Vec<(String, String)> {
    tool_calls(parts).into_iter().map(|call| (call.name, call.input)).collect()
}

/// The streamed input of the calls, whole or not, by name.
pub(crate) fn inputs(parts: &[StreamPart]) -> Vec<(String, String)> {
    let mut inputs: Vec<(String, String, String)> = Vec::new();
    for part in parts {
        match part {
            StreamPart::ToolInputStart { id, tool_name, .. } => {
                inputs.push((id.to_string(), tool_name.clone(), String::new()));
            }
            StreamPart::ToolInputDelta { id, delta } => {
                inputs.iter_mut().find(|(known, ..)| *id == known.as_str()).unwrap().2.push_str(delta);
            }
            _ => {}
        }
    }
    inputs.into_iter().map(|(_, name, input)| (name, input)).collect()
}

pub(crate) fn values(metadata: &Option<Box<ProviderMetadata>>) -> JsonObject {
    metadata.as_ref().and_then(|metadata| metadata.get("google").cloned()).unwrap_or_default()
}

pub(crate) fn signature(metadata: &Option<Box<ProviderMetadata>>) -> Option<String> {
    values(metadata).get("thoughtSignature").map(|value| value.as_str().unwrap().to_owned())
}

/// The finish, which must be there.
pub(crate) fn finish(parts: &[StreamPart]) -> Finish {
    match parts.last() {
        Some(StreamPart::Finish(finish)) => (**finish).clone(),
        other => panic!("the last part is {other:?}"),
    }
}

/// Unified and raw reason.
pub(crate) fn reason(parts: &[StreamPart]) -> (&'static str, String) {
    let reason = finish(parts).reason;
    (reason.unified.as_str(), reason.raw.unwrap())
}

/// A frame of this JSON.
pub(crate) fn data(json: &str) -> String {
    format!("data: {json}\n\n")
}

/// A frame with these parts.
pub(crate) fn gm(parts: &str) -> String {
    data(&format!(r#"{{"candidates":[{{"content":{{"role":"model","parts":{parts}}}}}]}}"#))
}

/// The last frame, with these parts and this reason.
pub(crate) fn end(parts: &str, reason: &str) -> String {
    data(&format!(
        r#"{{"candidates":[{{"content":{{"role":"model","parts":{parts}}},"finishReason":"{reason}"}}]}}"#
    ))
}

pub(crate) fn stop() -> String {
    end("[]", "STOP")
}

/// The body a request becomes for a model, as text, with the warnings.
pub(crate) fn encoded(model: &str, request: &Request) -> Result<(String, Vec<String>), ModelError> {
    let target = TargetId::new("google", model, ENDPOINT);
    let account = ai_provider::Account::from("one");
    let info = CallInfo {
        target: &target,
        account: Some(&account),
        delivery: request.delivery,
        ids: IdSeed::new(&RequestId::from("request-1")),
    };
    let codec = GenerateContentCodec::new(Endpoint::base(ENDPOINT)?);
    let (call, warnings) = codec.encode(request, &info)?;
    let warnings = warnings.iter().map(ToString::to_string).collect();
    Ok((String::from_utf8(call.body.to_vec()).unwrap(), warnings))
}

/// The body a request becomes, as JSON, with the warnings.
pub(crate) fn warned(model: &str, request: &Request) -> (Value, Vec<String>) {
    let (body, warnings) = encoded(model, request).unwrap();
    (serde_json::from_str(&body).unwrap(), warnings)
}

/// The body a request becomes, as JSON, without warnings.
pub(crate) fn body(model: &str, request: &Request) -> Value {
    let (body, warnings) = warned(model, request);
    assert_eq!(warnings, [""; 0]);
    body
}

/// Who mints what a model of this name answers here.
pub(crate) fn origin(model: &str) -> Origin {
    Origin { target: TargetId::new("google", model, ENDPOINT), account: Some("one".into()) }
}

pub(crate) fn minted(model: &str, name: &str, value: Value) -> Option<Box<ProviderMetadata>> {
    let values = ProviderOptions::default().with("google", name, value);
    Some(Box::new(ProviderMetadata::minted(origin(model), values)))
}
