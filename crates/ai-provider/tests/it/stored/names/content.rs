use ai_provider::*;
use serde_json::{Value, json};

use super::{attached, attached_json, custom, custom_json, file, file_json, is, options, options_json};
use crate::stored::round_trip::PART_NAMES;

fn call() -> ToolCall {
    ToolCall {
        provider_executed: true,
        dynamic: true,
        metadata: attached(),
        ..ToolCall::new("call_1", "search", r#"{"q":"x"}"#)
    }
}

fn call_json() -> Value {
    json!({
        "type": "tool-call", "toolCallId": "call_1", "toolName": "search", "input": "{\"q\":\"x\"}",
        "providerExecuted": true, "dynamic": true, "providerMetadata": attached_json(),
    })
}

fn result(output: ToolOutput) -> ToolResult {
    ToolResult {
        preliminary: true,
        provider_executed: true,
        dynamic: true,
        options: options(),
        metadata: attached(),
        ..ToolResult::new("call_1", "search", output)
    }
}

fn result_json(output: Value) -> Value {
    json!({
        "type": "tool-result", "toolCallId": "call_1", "toolName": "search", "output": output,
        "preliminary": true, "providerExecuted": true, "dynamic": true, "providerOptions": options_json(),
        "providerMetadata": attached_json(),
    })
}

fn approval() -> ToolApprovalRequest {
    ToolApprovalRequest { approval_id: "ask_1".into(), tool_call_id: "call_1".into() }
}

fn sources() -> [(Source, Value); 2] {
    let url = Source::Url {
        id: "s1".into(),
        url: "https://a.example".into(),
        title: Some("A".into()),
        metadata: attached(),
    };
    let document = Source::Document {
        id: "s2".into(),
        media_type: "application/pdf".into(),
        title: "B".into(),
        filename: Some("b.pdf".into()),
        metadata: None,
    };
    [
        (
            url,
            json!({
                "type": "source", "sourceType": "url", "id": "s1", "url": "https://a.example", "title": "A",
                "providerMetadata": attached_json(),
            }),
        ),
        (
            document,
            json!({
                "type": "source", "sourceType": "document", "id": "s2", "mediaType": "application/pdf",
                "title": "B", "filename": "b.pdf",
            }),
        ),
    ]
}

/// [PV-6, PV-7]
#[test]
fn names_in_messages() {
    let text = TextPart { text: "Hi".into(), options: options(), metadata: attached() };
    let text_json = json!({
        "type": "text", "text": "Hi", "providerOptions": options_json(), "providerMetadata": attached_json(),
    });
    is(
        &Message::System(SystemMessage { text: "Be brief.".into(), options: options() }),
        json!({ "role": "system", "text": "Be brief.", "providerOptions": options_json() }),
    );
    is(
        &Message::User(UserMessage {
            parts: vec![UserPart::Text(text.clone()), UserPart::File(file())],
            options: options(),
        }),
        json!({ "role": "user", "parts": [text_json, file_json("file")], "providerOptions": options_json() }),
    );
    let [(url, url_json), (document, document_json)] = sources();
    let reasoning = ReasoningPart { text: "Hm".into(), options: options(), metadata: attached() };
    is(
        &Message::Assistant(AssistantMessage {
            parts: vec![
                AssistantPart::Reasoning(reasoning),
                AssistantPart::ReasoningFile(file()),
                AssistantPart::Text(text),
                AssistantPart::File(file()),
                AssistantPart::Source(url),
                AssistantPart::Source(document),
                AssistantPart::Custom(custom()),
                AssistantPart::ToolCall(call()),
                AssistantPart::ToolResult(result(ToolOutput::Text("found".into()))),
                AssistantPart::ToolApprovalRequest(approval()),
            ],
            options: options(),
        }),
        json!({ "role": "assistant", "providerOptions": options_json(), "parts": [
            {
                "type": "reasoning", "text": "Hm", "providerOptions": options_json(),
                "providerMetadata": attached_json(),
            },
            file_json("reasoning-file"),
            text_json,
            file_json("file"),
            url_json,
            document_json,
            custom_json(),
            call_json(),
            result_json(json!({ "type": "text", "value": "found" })),
            { "type": "tool-approval-request", "approvalId": "ask_1", "toolCallId": "call_1" },
        ]}),
    );
    let response = ToolApprovalResponse {
        approval_id: "ask_1".into(),
        approved: false,
        reason: Some("too dear".into()),
    };
    is(
        &Message::Tool(ToolMessage {
            parts: vec![
                ToolPart::ToolResult(result(ToolOutput::Json(json!({ "n": 1 })))),
                ToolPart::ToolApprovalResponse(response),
            ],
            options: options(),
        }),
        json!({ "role": "tool", "providerOptions": options_json(), "parts": [
            result_json(json!({ "type": "json", "value": { "n": 1 } })),
            {
                "type": "tool-approval-response", "approvalId": "ask_1", "approved": false,
                "reason": "too dear",
            },
        ]}),
    );
}

/// [PV-6, PV-7]
#[test]
fn names_of_stream_parts() {
    let id = || Id::from("b1");
    let block = |kind: &str| json!({ "type": kind, "id": "b1", "providerMetadata": attached_json() });
    let delta =
        |kind: &str| json!({ "type": kind, "id": "b1", "delta": "x", "providerMetadata": attached_json() });
    let response = ResponseMetadata {
        id: Some("resp_1".into()),
        timestamp: Some(1_700_000_000),
        asked_model: Some("big".into()),
        model: Some("big-2025".into()),
    };
    let finish = Finish {
        reason: FinishReason::new(UnifiedFinish::ToolCalls, "tool_use"),
        usage: Usage::default(),
        metadata: attached(),
    };
    let [(source, source_json), _] = sources();
    let parts = [
        (
            StreamPart::StreamStart { warnings: vec![Warning::other("w")] },
            json!({ "type": "stream-start", "warnings": [{ "type": "other", "message": "w" }] }),
        ),
        (
            StreamPart::ResponseMetadata(Box::new(response)),
            json!({
                "type": "response-metadata", "id": "resp_1", "timestamp": 1_700_000_000_u64,
                "askedModel": "big", "modelId": "big-2025",
            }),
        ),
        (StreamPart::TextStart { id: id(), metadata: attached() }, block("text-start")),
        (StreamPart::TextDelta { id: id(), delta: "x".into(), metadata: attached() }, delta("text-delta")),
        (StreamPart::TextEnd { id: id(), metadata: attached() }, block("text-end")),
        (StreamPart::ReasoningStart { id: id(), metadata: attached() }, block("reasoning-start")),
        (
            StreamPart::ReasoningDelta { id: id(), delta: "x".into(), metadata: attached() },
            delta("reasoning-delta"),
        ),
        (StreamPart::ReasoningEnd { id: id(), metadata: attached() }, block("reasoning-end")),
        (
            StreamPart::ToolInputStart {
                id: id(),
                tool_name: "search".into(),
                provider_executed: true,
                dynamic: true,
                title: Some("Search".into()),
            },
            json!({
                "type": "tool-input-start", "id": "b1", "toolName": "search", "providerExecuted": true,
                "dynamic": true, "title": "Search",
            }),
        ),
        (
            StreamPart::ToolInputDelta { id: id(), delta: "{".into() },
            json!({ "type": "tool-input-delta", "id": "b1", "delta": "{" }),
        ),
        (StreamPart::ToolInputEnd { id: id() }, json!({ "type": "tool-input-end", "id": "b1" })),
        (StreamPart::ToolCall(Box::new(call())), call_json()),
        (
            StreamPart::ToolResult(Box::new(result(ToolOutput::ErrorText("no".into())))),
            result_json(json!({ "type": "error-text", "value": "no" })),
        ),
        (
            StreamPart::ToolApprovalRequest(approval()),
            json!({ "type": "tool-approval-request", "approvalId": "ask_1", "toolCallId": "call_1" }),
        ),
        (StreamPart::Source(Box::new(source)), source_json),
        (StreamPart::File(Box::new(file())), file_json("file")),
        (StreamPart::ReasoningFile(Box::new(file())), file_json("reasoning-file")),
        (StreamPart::Custom(custom()), custom_json()),
        (
            StreamPart::Finish(Box::new(finish)),
            json!({
                "type": "finish", "finishReason": { "unified": "tool-calls", "raw": "tool_use" },
                "usage": { "input": {}, "output": {} }, "providerMetadata": attached_json(),
            }),
        ),
        (StreamPart::Raw { raw_value: json!([1]) }, json!({ "type": "raw", "rawValue": [1] })),
    ];
    assert_eq!(parts.len(), PART_NAMES.len());
    parts.into_iter().for_each(|(part, expected)| is(&part, expected));
}
