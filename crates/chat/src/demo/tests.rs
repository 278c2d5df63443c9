#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests fail by panicking")]

use ai_provider::{
    Assembler, AssistantMessage, CancellationToken, FunctionTool, LanguageModelExt, ToolDefinition,
    ToolOutput, ToolResult,
};
use serde_json::json;

use super::*;

fn request(messages: impl IntoIterator<Item = Message>) -> Request {
    let tool = |name: &str| ToolDefinition::Function(FunctionTool::new(name, "", json!({"type": "object"})));
    Request::new(messages).with_tools(["calculator", "current_time"].map(tool))
}

async fn parts(request: Request, ctx: CallContext) -> Vec<Result<StreamPart, ModelError>> {
    Demo.language_model(MODEL).unwrap().stream(request, ctx).collect().await
}

/// [CH-16] [CH-19]
#[tokio::test(start_paused = true)]
async fn a_question_is_answered_in_two_steps() {
    let question = Message::user("what is 17*23, and what time is it?");
    let model = Demo.language_model(MODEL).unwrap();
    let ctx = CallContext::new().with_request_id("r1");
    let first = model.generate(request([question.clone()]), ctx).await.unwrap();
    assert_eq!(first.finish.unified, UnifiedFinish::ToolCalls);
    let calls: Vec<_> = first.message.tool_calls().cloned().collect();
    let inputs: Vec<_> = calls.iter().map(|call| (call.name.as_str(), call.input.as_str())).collect();
    assert_eq!(inputs, [("calculator", r#"{"expression":"17*23"}"#), ("current_time", "{}")]);
    assert_ne!(calls[0].id, calls[1].id);
    assert!(first.message.parts.iter().any(|part| matches!(part, AssistantPart::Reasoning(_))));

    let results = [
        ToolResult::new(calls[0].id.clone(), "calculator", ToolOutput::Text("391".to_owned())),
        ToolResult::new(
            calls[1].id.clone(),
            "current_time",
            ToolOutput::ErrorText("the clock is broken".to_owned()),
        ),
    ];
    let history = [question, Message::Assistant(first.message), Message::tool(results)];
    let second = model.generate(request(history.clone()), CallContext::new()).await.unwrap();
    assert_eq!(second.finish.unified, UnifiedFinish::Stop);
    assert_eq!(second.text(), "17*23 = 391. current_time failed: the clock is broken.");

    // A new question in the same conversation starts afresh.
    let more = history.into_iter().chain([Message::Assistant(second.message), Message::user("and 2+2?")]);
    let third = model.generate(request(more), CallContext::new()).await.unwrap();
    let inputs: Vec<_> = third.message.tool_calls().map(|call| call.input.clone()).collect();
    assert_eq!(inputs, [r#"{"expression":"2+2"}"#]);
}

/// [CH-19]
#[tokio::test(start_paused = true)]
async fn it_streams_word_by_word_and_counts_words() {
    let started = Instant::now();
    let parts = parts(request([Message::user("Hello there, demo!")]), CallContext::new()).await;
    let mut assembler = Assembler::default();
    for part in &parts {
        assembler.push(part.as_ref().unwrap()).unwrap();
    }
    let answer = assembler.finish();
    assert!(!answer.incomplete);
    let deltas = parts.iter().filter(|part| part.as_ref().is_ok_and(spoken)).count();
    let said = u64::try_from(deltas).unwrap();
    assert_eq!(answer.usage.output.total, Some(said));
    assert_eq!(answer.usage.input.total, Some(3));
    assert_eq!(started.elapsed(), PAUSE * u32::try_from(deltas).unwrap());
    assert!(deltas > 20);
}

/// [CH-19]
#[tokio::test(start_paused = true)]
async fn a_cancelled_or_late_call_ends_with_one_error() {
    let cancel = CancellationToken::new();
    cancel.cancel();
    let ended = parts(request([Message::user("Hi")]), CallContext::new().with_cancel(cancel)).await;
    assert!(ended.len() == 1 && ended[0].as_ref().is_err_and(ModelError::is_cancelled));
    let deadline = (Instant::now() + PAUSE * 5).into_std();
    let ended = parts(request([Message::user("Hi")]), CallContext::new().with_deadline(deadline)).await;
    let (last, before) = ended.split_last().unwrap();
    assert!(last.as_ref().is_err_and(ModelError::is_timeout) && before.iter().all(Result::is_ok));
    assert!((4..=8).contains(&before.len()), "{}", before.len());
}

/// [CH-20]
#[tokio::test(start_paused = true)]
async fn what_the_rules_cannot_honour_is_a_warning() {
    let mut asked = request([Message::system("Be brief."), Message::user("2+2")]);
    asked.settings.temperature = Some(0.5);
    asked.settings.max_output_tokens = Some(1);
    asked.tool_choice = ToolChoice::None;
    let parts = parts(asked, CallContext::new()).await;
    let Ok(StreamPart::StreamStart { warnings }) = &parts[0] else { panic!("{parts:?}") };
    let named: Vec<_> = warnings.iter().map(|warning| warning.to_string()).collect();
    assert_eq!(
        named,
        ["max_output_tokens", "temperature", "system"]
            .map(|name| format!("{name} is not supported: the demo follows its rules alone"))
    );
    // No tool may be called, so it answers in words.
    let mut assembler = Assembler::default();
    parts.iter().for_each(|part| assembler.push(part.as_ref().unwrap()).unwrap());
    let AssistantMessage { parts, .. } = assembler.finish().message;
    assert!(!parts.iter().any(|part| matches!(part, AssistantPart::ToolCall(_))));
}

/// [CH-20]
#[test]
fn there_is_one_model() {
    assert!(Demo.language_model(MODEL).is_ok());
    let error = Demo.language_model("gpt").unwrap_err();
    assert_eq!(error.class(), ErrorClass::InvalidRequest);
    assert!(error.to_string().contains("demo:rules"));
}
