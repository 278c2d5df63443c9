#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs,
    reason = "tests fail by panicking"
)]

use ai_provider::{
    FileData, FilePart, Finish, FinishReason, Origin, ProviderMetadata, ProviderOptions, TargetId, ToolCall,
    ToolResult,
};
use futures_util::stream;

use super::*;

async fn lines(items: Vec<Result<StreamPart, ModelError>>) -> (bool, Vec<Value>) {
    let mut out = Vec::new();
    let finished = print(Box::pin(stream::iter(items)), &mut out).await.unwrap();
    let text = String::from_utf8(out).unwrap();
    assert!(text.ends_with('\n'));
    let begin = |line: &str| {
        ["{\"type\":", "{\"message\":", "{\"error\":{\"class\":"].iter().any(|begin| line.starts_with(begin))
    };
    assert!(text.lines().all(begin), "what a line is stands first: {text}");
    (finished, text.lines().map(|line| serde_json::from_str(line).unwrap()).collect())
}

fn finish(reason: FinishReason) -> StreamPart {
    StreamPart::Finish(Box::new(Finish { reason, usage: Usage::default(), metadata: None }))
}

#[tokio::test]
async fn each_part_is_a_line_and_the_last_line_is_the_whole() {
    let origin = Origin { target: TargetId::new("p", "m", "http://127.0.0.1:4711"), account: None };
    let values = ProviderOptions::default().with("p", "signature", "S".into());
    let mut call = ToolCall::new("c", "f", r#"{"a": 1}"#);
    call.metadata = Some(Box::new(ProviderMetadata::minted(origin, values)));
    let warnings = vec![Warning::unsupported("topK", "no")];
    let (finished, lines) = lines(vec![
        Ok(StreamPart::StreamStart { warnings: warnings.clone() }),
        Ok(StreamPart::text_start("0")),
        Ok(StreamPart::text_delta("0", "Hi")),
        Ok(StreamPart::text_end("0")),
        Ok(StreamPart::ToolCall(Box::new(call))),
        Ok(finish(UnifiedFinish::ToolCalls.into())),
    ])
    .await;
    assert!(finished);
    assert_eq!(lines.len(), 7);
    assert_eq!(lines[2], json!({"type": "text-delta", "id": "0", "delta": "Hi"}));
    let call = json!({
        "type": "tool-call", "toolCallId": "c", "toolName": "f", "input": "{\"a\": 1}",
        "providerMetadata": {"p": {"signature": "S"}},
    });
    assert_eq!(lines[4], call);
    assert_eq!(lines[6]["finishReason"], json!({"unified": "tool-calls", "raw": null}));
    assert_eq!(lines[6]["warnings"], serde_json::to_value(warnings).unwrap());
    let message: Message = serde_json::from_value(lines[6]["message"].clone()).unwrap();
    assert!(
        matches!(message, Message::Assistant(said) if said.text() == "Hi" && said.tool_calls().count() == 1)
    );
    assert!(lines[6]["usage"].is_object());
}

#[tokio::test]
async fn a_failure_is_the_last_line_with_what_came_before() {
    let error = ModelError::new(ErrorClass::RateLimit, "slow")
        .with_status(429)
        .with_code("x")
        .with_hint(Hint::After(Duration::from_millis(1500)));
    let (finished, lines) =
        lines(vec![Ok(StreamPart::text_start("0")), Ok(StreamPart::text_delta("0", "pa")), Err(error)]).await;
    assert!(!finished);
    let error = json!({
        "class": "rate-limit", "status": 429, "code": "x", "message": "slow", "retryable": true, "retryAfterMs": 1500,
    });
    assert_eq!(lines[2]["error"], error);
    assert_eq!(lines[2]["partial"]["parts"][0]["text"], "pa");
}

#[tokio::test]
async fn parts_out_of_order_and_a_missing_end_are_failures() {
    let (finished, lines_of_disorder) = lines(vec![Ok(StreamPart::text_delta("0", "pa"))]).await;
    assert!(!finished);
    assert_eq!(lines_of_disorder[1]["error"]["class"], "protocol");
    let (finished, lines_without_end) = lines(vec![Ok(StreamPart::text_start("0"))]).await;
    assert!(!finished);
    assert_eq!(lines_without_end[1]["error"]["class"], "incomplete");
}

#[tokio::test]
async fn results_and_files_have_the_names_of_the_specification() {
    let failed = ToolResult::new("c", "f", ToolOutput::ErrorText("no".into()));
    let done = ToolResult::new("c", "f", ToolOutput::Json(json!({"x": 1})));
    let file = |data| StreamPart::File(Box::new(FilePart::new("image/png", data)));
    let (_, lines) = lines(vec![
        Ok(StreamPart::ToolResult(Box::new(failed))),
        Ok(StreamPart::ToolResult(Box::new(done))),
        Ok(file(FileData::bytes("abc"))),
        Ok(file(FileData::Url { url: "http://x/y".into() })),
    ])
    .await;
    let failed =
        json!({"type": "tool-result", "toolCallId": "c", "toolName": "f", "result": "no", "isError": true});
    assert_eq!(lines[0], failed);
    assert_eq!(
        lines[1],
        json!({"type": "tool-result", "toolCallId": "c", "toolName": "f", "result": {"x": 1}})
    );
    assert_eq!(lines[2], json!({"type": "file", "mediaType": "image/png", "data": "YWJj"}));
    assert_eq!(lines[3], json!({"type": "file", "mediaType": "image/png", "url": "http://x/y"}));
}
