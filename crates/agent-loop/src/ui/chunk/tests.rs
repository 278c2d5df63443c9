use std::collections::BTreeSet;

use serde_json::json;

use super::*;

/// Each chunk of level 7 with no optional field and with all, one a line.
const GOLDEN: &str = include_str!("../../../tests/golden/level-7.jsonl");

fn metadata() -> Metadata {
    Some(Box::new(ProviderOptions::default().with("acme", "seal", json!("s"))))
}

fn tool_metadata() -> Option<Box<JsonObject>> {
    Some(Box::new(JsonObject::from_iter([("icon".to_owned(), json!("globe"))])))
}

fn text(text: &str) -> Option<String> {
    Some(text.to_owned())
}

/// The golden chunks, in the order of the file.
fn chunks() -> Vec<UiChunk> {
    let bare = [UiChunk::StartStep, UiChunk::FinishStep, UiChunk::ResetStep];
    let denied = UiChunk::ToolOutputDenied { tool_call_id: "c1".into() };
    let both =
        [false, true].map(|full| [frame(full), blocks(full), pieces(full), inputs(full), outputs(full)]);
    both.into_iter().flatten().flatten().chain(bare).chain([denied]).collect()
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
        UiChunk::TextEnd { id: id.clone(), provider_metadata: provider_metadata.clone() },
        UiChunk::ReasoningStart { id: id.clone(), provider_metadata: provider_metadata.clone() },
        UiChunk::ReasoningDelta { id: id.clone(), delta, provider_metadata: provider_metadata.clone() },
        UiChunk::ReasoningEnd { id, provider_metadata },
    ]
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

/// The types there are: a new one does not compile before it has a golden line.
fn golden_type(chunk: &UiChunk) -> &'static str {
    match chunk {
        UiChunk::Start { .. } => "start",
        UiChunk::StartStep => "start-step",
        UiChunk::FinishStep => "finish-step",
        UiChunk::ResetStep => "reset-step",
        UiChunk::Finish { .. } => "finish",
        UiChunk::Abort { .. } => "abort",
        UiChunk::Error { .. } => "error",
        UiChunk::MessageMetadata { .. } => "message-metadata",
        UiChunk::TextStart { .. } => "text-start",
        UiChunk::TextDelta { .. } => "text-delta",
        UiChunk::TextEnd { .. } => "text-end",
        UiChunk::ReasoningStart { .. } => "reasoning-start",
        UiChunk::ReasoningDelta { .. } => "reasoning-delta",
        UiChunk::ReasoningEnd { .. } => "reasoning-end",
        UiChunk::Custom { .. } => "custom",
        UiChunk::SourceUrl { .. } => "source-url",
        UiChunk::SourceDocument { .. } => "source-document",
        UiChunk::File { .. } => "file",
        UiChunk::ReasoningFile { .. } => "reasoning-file",
        UiChunk::Data(_) => "data-weather",
        UiChunk::ToolInputStart { .. } => "tool-input-start",
        UiChunk::ToolInputDelta { .. } => "tool-input-delta",
        UiChunk::ToolInputAvailable { .. } => "tool-input-available",
        UiChunk::ToolInputError { .. } => "tool-input-error",
        UiChunk::ToolApprovalRequest { .. } => "tool-approval-request",
        UiChunk::ToolApprovalResponse { .. } => "tool-approval-response",
        UiChunk::ToolOutputAvailable { .. } => "tool-output-available",
        UiChunk::ToolOutputError { .. } => "tool-output-error",
        UiChunk::ToolOutputDenied { .. } => "tool-output-denied",
    }
}

/// [AL-1] [AL-2]
#[test]
fn every_type_has_its_golden_form() {
    let mut types = BTreeSet::new();
    let (chunks, lines) = (chunks(), GOLDEN.lines().collect::<Vec<_>>());
    for (chunk, line) in chunks.iter().zip(&lines) {
        assert_eq!(serde_json::to_string(chunk).unwrap(), *line);
        assert_eq!(serde_json::from_str::<UiChunk>(line).unwrap(), *chunk);
        let value: Value = serde_json::from_str(line).unwrap();
        assert_eq!(value["type"], golden_type(chunk));
        types.insert(golden_type(chunk));
    }
    assert_eq!((chunks.len(), types.len()), (lines.len(), 29));
}

/// [AL-3]
#[test]
fn reading_is_tolerant_of_fields_alone() {
    let read = |json: &str| serde_json::from_str::<UiChunk>(json);
    let refused = |json: &str| read(json).unwrap_err().to_string();
    assert_eq!(read(r#"{"new":[1],"type":"start-step","x":{}}"#).unwrap(), UiChunk::StartStep);
    let delta = read(r#"{"type":"text-delta","delta":"x","citations":[],"id":"1"}"#).unwrap();
    assert_eq!(golden_type(&delta), "text-delta");
    // JSON of another language leaves out what it does not know.
    let available = read(r#"{"type":"tool-input-available","toolCallId":"c","toolName":"t"}"#).unwrap();
    assert!(matches!(available, UiChunk::ToolInputAvailable { input: Value::Null, .. }));

    assert!(refused(r#"{"type":"steering","id":"1"}"#).contains("unknown variant `steering`"));
    assert!(refused(r#"{"id":"1"}"#).contains("missing field `type`"));
    assert!(refused(r#"{"type":"text-delta","id":"1"}"#).contains("missing field `delta`"));
    assert!(refused(r#"{"type":"text-delta","id":"1","delta":5}"#).contains("expected a string"));
    assert!(refused(r#"{"type":"finish","finishReason":"tired"}"#).contains("unknown variant `tired`"));
    assert!(refused(r#"{"type":"data"}"#).contains("unknown variant `data`"));
    assert!(refused(r#"{"type":7}"#).contains("invalid type"));
    assert!(refused(r#""start-step""#).contains("invalid type"));
}

/// [AL-4]
#[test]
fn data_of_any_name() {
    for name in ["weather", "", "data-data", "über uns", "\"quoted\""] {
        let chunk = UiChunk::Data(DataChunk {
            name: name.to_owned(),
            id: text("1"),
            data: json!({"type": "inner", "id": 2}),
            transient: Some(true),
        });
        let json = serde_json::to_value(&chunk).unwrap();
        assert_eq!(json["type"], format!("data-{name}"));
        assert_eq!(serde_json::from_value::<UiChunk>(json).unwrap(), chunk);
    }
    let wrong = serde_json::from_str::<UiChunk>(r#"{"type":"data-x","transient":"yes"}"#).unwrap_err();
    assert!(wrong.to_string().contains("expected a boolean"), "{wrong}");
}
