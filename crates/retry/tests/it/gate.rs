//! Which fallbacks can take a request.

use std::sync::Arc;

use ai_provider::{
    Capabilities, FileData, FilePart, FunctionTool, Message, ReasoningEffort, Request, ResponseFormat,
    StructuredOutput, ToolChoice, ToolContent, ToolDefinition, ToolOutput, ToolResult, UserMessage, UserPart,
};
use retry::{Fallback, RetryError};
use serde_json::json;

use crate::support::{Stage, fails, ok, policy, request};

fn with_file(media_type: &str) -> Request {
    let file = FilePart::new(media_type, FileData::bytes(vec![1, 2, 3]));
    let message = UserMessage { parts: vec![UserPart::File(file)], ..UserMessage::default() };
    Request::new([Message::User(message)])
}

fn with_result(media_type: &str) -> Request {
    let file = FilePart::new(media_type, FileData::bytes(vec![1]));
    let output = ToolOutput::Content(vec![ToolContent::File(file)]);
    Request::new([Message::user("Hi"), Message::tool([ToolResult::new("c", "shot", output)])])
}

fn tool() -> ToolDefinition {
    ToolDefinition::Function(FunctionTool::new("clock", "tells the time", json!({"type": "object"})))
}

/// [RT-85] [RT-86]
#[tokio::test(start_paused = true)]
async fn a_request_goes_where_it_can_be_taken() {
    type Change = fn(&mut Capabilities);
    let changed = |change: fn(&mut Request)| {
        let mut request = request();
        change(&mut request);
        request
    };
    let long = Request::new([Message::user("x".repeat(8004))]);
    let cases: Vec<(Request, Change, &str)> = vec![
        (with_file("image/png"), |model| model.input.image = true, "it takes no images"),
        (with_file("audio/wav"), |model| model.input.audio = true, "it takes no sound"),
        (with_file("video/mp4"), |model| model.input.video = true, "it takes no video"),
        (with_file("application/pdf"), |model| model.input.pdf = true, "it takes no PDF"),
        (with_result("image/png"), |model| model.tool_result.image = true, "it takes no images"),
        (
            changed(|request| request.tools = Arc::new([tool()])),
            |model| model.tools = true,
            "it calls no tools",
        ),
        (
            changed(|request| {
                request.response_format =
                    ResponseFormat::Json { schema: Some(json!({})), name: None, description: None };
            }),
            |model| model.structured_output = StructuredOutput::JsonObject,
            "it holds to no schema",
        ),
        (
            changed(|request| request.settings.reasoning = ReasoningEffort::Low),
            |model| model.reasoning = true,
            "it does not reason",
        ),
        (
            long,
            |model| model.context_window = Some(2001),
            "its window of 2000 tokens is too small for about 2001",
        ),
    ];
    for (request, able, why) in cases {
        let mut unable = Capabilities::default();
        unable.tools = false;
        unable.context_window = Some(2000);
        let mut capable = unable.clone();
        able(&mut capable);
        for (capabilities, fits) in [(unable, false), (capable, true)] {
            let stage = Stage::new();
            let fallback = stage.with_capabilities("F", &[], capabilities, [ok("hi")]);
            let model =
                policy(0).with_fallback(Fallback::to(fallback)).wrap(stage.model("P", [fails(503)])).unwrap();
            let outcome = stage.call_with(&*model, request.clone(), stage.context()).await;
            assert_eq!(outcome.error.is_none(), fits, "{why}");
            if !fits {
                assert!(RetryError::of(outcome.failure()).is_none(), "the error is the primary's own");
                let told = format!("{:?}", stage.events());
                assert!(told.contains(why), "{told}");
            }
        }
    }
}

/// [RT-86]
#[tokio::test(start_paused = true)]
async fn what_is_not_demanded_keeps_nobody_out() {
    let mut forbidden = request();
    forbidden.tools = Arc::new([tool()]);
    forbidden.tool_choice = ToolChoice::None;
    let mut free = request();
    free.settings.reasoning = ReasoningEffort::None;
    free.response_format = ResponseFormat::Json { schema: None, name: None, description: None };
    for request in [request(), forbidden, free, with_file("text/plain")] {
        let stage = Stage::new();
        let mut plain = Capabilities::default();
        plain.tools = false;
        let fallback = stage.with_capabilities("F", &[], plain, [ok("hi")]);
        let model =
            policy(0).with_fallback(Fallback::to(fallback)).wrap(stage.model("P", [fails(503)])).unwrap();
        assert_eq!(stage.call_with(&*model, request, stage.context()).await.answer(), "hi");
    }
}
