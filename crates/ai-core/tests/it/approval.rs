use std::sync::Arc;
use std::time::Duration;

use ai_core::run::{ApprovalVerdict, BudgetKind, Input, Outcome, RunSnapshot, ToolStatus};
use ai_core::{
    Approvals, DecideError, Decision, LoopEvent, RunOptions, Tool, ToolContext, ToolEvent, ToolSet,
    ToolStream,
};
use ai_provider::{FunctionTool, Id, Message};
use ai_testkit::{Script, ScriptedModel};
use async_trait::async_trait;
use futures_util::StreamExt;
use serde_json::{Value, json};

use crate::support::{calls, check_history, echo, loop_of, run};

fn model() -> ScriptedModel {
    ScriptedModel::new()
        .reply(calls(&[("a", "echo", r#"{"text":"x"}"#), ("b", "free", r#"{"text":"y"}"#)]))
        .reply(Script::text_reply("done"))
}

fn tools() -> ToolSet {
    let free = ai_core::tool_fn("free", "", |args: crate::support::Text, _| async move {
        Ok::<_, ai_core::ToolError>(args.text)
    });
    ToolSet::new().with(echo().with_approval()).unwrap().with(free).unwrap()
}

/// [AC-24]
#[tokio::test(start_paused = true)]
async fn a_decision_reaches_a_waiting_run_from_any_task() {
    let model = model();
    let agent = loop_of(&model, tools()).with_approvals(Approvals::InPlace);
    let (handle, mut events) = agent.start([Message::user("go")], RunOptions::default());
    let id = Id::from("a");
    assert_eq!(handle.decide(&id, Decision::approve()), Err(DecideError::Unknown));
    let mut asked = None;
    while let Some(event) = events.next().await {
        match event {
            LoopEvent::Tool(ToolEvent::ApprovalRequested(pending)) => {
                assert_eq!(pending.call.id, "a");
                let handle = handle.clone();
                asked = Some(tokio::spawn(async move {
                    tokio::time::sleep(Duration::from_secs(3600)).await;
                    assert_eq!(handle.decide(&"b".into(), Decision::approve()), Err(DecideError::Unknown));
                    assert_eq!(handle.decide(&"a".into(), Decision::approve()), Ok(()));
                    assert_eq!(handle.decide(&"a".into(), Decision::approve()), Ok(()));
                    assert_eq!(
                        handle.decide(&"a".into(), Decision::deny("no")),
                        Err(DecideError::AlreadyDecided)
                    );
                }));
            }
            LoopEvent::End(end) => {
                assert_eq!(end.outcome, Outcome::Finished);
                assert_eq!(end.steps[0].tools[0].status, ToolStatus::Ok);
            }
            _ => {}
        }
    }
    drop(events);
    asked.expect("a question").await.expect("the decisions are answered as promised");
    assert_eq!(handle.decide(&"z".into(), Decision::approve()), Err(DecideError::Closed));
    check_history(&model.requests()[1].messages).unwrap();
}

/// [AC-41]
#[tokio::test(start_paused = true)]
async fn the_deadline_stands_still_while_a_person_decides() {
    let model =
        ScriptedModel::new().reply(calls(&[("a", "echo", r#"{"text":"x"}"#)])).reply(Script::new().hang());
    let agent = loop_of(&model, tools()).with_approvals(Approvals::InPlace);
    let started = tokio::time::Instant::now();
    let options = RunOptions::default().with_timeout(Duration::from_secs(10));
    let (handle, mut events) = agent.start([Message::user("go")], options);
    let mut outcome = None;
    while let Some(event) = events.next().await {
        match event {
            LoopEvent::Tool(ToolEvent::ApprovalRequested(_)) => {
                let handle = handle.clone();
                tokio::spawn(async move {
                    tokio::time::sleep(Duration::from_secs(600)).await;
                    handle.decide(&"a".into(), Decision::approve()).unwrap();
                });
            }
            LoopEvent::End(end) => outcome = Some(end.outcome),
            _ => {}
        }
    }
    assert_eq!(outcome, Some(Outcome::Budget { kind: BudgetKind::Time }));
    assert_eq!(started.elapsed(), Duration::from_secs(610));
}

/// [AC-23]
#[tokio::test]
async fn a_run_that_waits_can_be_stored_and_resumed_elsewhere() {
    let model = model();
    let agent = loop_of(&model, tools());
    let (_handle, mut events) = agent.start([Message::user("go")], RunOptions::default());
    let mut outcome = None;
    while let Some(event) = events.next().await {
        if let LoopEvent::End(end) = event {
            outcome = Some(end);
        }
    }
    let end = outcome.unwrap();
    let Outcome::AwaitingApproval { calls } = &end.outcome else { panic!("{:?}", end.outcome) };
    assert_eq!(calls[0].id, "a");
    let stored = serde_json::to_vec(&end.snapshot).unwrap();

    let mut stored = serde_json::from_slice::<RunSnapshot>(&stored).unwrap().into_run();
    stored.feed(Input::Answer { call_id: "a".into(), approved: false, reason: Some("no".into()) }).unwrap();
    let (_handle, events) = agent.resume(stored, RunOptions::default());
    let events: Vec<_> = events.collect().await;
    let Some(LoopEvent::End(end)) = events.last() else { panic!("no end") };
    assert_eq!(end.outcome, Outcome::Finished);
    assert_eq!(end.steps[0].tools[0].status, ToolStatus::Denied);
    assert_eq!(end.steps[0].tools[1].status, ToolStatus::Ok);
    check_history(&model.requests()[1].messages).unwrap();
}

/// [AC-45]
#[tokio::test]
async fn a_policy_that_fails_denies() {
    struct Broken;
    #[async_trait]
    impl Tool for Broken {
        fn definition(&self) -> FunctionTool {
            FunctionTool::new("broken", "", json!({"type": "object"}))
        }
        fn needs_approval(&self) -> bool {
            true
        }
        async fn approve(&self, _: &Value, _: &ToolContext) -> ApprovalVerdict {
            panic!("policy")
        }
        fn execute(&self, _: Value, _: ToolContext) -> ToolStream {
            panic!("it must not run")
        }
    }
    let model = ScriptedModel::new().reply(calls(&[("a", "broken", "{}")])).reply(Script::text_reply("ok"));
    let agent = loop_of(&model, ToolSet::new().with_shared(Arc::new(Broken)).unwrap());
    let (events, end) = run(&agent, RunOptions::default()).await;
    assert_eq!(end.steps[0].tools[0].status, ToolStatus::Denied);
    assert_eq!(crate::support::finished(&events), ["a"]);
}
