//! Invisible characters beside calls of tools.

use std::sync::Arc;

use ai_core::ToolLoop;
use ai_core::middleware::wrap;
use ai_provider::{ErrorClass, LanguageModel, Message, ModelError, Request, StreamPart, UnifiedFinish};
use ai_testkit::{Script, ScriptedModel, fold};

use super::support::{ask, run, tools};
use crate::{Agent, ToolMarkers};

fn cleaned(model: &ScriptedModel) -> Arc<dyn LanguageModel> {
    wrap(Arc::new(model.clone()), [Arc::new(ToolMarkers) as _])
}

fn deltas(script: Script, texts: &[&str]) -> Script {
    let script = script.part(StreamPart::text_start("t"));
    let script = texts.iter().fold(script, |script, text| script.part(StreamPart::text_delta("t", *text)));
    script.part(StreamPart::text_end("t"))
}

async fn text(script: Script) -> String {
    let model = cleaned(&ScriptedModel::new().reply(script));
    fold(model.stream(Request::new([Message::user("Go.")]), Default::default())).await.0.message.text()
}

/// [AL-141]
#[tokio::test]
async fn markers_beside_a_call_go_and_those_in_prose_stay() {
    let first = deltas(Script::new(), &["Let\u{2063} me see.\u{2063}", "\u{2050}\u{2057}", "\u{2063}"]);
    let second = deltas(Script::new(), &["\u{2063}", "\u{2051}\u{2063}It is", " \u{2063}noon.", "\u{2063}"]);
    let model = ScriptedModel::new()
        .reply(first.tool_call("a", "clock", "{}").finish(UnifiedFinish::ToolCalls))
        .reply(second.finish(UnifiedFinish::Stop));
    let ran = run(ask(&Agent::new(ToolLoop::new(cleaned(&model)).with_tools(tools())))).await;
    let shown: String =
        ran.only(&["text-delta"]).iter().map(|chunk| chunk["delta"].as_str().unwrap()).collect();
    assert_eq!(shown, "Let\u{2063} me see.It is \u{2063}noon.\u{2063}");
    assert_eq!((ran.only(&["tool-output-available"]).len(), model.requests().len()), (1, 2));
    let end = ran.stream.run_end().unwrap();
    assert_eq!(end.steps[0].message.text(), "Let\u{2063} me see.", "the history is clean too");
}

/// [AL-141]
#[tokio::test]
async fn markers_behind_a_call_of_the_same_answer_go() {
    let called = Script::new().text("So.").tool_call("a", "clock", "{}").part(StreamPart::text_start("u"));
    let behind = ["\u{2063}", "\u{2050}Then", "\u{2063} now."];
    let script = behind.iter().fold(called, |script, text| script.part(StreamPart::text_delta("u", *text)));
    let script = script.part(StreamPart::text_end("u")).finish(UnifiedFinish::ToolCalls);
    assert_eq!(text(script).await, "So.Then\u{2063} now.");
}

/// [AL-141]
#[tokio::test]
async fn markers_without_a_call_stay() {
    let stays = ["Well.\u{2063}", "\u{2050}"];
    assert_eq!(text(deltas(Script::new(), &stays).finish(UnifiedFinish::Stop)).await, stays.concat());
    let broken = ModelError::new(ErrorClass::Transport, "reset");
    assert_eq!(text(deltas(Script::new(), &stays).error(broken)).await, stays.concat());
    assert_eq!(text(deltas(Script::new(), &stays).end()).await, stays.concat());
    let again = deltas(Script::new(), &stays).reasoning("Hm.");
    let again = again.part(StreamPart::text_start("u")).part(StreamPart::text_delta("u", "More."));
    let again = again.part(StreamPart::text_end("u")).finish(UnifiedFinish::Stop);
    assert_eq!(text(again).await, "Well.\u{2063}\u{2050}More.");
    let many = vec!["\u{2063}"; 500];
    assert_eq!(text(deltas(Script::new(), &many).finish(UnifiedFinish::Stop)).await.chars().count(), 500);
}
