//! What is told of tools, and how they end.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use ai_core::run::ToolStatus;
use ai_core::{Effect, ToolContext, ToolError, ToolSet, tool_fn};
use ai_provider::{CancellationToken, Message, UnifiedFinish};
use ai_testkit::{Script, ScriptedModel};
use serde_json::json;

use super::support::{NoArgs, SECRET, ask, run, tool_loop};
use crate::{Agent, Hooks, Timeouts, ToolEnd, ToolStart};

/// What hooks heard of tools.
#[derive(Clone, Default)]
struct Heard {
    starts: Arc<Mutex<Vec<ToolStart>>>,
    ends: Arc<Mutex<Vec<ToolEnd>>>,
}

impl Heard {
    fn hooks(&self) -> Hooks {
        let (starts, ends) = (Arc::clone(&self.starts), Arc::clone(&self.ends));
        Hooks::new()
            .on_tool_execution_start(move |start| {
                starts.lock().unwrap().push(start);
                async { Ok(()) }
            })
            .on_tool_execution_end(move |end| {
                ends.lock().unwrap().push(end);
                async { Ok(()) }
            })
    }

    fn ends(&self) -> Vec<(String, String)> {
        let ends = self.ends.lock().unwrap();
        let mut ends: Vec<_> = ends
            .iter()
            .map(|end| (end.start.call.id.to_string(), end.record.status.as_str().to_owned()))
            .collect();
        ends.sort();
        ends
    }
}

fn calls(calls: &[(&str, &str, &str)]) -> Script {
    let script =
        calls.iter().fold(Script::new(), |script, (id, name, input)| script.tool_call(*id, name, input));
    script.finish(UnifiedFinish::ToolCalls)
}

/// [AL-118] [AL-121]
#[tokio::test(start_paused = true)]
async fn each_call_that_runs_is_told_once_and_its_end_says_how() {
    let heard = Heard::default();
    let model = ScriptedModel::new()
        .reply(calls(&[
            ("a", "echo", r#"{"text": "hi"}"#),
            ("b", "fails", "{}"),
            ("c", "panics", "{}"),
            ("d", "hangs", "{}"),
            ("e", "slow", "{}"),
            ("f", "progress", "{}"),
            ("g", "denied", "{}"),
            ("h", "nope", "{}"),
            ("i", "echo", "{}"),
        ]))
        .repeat(Script::text_reply("Well."));
    let timeouts = Timeouts::new().with_tool(Duration::from_millis(500));
    let agent = Agent::new(tool_loop(&model)).with_hooks(heard.hooks()).with_timeouts(timeouts);
    let ran = run(ask(&agent)).await;
    let wanted = [
        ("a", "ok"),
        ("b", "failed"),
        ("c", "panicked"),
        ("d", "delivery-unknown"),
        ("e", "timed-out"),
        ("f", "ok"),
    ];
    let wanted: Vec<_> = wanted.iter().map(|(id, end)| ((*id).to_owned(), (*end).to_owned())).collect();
    assert_eq!(heard.ends(), wanted, "what was never started is not told");
    let starts = heard.starts.lock().unwrap();
    assert_eq!(starts.len(), 6);
    assert_eq!((starts[0].input(), starts[0].messages.len()), (json!({"text": "hi"}), 1));
    assert_eq!(starts[0].target, ran.stream.run_end().unwrap().steps[0].target);

    let end = ran.stream.run_end().unwrap();
    let unknown = &end.steps[0].tools[3];
    assert!(matches!(&unknown.status, ToolStatus::DeliveryUnknown(unknown) if unknown.tool == "hangs"));
    let told = serde_json::to_string(&model.requests()[1].messages).unwrap();
    assert!(told.contains("do not repeat the call blindly"), "{told}");
    assert_eq!(starts.iter().filter(|start| start.call.name == "hangs").count(), 1, "it is never repeated");
}

/// [AL-118]
#[tokio::test]
async fn a_call_that_is_cut_has_an_end_too() {
    let heard = Heard::default();
    let model = ScriptedModel::new().repeat(calls(&[("a", "hangs", "{}"), ("b", "slow", "{}")]));
    let cancel = CancellationToken::new();
    let cancels = {
        let (cancel, starts) = (cancel.clone(), Arc::clone(&heard.starts));
        Hooks::new().on_tool_execution_start(move |_| {
            if starts.lock().unwrap().len() == 2 {
                cancel.cancel();
            }
            async { Ok(()) }
        })
    };
    let agent = Agent::new(tool_loop(&model)).with_hooks(heard.hooks()).with_hooks(cancels);
    let ran = run(agent.stream([Message::user("Go.")], cancel)).await;
    assert_eq!(ran.outcome.as_str(), "cancelled");
    let wanted = [("a", "delivery-unknown"), ("b", "cancelled")];
    assert_eq!(heard.ends(), wanted.map(|(id, end)| (id.to_owned(), end.to_owned())));
}

/// [AL-119]
#[tokio::test(start_paused = true)]
async fn the_time_of_hooks_is_not_the_time_of_the_tool() {
    let heard = Heard::default();
    let slow = Hooks::new()
        .on_tool_execution_start(|_| async {
            tokio::time::sleep(Duration::from_millis(500)).await;
            Ok(())
        })
        .on_tool_execution_end(|_| async {
            tokio::time::sleep(Duration::from_millis(700)).await;
            Ok(())
        });
    let model = ScriptedModel::new().reply(calls(&[("a", "slow", "{}")])).repeat(Script::text_reply("Well."));
    let agent = Agent::new(tool_loop(&model)).with_hooks(slow).with_hooks(heard.hooks());
    let ran = run(ask(&agent)).await;
    let ends = heard.ends.lock().unwrap();
    assert_eq!(ends[0].duration(), Duration::from_secs(1));
    assert_eq!(ran.stream.run_end().unwrap().steps[0].tools[0].duration, Duration::from_secs(1));
}

/// [AL-120]
#[tokio::test]
async fn a_tool_that_fails_is_logged_without_a_word_of_its_input() {
    let log = super::log::Log::default();
    let model = ScriptedModel::new()
        .reply(calls(&[
            ("a", "fails", r#"{"password": "hunter2", "deep": [{"pin": 1234}]}"#),
            ("b", "echo", r#"{"text": "hunter2"}"#),
        ]))
        .repeat(Script::text_reply("Well."));
    let agent = Agent::new(tool_loop(&model));
    let guard = log.listen();
    run(ask(&agent)).await;
    drop(guard);
    let lines = log.lines();
    assert_eq!(lines.len(), 1, "{lines:?}");
    for part in ["tool=\"fails\"", "call=a", "status=\"failed\"", "{deep: [{pin: number}], password: string}"]
    {
        assert!(lines[0].contains(part), "{part} is not in {}", lines[0]);
    }
    assert!(!lines[0].contains("hunter2") && !lines[0].contains("1234") && !lines[0].contains(SECRET));
}

fn ends_the_run(alone: bool) -> ToolSet {
    let stops = tool_fn("stops", "Ends the run.", move |_: NoArgs, ctx: ToolContext| async move {
        let permit = ctx.terminal_permit().ok_or_else(|| ToolError::new("no permit"))?;
        let failure = permit.fail("Your account is closed.").with_key("account.closed");
        Err::<(), ToolError>(if alone { failure.cancelling_siblings().into() } else { failure.into() })
    });
    let slow = tool_fn("slow", "Takes a second.", |_: NoArgs, _| async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        Ok("at last")
    })
    .with_effect(Effect::ReadOnly);
    let clock = tool_fn("clock", "Tells the time.", |_: NoArgs, _| async { Ok("noon") });
    ToolSet::new().with(slow).unwrap().with(clock).unwrap().trusted(stops).unwrap()
}

/// [AL-122]
#[tokio::test(start_paused = true)]
async fn siblings_of_a_call_that_ends_the_run_finish_first_unless_it_asks_otherwise() {
    for alone in [false, true] {
        let heard = Heard::default();
        let step = calls(&[("a", "slow", "{}"), ("b", "stops", "{}"), ("c", "clock", "{}")]);
        let model = ScriptedModel::new().repeat(step);
        // Two at once: the third has not begun when the second ends the run.
        let tools = tool_loop(&model).with_tools(ends_the_run(alone)).with_tool_concurrency(2);
        let ran = run(ask(&Agent::new(tools).with_hooks(heard.hooks()))).await;
        assert_eq!((ran.outcome.as_str(), model.requests().len()), ("tool-terminal", 1));
        let failure = ran.stream.failure().unwrap();
        assert_eq!((&*failure.key, &*failure.message), ("account.closed", "Your account is closed."));
        let end = ran.stream.run_end().unwrap();
        let statuses: Vec<_> = end.steps[0].tools.iter().map(|tool| tool.status.as_str()).collect();
        let told: Vec<_> = heard.ends().into_iter().map(|(id, _)| id).collect();
        if alone {
            assert_eq!(statuses, ["cancelled", "failed", "skipped"]);
            assert_eq!(told, ["a", "b"], "the third never ran");
        } else {
            assert_eq!(statuses, ["ok", "failed", "ok"]);
            assert_eq!(told, ["a", "b", "c"]);
        }
    }
}
