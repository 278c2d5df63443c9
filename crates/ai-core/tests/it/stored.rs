//! Runs that were stored, and edited or read by another program.

use std::sync::Arc;

use ai_core::run::{Input, Next, Outcome, RunSnapshot, StoredRunError};
use ai_core::{
    Decision, LoopControl, LoopEvent, RunEnd, RunOptions, StepOverrides, StepView, ToolSet, client_tool,
    tool_fn,
};
use ai_provider::{
    AssistantMessage, AssistantPart, Message, StreamPart, ToolOutput, ToolResult, UnifiedFinish,
};
use ai_testkit::{Script, ScriptedModel};
use async_trait::async_trait;
use futures_util::StreamExt;
use serde_json::{Value, json};

use crate::support::{Text, answer, calls, check_history, echo, fact, loop_of, new_run, prepared, run};

async fn handed_over(second: &[(&str, &str, &str)]) -> RunEnd {
    let model = ScriptedModel::new().reply(calls(&[("a", "echo", r#"{"text":"x"}"#)])).reply(calls(second));
    let place = client_tool("place", "", json!({"type": "object"}));
    let agent = loop_of(&model, ToolSet::new().with(echo()).unwrap().with(place).unwrap());
    run(&agent, RunOptions::default()).await.1
}

/// [AC-330]
#[tokio::test]
async fn a_stored_run_whose_calls_could_not_come_back_is_refused() {
    type Edit = fn(&mut Value);
    let edits: [(&str, Edit); 8] = [
        ("no step", |run| run["steps"] = json!([])),
        ("not the end", |run| drop(run["messages"].as_array_mut().unwrap().pop())),
        ("not the end", |run| drop(run["newMessages"].as_array_mut().unwrap().pop())),
        ("not the end", |run| {
            let user = run["messages"][0].clone();
            run["messages"].as_array_mut().unwrap().push(user);
        }),
        ("without a result", |run| drop(run["messages"].as_array_mut().unwrap().remove(2))),
        ("left open", |run| run["phase"]["with"]["calls"] = json!([])),
        ("left open", |run| run["phase"]["with"]["calls"][0]["input"] = json!("{\"a\":1}")),
        ("waits for approval", |run| {
            run["phase"]["with"] = json!({"type": "awaiting-approval", "calls": []});
        }),
    ];
    for second in [&[("c", "place", "{}")][..], &[("c", "place", "{}"), ("d", "echo", r#"{"text":"y"}"#)][..]]
    {
        let end = handed_over(second).await;
        assert!(matches!(end.outcome, Outcome::HandedOver { .. }));
        let stored = serde_json::to_value(&end.snapshot).unwrap();
        let whole = RunSnapshot::from_json(stored.to_string().as_bytes()).unwrap();
        assert_eq!(whole, end.snapshot);
        let mut run = whole.into_run();
        let result = ToolResult::new("c", "place", ToolOutput::Text("here".into()));
        run.feed(Input::Returned(vec![result])).unwrap();
        check_history(run.messages()).unwrap();
        for (says, edit) in &edits {
            let mut stored = stored.clone();
            edit(&mut stored);
            let error = RunSnapshot::from_json(stored.to_string().as_bytes()).unwrap_err();
            assert!(matches!(error, StoredRunError::Damaged { .. }), "{error}");
            assert!(error.to_string().contains(says), "{says}: {error}");
            assert_eq!(error.to_string().matches("damaged").count(), 1, "{error}");
        }
    }
}

/// [AC-330]
#[test]
fn a_stored_run_with_a_history_no_provider_accepts_is_refused() {
    let called = AssistantPart::ToolCall(ai_provider::ToolCall::new("a", "t", "{}"));
    let mut run = ai_core::run::Run::new(
        [
            Message::user("go"),
            Message::Assistant(AssistantMessage { parts: vec![called], ..AssistantMessage::default() }),
            Message::tool([ToolResult::new("a", "t", ToolOutput::Text("r".into()))]),
        ],
        ai_core::run::RunConfig::default(),
    );
    run.feed(prepared(vec![fact("echo")])).unwrap();
    let stored = serde_json::to_value(&run).unwrap();
    for (at, gone) in [(1, "call"), (2, "result")] {
        let mut stored = stored.clone();
        stored["messages"].as_array_mut().unwrap().remove(at);
        let error = serde_json::from_value::<ai_core::run::Run>(stored).unwrap_err().to_string();
        assert!(error.contains("its history"), "without the {gone}: {error}");
    }
    let mut stored = stored;
    stored["phase"] = json!({"at": "check-stop"});
    assert!(serde_json::from_value::<ai_core::run::Run>(stored).is_err(), "there is no step to check");
}

/// [AC-336]
#[test]
fn an_answer_that_holds_one_call_id_twice_is_refused() {
    let mut run = new_run();
    run.feed(prepared(vec![fact("echo")])).unwrap();
    let call = StreamPart::ToolCall(Box::new(ai_provider::ToolCall::new("a", "echo", "{}")));
    let Input::Answered(mut twice) = answer(&[call]) else { panic!() };
    let again = twice.assembled.message.parts[0].clone();
    twice.assembled.message.parts.push(again);
    twice.assembled.finish = Some(UnifiedFinish::ToolCalls.into());
    let mut once = twice.clone();
    let before = run.clone();
    let refused = run.feed(Input::Answered(twice)).unwrap_err();
    assert!(refused.to_string().contains("call `a` stands there twice"), "{refused}");
    assert_eq!(run, before);
    once.assembled.message.parts.pop();
    run.feed(Input::Answered(once)).unwrap();
    assert!(matches!(run.next(), Next::CallTools { .. }));
}

/// Begins a new history before the second step.
struct Replaces;

#[async_trait]
impl LoopControl for Replaces {
    async fn prepare_step(&self, step: &StepView<'_>) -> StepOverrides {
        let mut overrides = StepOverrides::default();
        if step.steps().len() == 1 {
            overrides.history = Some(vec![Arc::new(Message::user("a summary"))]);
        }
        overrides
    }
}

/// [AC-28]
#[tokio::test]
async fn ids_of_calls_stay_unique_over_a_new_history_and_a_restart() {
    let model = ScriptedModel::new()
        .reply(calls(&[("call_0", "echo", r#"{"text":"1"}"#)]))
        .reply(calls(&[("call_1", "asks", r#"{"text":"2"}"#)]))
        .reply(calls(&[("call_0", "echo", r#"{"text":"3"}"#)]))
        .reply(Script::text_reply("done"));
    let asks = tool_fn("asks", "", |args: Text, _| async move { Ok(args.text) }).with_approval();
    let agent = loop_of(&model, ToolSet::new().with(echo()).unwrap().with(asks).unwrap());
    let (_, end) = run(&agent, RunOptions::default().with_control(Arc::new(Replaces))).await;
    let stored = serde_json::to_vec(&end.snapshot).unwrap();
    let (handle, events) =
        agent.resume(RunSnapshot::from_json(&stored).unwrap().into_run(), RunOptions::default());
    handle.decide(&"call_1".into(), Decision::approve()).unwrap();
    let Some(LoopEvent::End(end)) = events.collect::<Vec<_>>().await.pop() else { panic!("no end") };
    assert_eq!(end.outcome, Outcome::Finished);
    let ids: Vec<_> =
        end.steps.iter().flat_map(|step| &step.tools).map(|tool| tool.result.tool_call_id.as_str()).collect();
    assert_eq!(ids.len(), 3);
    assert_eq!(ids.iter().collect::<std::collections::HashSet<_>>().len(), 3, "{ids:?}");
}
