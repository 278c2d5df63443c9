//! Cancelling a run at any point.

use ai_provider::{CancellationToken, ErrorClass, Message, ModelError, StreamPart, UnifiedFinish};
use ai_testkit::{Script, ScriptedModel};
use std::time::Duration;

use super::support::{Ran, agent, run, run_with};
use crate::UiChunk;

/// Runs the scripts once for each poll, cancelling before it; the last run is not cancelled.
async fn cancel_everywhere(scripts: &[Script]) -> Vec<Ran> {
    let mut runs = Vec::new();
    loop {
        let model = scripts.iter().fold(ScriptedModel::new(), |model, script| model.reply(script.clone()));
        let cancel = CancellationToken::new();
        let stream = agent(&model).stream([Message::user("Go.")], cancel.clone());
        let at = runs.len();
        let ran = run_with(stream, |poll| {
            if poll == at {
                cancel.cancel();
            }
        })
        .await;
        let over = !cancel.is_cancelled();
        assert!(model.dropped() == 0 || !over, "nothing is left behind");
        runs.push(ran);
        if over {
            return runs;
        }
    }
}

fn is_abort(ran: &Ran) -> bool {
    let abort = matches!(ran.last(), UiChunk::Abort { reason: None });
    assert_eq!(abort, ran.outcome.as_str() == "cancelled");
    abort
}

fn scripts() -> Vec<(&'static str, Vec<Script>)> {
    let tools = Script::new()
        .reasoning("Two tools.")
        .tool_call("a", "slow", "{}")
        .tool_call("b", "echo", r#"{"text":"hi"}"#)
        .finish(UnifiedFinish::ToolCalls);
    vec![
        ("text", vec![Script::text_reply("Hello there, you.")]),
        (
            "slow text",
            vec![
                Script::new()
                    .text("Hello")
                    .delay(Duration::from_secs(1))
                    .text("you.")
                    .finish(UnifiedFinish::Stop),
            ],
        ),
        ("tools", vec![tools, Script::text_reply("Done.")]),
        ("progress", vec![Script::tool_reply("a", "progress", "{}"), Script::text_reply("Done.")]),
        ("no such tool", vec![Script::tool_reply("a", "nowhere", "{}"), Script::text_reply("Sorry.")]),
        ("bad input", vec![Script::tool_reply("a", "echo", "{"), Script::text_reply("Sorry.")]),
        ("approval", vec![Script::tool_reply("a", "asks", "{}")]),
        (
            "open blocks",
            vec![Script::new().text("x").part(StreamPart::text_start("o")).finish(UnifiedFinish::Stop)],
        ),
    ]
}

/// [AL-26]
#[tokio::test(start_paused = true)]
async fn before_every_poll_of_runs_that_end_well() {
    for (name, scripts) in scripts() {
        let runs = cancel_everywhere(&scripts).await;
        // A cancel before the end is claimed wins; one after it changes nothing.
        let aborted = runs.iter().take_while(|ran| is_abort(ran)).count();
        assert!(runs.iter().skip(aborted).all(|ran| !is_abort(ran)), "{name}");
        assert!(aborted >= 2 && aborted < runs.len(), "{name}: {aborted} of {}", runs.len());
        let whole = &runs.last().unwrap().chunks;
        for ran in &runs[aborted..] {
            assert_eq!(&ran.chunks, whole, "{name}");
        }
        // The first is cancelled before anything, the last of them when only the end is missing.
        assert_eq!(runs[0].chunks.len(), 2, "{name}");
        let mut last = runs[aborted - 1].chunks.clone();
        // A call that waited for a person gets its result from the cancel.
        last.retain(|chunk| name != "approval" || !matches!(chunk, UiChunk::ToolOutputError { .. }));
        assert_eq!(last.split_last().unwrap().1, whole.split_last().unwrap().1, "{name}");
    }
}

/// [AL-26]
#[tokio::test(start_paused = true)]
async fn before_every_poll_of_a_run_that_fails() {
    let broken = ModelError::new(ErrorClass::Server, "down");
    let runs =
        cancel_everywhere(&[Script::tool_reply("a", "slow", "{}"), Script::new().text("Half").error(broken)])
            .await;
    let aborted = runs.iter().take_while(|ran| is_abort(ran)).count();
    assert!(aborted >= 2 && aborted < runs.len());
    for ran in &runs[aborted..] {
        assert_eq!(ran.outcome.as_str(), "failed");
        assert!(matches!(ran.last(), UiChunk::Error { .. }));
    }
}

/// [AL-25] [AL-26]
#[tokio::test(start_paused = true)]
async fn while_a_tool_hangs() {
    let model = ScriptedModel::new().reply(Script::tool_reply("a", "hangs", "{}"));
    let cancel = CancellationToken::new();
    let stream = agent(&model).stream([Message::user("Go.")], cancel.clone());
    let at_last = async {
        tokio::time::sleep(Duration::from_secs(60)).await;
        cancel.cancel();
    };
    let (ran, ()) = futures_util::future::join(run(stream), at_last).await;
    assert!(is_abort(&ran));
    assert_eq!(ran.only(&["tool-output-error"]).len(), 1);
    // The history can go on: the call has its result.
    assert_eq!(ran.stream.new_messages().len(), 2);
}
