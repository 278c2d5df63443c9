//! Whole runs as the bytes a client reads, at each level, with the message they make.

use ai_core::{Approvals, Decision, OnError};
use ai_provider::{
    CancellationToken, ErrorClass, FileData, FilePart, Message, ModelError, Source, StreamPart, TextPart,
    ToolCall, ToolOutput, ToolResult, UnifiedFinish, UserMessage, UserPart,
};
use ai_testkit::{Script, ScriptedModel};
use serde_json::json;

use super::golden::assert_golden;
use super::support::{Ran, agent, run, run_with, tool_loop};
use crate::{Agent, Hooks, SSE_DONE, SseReader, UiChunk, UiProtocol, UiReducer, encode_sse};

fn file(data: &'static [u8]) -> Box<FilePart> {
    Box::new(FilePart::new("image/png", FileData::bytes(data)))
}

/// A run of some kind.
struct Scenario {
    name: &'static str,
    agent: Agent,
    /// Whether the user has said something in the middle.
    steered: bool,
}

impl Scenario {
    /// Plays it, with calls that ask allowed as soon as they do, and cancelled before this poll.
    async fn play(self, protocol: UiProtocol, cancel_before: Option<usize>) -> (Ran, bool) {
        let cancel = CancellationToken::new();
        let steer =
            UserMessage { parts: vec![UserPart::Text(TextPart::new("Shorter."))], ..Default::default() };
        let history =
            [Message::user("Go."), Message::assistant("It is a long"), Message::User(steer.clone())];
        let history = history.into_iter().take(if self.steered { 3 } else { 1 });
        let mut stream = self.agent.with_ui_protocol(protocol).stream(history, cancel.clone());
        if self.steered {
            stream.show_steering("u2", &steer);
        }
        let handle = stream.handle().clone();
        let ran = run_with(stream, |poll| {
            if cancel_before == Some(poll) {
                cancel.cancel();
            }
            let _ = handle.decide(&"allowed".into(), Decision::approve());
        });
        let ran = ran.await;
        (ran, cancel.is_cancelled())
    }
}

/// Runs of every kind.
fn scenarios() -> Vec<Scenario> {
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
    let again = Script::new()
        .text("It begi")
        .part(StreamPart::ToolCall(Box::new(ToolCall::new("a", "clock", "{}"))))
        .error(broken());
    let model = ScriptedModel::new;
    let denied = model().reply(Script::tool_reply("a", "denied", "{}")).reply(Script::text_reply("Well."));
    let allowed =
        model().reply(Script::tool_reply("allowed", "asks", "{}")).reply(Script::text_reply("Done."));
    let again = model().reply(again).reply(Script::text_reply("It begins."));
    let retries = Hooks::new().on_error(|_| async { Ok(OnError::Retry) });
    let one = |name, agent| Scenario { name, agent, steered: false };
    let in_place = tool_loop(&allowed).with_approvals(Approvals::InPlace);
    vec![
        one("pieces", agent(&model().reply(pieces))),
        one("tools", agent(&model().reply(tools).reply(Script::text_reply("Done.")))),
        one("denied", agent(&denied)),
        one("asks", agent(&model().reply(Script::tool_reply("a", "asks", "{}")))),
        one("allowed", Agent::new(in_place).with_message_id("m1")),
        one("client", agent(&model().reply(Script::tool_reply("a", "client", "{}")))),
        one("cut", agent(&model().reply(cut))),
        one("again", agent(&again).with_hooks(retries)),
        Scenario { steered: true, ..one("steered", agent(&model().reply(Script::text_reply("Long.")))) },
    ]
}

/// [AL-214] [AL-207]
#[tokio::test]
async fn whole_runs_have_their_golden_bytes_and_message() {
    for protocol in UiProtocol::ALL {
        for scenario in scenarios() {
            let name = scenario.name;
            let (ran, _) = scenario.play(protocol, None).await;
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

/// [AL-26]
#[tokio::test]
async fn a_cancel_before_any_poll_of_them_gives_a_complete_message() {
    for protocol in [UiProtocol::V5, UiProtocol::Latest] {
        for at in 0..scenarios().len() {
            let one = || scenarios().swap_remove(at);
            let name = one().name;
            let (whole, _) = one().play(protocol, None).await;
            let mut aborted = 0;
            for poll in 0.. {
                // Playing it checks that it is complete.
                let (ran, cancelled) = one().play(protocol, Some(poll)).await;
                if matches!(ran.last(), UiChunk::Abort { .. }) {
                    assert_eq!(
                        aborted, poll,
                        "{name} at {protocol}: a cancel is heard, but no later one was"
                    );
                    aborted += 1;
                } else {
                    // Too late: the run had failed, or its end was given.
                    assert_eq!(ran.chunks, whole.chunks, "{name} at {protocol}, poll {poll}");
                }
                if !cancelled {
                    break;
                }
            }
            assert!(aborted > 5, "{name} at {protocol}: {aborted}");
        }
    }
}

/// [AL-208]
#[tokio::test]
async fn chunks_of_a_cancelled_run_fold_too() {
    let cancel = CancellationToken::new();
    cancel.cancel();
    let agent = agent(&ScriptedModel::new().reply(Script::text_reply("Hi.")));
    let ran = run(agent.stream([Message::user("Go.")], cancel)).await;
    let mut reducer = UiReducer::new("");
    for chunk in ran.chunks {
        reducer.push(chunk).unwrap();
    }
    assert!(reducer.is_aborted());
    assert_eq!(reducer.finish_reason(), None);
    assert_eq!(reducer.message().id, "m1");
    assert!(matches!(ran.stream.run_end().map(|end| end.outcome.as_str()), Some("cancelled")));
}
