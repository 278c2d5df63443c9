//! Whole runs as the bytes a client reads, at each level, with the message they make.

use ai_provider::{
    CancellationToken, ErrorClass, FileData, FilePart, ModelError, Source, StreamPart, ToolCall, ToolOutput,
    ToolResult, UnifiedFinish,
};
use ai_testkit::{Script, ScriptedModel};
use serde_json::json;

use super::golden::assert_golden;
use super::support::{agent, ask, run};
use crate::{Agent, SSE_DONE, SseReader, UiProtocol, UiReducer, encode_sse};

fn file(data: &'static [u8]) -> Box<FilePart> {
    Box::new(FilePart::new("image/png", FileData::bytes(data)))
}

/// Runs of every kind.
fn scenarios() -> Vec<(&'static str, Agent)> {
    let source = Source::Url {
        id: "s1".into(),
        url: "https://example.com/".to_owned(),
        title: Some("Example".to_owned()),
        metadata: None,
    };
    let elsewhere = |part: ToolCall| ToolCall { provider_executed: true, dynamic: true, ..part };
    let found = ToolResult {
        provider_executed: true,
        dynamic: true,
        ..ToolResult::new("p1", "web", ToolOutput::Json(json!({"hits": [1, null]})))
    };
    let pieces = Script::new()
        .reasoning("Let me see.")
        .part(StreamPart::Source(Box::new(source)))
        .part(StreamPart::File(file(b"png")))
        .part(StreamPart::ReasoningFile(file(b"draft")))
        .part(StreamPart::ToolCall(Box::new(elsewhere(ToolCall::new("p1", "web", "{\"q\":\"x\"}")))))
        .part(StreamPart::ToolResult(Box::new(found)))
        .text("Here \u{201c}it\u{201d} is:\r\n\u{2028}done.")
        .finish(UnifiedFinish::Stop);
    let tools = Script::new()
        .text("One moment.")
        .tool_call("a", "progress", "{}")
        .tool_call("b", "echo", r#"{"text":"hi"}"#)
        .tool_call("c", "fails", "{}")
        .tool_call("d", "echo", "{\"text\":")
        .finish(UnifiedFinish::ToolCalls);
    let broken = || ModelError::new(ErrorClass::Incomplete, "cut");
    let cut = Script::new()
        .part(StreamPart::text_start("0"))
        .part(StreamPart::text_delta("0", "It begi"))
        .part(StreamPart::ToolInputStart {
            id: "a".into(),
            tool_name: "echo".to_owned(),
            provider_executed: false,
            dynamic: false,
            title: None,
        })
        .part(StreamPart::ToolInputDelta { id: "a".into(), delta: "{\"te".to_owned() })
        .error(broken());
    let model = ScriptedModel::new;
    vec![
        ("pieces", agent(&model().reply(pieces))),
        ("tools", agent(&model().reply(tools).reply(Script::text_reply("Done.")))),
        (
            "denied",
            agent(&model().reply(Script::tool_reply("a", "denied", "{}")).reply(Script::text_reply("Well."))),
        ),
        ("asks", agent(&model().reply(Script::tool_reply("a", "asks", "{}")))),
        ("client", agent(&model().reply(Script::tool_reply("a", "client", "{}")))),
        ("cut", agent(&model().reply(cut))),
    ]
}

/// [AL-214] [AL-207]
#[tokio::test]
async fn whole_runs_have_their_golden_bytes_and_message() {
    for protocol in UiProtocol::ALL {
        for (name, agent) in scenarios() {
            let ran = run(ask(&agent.with_ui_protocol(protocol))).await;
            let mut bytes = Vec::new();
            for chunk in &ran.chunks {
                encode_sse(chunk, &mut bytes);
            }
            bytes.extend_from_slice(SSE_DONE);
            let (mut reader, mut chunks) = (SseReader::new(protocol), Vec::new());
            reader.push(&bytes, &mut chunks).unwrap();
            reader.end().unwrap();
            assert_eq!(chunks, ran.chunks);
            let mut reducer = UiReducer::new("");
            for chunk in chunks {
                reducer.push(chunk).unwrap();
            }
            let message = serde_json::to_string_pretty(reducer.message()).unwrap() + "\n";
            assert_golden(&format!("streams/{name}.{protocol}.sse"), &String::from_utf8(bytes).unwrap());
            assert_golden(&format!("streams/{name}.{protocol}.json"), &message);
        }
    }
}

/// [AL-208]
#[tokio::test]
async fn chunks_of_a_cancelled_run_fold_too() {
    let cancel = CancellationToken::new();
    cancel.cancel();
    let agent = agent(&ScriptedModel::new().reply(Script::text_reply("Hi.")));
    let ran = run(agent.stream([ai_provider::Message::user("Go.")], cancel)).await;
    let mut reducer = UiReducer::new("");
    for chunk in ran.chunks {
        reducer.push(chunk).unwrap();
    }
    assert!(reducer.is_aborted());
    assert_eq!(reducer.finish_reason(), None);
    assert_eq!(reducer.message().id, "m1");
    assert!(matches!(ran.stream.run_end().map(|end| end.outcome.as_str()), Some("cancelled")));
}
