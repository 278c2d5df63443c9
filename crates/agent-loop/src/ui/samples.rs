//! Each chunk with no optional field and with all.

use std::collections::BTreeMap;

use ai_provider::{Id, JsonObject, ProviderOptions};
use serde_json::{Value, json};

use super::{DataChunk, UiChunk, UiFinishReason, UiInputEncoding, UiUserPart};

fn metadata() -> Option<Box<ProviderOptions>> {
    Some(Box::new(ProviderOptions::default().with("acme", "seal", json!("s"))))
}

fn tool_metadata() -> Option<Box<JsonObject>> {
    Some(Box::new(JsonObject::from_iter([("icon".to_owned(), json!("globe"))])))
}

pub(super) fn text(text: &str) -> Option<String> {
    Some(text.to_owned())
}

pub(crate) fn chunks() -> Vec<UiChunk> {
    let bare = [UiChunk::StartStep, UiChunk::FinishStep, UiChunk::ResetStep];
    let denied = UiChunk::ToolOutputDenied { tool_call_id: "c1".into() };
    let interrupted =
        UiChunk::Finish { finish_reason: Some(UiFinishReason::Interrupted), message_metadata: None };
    let both = [false, true]
        .map(|full| [frame(full), blocks(full), pieces(full), inputs(full), outputs(full), steering(full)]);
    both.into_iter().flatten().flatten().chain(bare).chain([denied, interrupted]).collect()
}

fn frame(full: bool) -> Vec<UiChunk> {
    let some = |value: Value| full.then_some(value);
    vec![
        UiChunk::Start {
            message_id: full.then(|| "m1".to_owned()),
            message_metadata: some(json!({"at": 1})),
        },
        UiChunk::Finish {
            finish_reason: full.then_some(UiFinishReason::ToolCalls),
            message_metadata: some(json!({"tokens": 7})),
        },
        UiChunk::Abort { reason: full.then(|| "stopped".to_owned()) },
        UiChunk::Error { error_text: "Something went wrong.".to_owned() },
        UiChunk::MessageMetadata { message_metadata: json!({"usage": {"input": 3}}) },
    ]
}

fn blocks(full: bool) -> Vec<UiChunk> {
    let provider_metadata = if full { metadata() } else { None };
    let (id, delta) = (Id::from("t1"), "Hi \"you\"\n".to_owned());
    vec![
        UiChunk::TextStart { id: id.clone(), provider_metadata: provider_metadata.clone() },
        UiChunk::TextDelta {
            id: id.clone(),
            delta: delta.clone(),
            provider_metadata: provider_metadata.clone(),
        },
        UiChunk::TextEnd {
            id: id.clone(),
            citations: full.then(|| vec![citation()]),
            provider_metadata: provider_metadata.clone(),
        },
        UiChunk::ReasoningStart { id: id.clone(), provider_metadata: provider_metadata.clone() },
        UiChunk::ReasoningDelta { id: id.clone(), delta, provider_metadata: provider_metadata.clone() },
        UiChunk::ReasoningEnd { id, provider_metadata },
    ]
}

fn citation() -> Value {
    let source = json!({"type": "source", "sourceType": "url", "id": "s1", "url": "https://example.com/"});
    json!({"source": source, "startIndex": 0, "endIndex": 2})
}

fn pieces(full: bool) -> Vec<UiChunk> {
    let provider_metadata = if full { metadata() } else { None };
    let url = "data:image/png;base64,cG5n".to_owned();
    let media_type = "image/png".to_owned();
    vec![
        UiChunk::Custom { kind: "acme.note".to_owned(), provider_metadata: provider_metadata.clone() },
        UiChunk::SourceUrl {
            source_id: "s1".into(),
            url: "https://example.com/".to_owned(),
            title: if full { text("Example") } else { None },
            provider_metadata: provider_metadata.clone(),
        },
        UiChunk::SourceDocument {
            source_id: "s2".into(),
            media_type: "application/pdf".to_owned(),
            title: "Report".to_owned(),
            filename: if full { text("report.pdf") } else { None },
            provider_metadata: provider_metadata.clone(),
        },
        UiChunk::File {
            url: url.clone(),
            media_type: media_type.clone(),
            provider_metadata: provider_metadata.clone(),
        },
        UiChunk::ReasoningFile { url, media_type, provider_metadata },
        UiChunk::Data(DataChunk {
            name: "weather".to_owned(),
            id: if full { text("d1") } else { None },
            data: json!({"city": "Oslo"}),
            transient: full.then_some(false),
        }),
    ]
}

fn inputs(full: bool) -> Vec<UiChunk> {
    let provider_metadata = if full { metadata() } else { None };
    let tool_metadata = if full { tool_metadata() } else { None };
    let title = if full { text("Search") } else { None };
    let (provider_executed, dynamic) = (full.then_some(false), full.then_some(true));
    let (tool_call_id, tool_name) = (Id::from("c1"), "search".to_owned());
    vec![
        UiChunk::ToolInputStart {
            tool_call_id: tool_call_id.clone(),
            tool_name: tool_name.clone(),
            input_encoding: full.then_some(UiInputEncoding::Json),
            provider_executed,
            dynamic,
            title: title.clone(),
            tool_metadata: tool_metadata.clone(),
            provider_metadata: provider_metadata.clone(),
        },
        UiChunk::ToolInputDelta {
            tool_call_id: tool_call_id.clone(),
            input_text_delta: "{\"q\":".to_owned(),
        },
        UiChunk::ToolInputAvailable {
            tool_call_id: tool_call_id.clone(),
            tool_name: tool_name.clone(),
            input: json!({"q": "rust"}),
            provider_executed,
            dynamic,
            title: title.clone(),
            tool_metadata: tool_metadata.clone(),
            provider_metadata: provider_metadata.clone(),
        },
        UiChunk::ToolInputError {
            tool_call_id,
            tool_name,
            input: json!("{\"q\":"),
            error_text: "The input is not valid JSON.".to_owned(),
            provider_executed,
            dynamic,
            title,
            tool_metadata,
            provider_metadata,
        },
    ]
}

fn outputs(full: bool) -> Vec<UiChunk> {
    let provider_metadata = if full { metadata() } else { None };
    let tool_metadata = if full { tool_metadata() } else { None };
    let (provider_executed, dynamic) = (full.then_some(true), full.then_some(false));
    let tool_call_id = Id::from("c1");
    vec![
        UiChunk::ToolApprovalRequest {
            approval_id: "a1".into(),
            tool_call_id: tool_call_id.clone(),
            approval_descriptor: full.then(|| json!({"form": "payment"})),
            input_schema_input: full.then_some(Value::Null),
            reason: if full { text("It costs money.") } else { None },
            is_automatic: full.then_some(true),
            signature: if full { text("sig") } else { None },
        },
        UiChunk::ToolApprovalResponse {
            approval_id: "a1".into(),
            approved: !full,
            reason: if full { text("too risky") } else { None },
            provider_executed,
            provider_metadata: provider_metadata.clone(),
        },
        UiChunk::ToolOutputAvailable {
            tool_call_id: tool_call_id.clone(),
            output: json!([1, null, 2.5]),
            preliminary: full.then_some(true),
            provider_executed,
            dynamic,
            tool_metadata: tool_metadata.clone(),
            provider_metadata: provider_metadata.clone(),
        },
        UiChunk::ToolOutputError {
            tool_call_id,
            error_text: "Something went wrong.".to_owned(),
            provider_executed,
            dynamic,
            tool_metadata,
            provider_metadata,
        },
    ]
}

fn steering(full: bool) -> Vec<UiChunk> {
    let provider_metadata = if full { metadata() } else { None };
    let reference = || BTreeMap::from([("acme".to_owned(), "f1".to_owned())]);
    vec![UiChunk::SteeringMessage {
        id: "u2".to_owned(),
        parts: vec![
            UiUserPart::Text { text: "Shorter.".to_owned(), provider_metadata: provider_metadata.clone() },
            UiUserPart::File {
                media_type: "text/plain".to_owned(),
                url: "https://example.com/a.txt".to_owned(),
                filename: if full { text("a.txt") } else { None },
                provider_reference: full.then(reference),
                provider_metadata,
            },
        ],
    }]
}
