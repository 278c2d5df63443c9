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
    let (mut asked, mut answered) = (None, 0);
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
            LoopEvent::Tool(ToolEvent::ApprovalAnswered(answer)) => {
                assert!(answer.approved && answer.approval_id == "approval_a");
                answered += 1;
            }
            LoopEvent::End(end) => {
                assert_eq!(answered, 1);
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

/// [AC-25] [AC-37]
#[tokio::test]
async fn a_cancel_of_a_run_that_waits_shows_the_step_it_closes() {
    let model = model();
    let agent = loop_of(&model, tools());
    let cancel = ai_provider::CancellationToken::new();
    let options = RunOptions::default().with_cancel(cancel.clone());
    let (_handle, mut events) = agent.start([Message::user("go")], options);
    let (mut finished, mut steps, mut end) = (Vec::new(), 0, None);
    while let Some(event) = events.next().await {
        match event {
            LoopEvent::Tool(ToolEvent::Finished(record)) => {
                finished.push(record.result.tool_call_id.to_string());
                // The last thing before the run would be parked.
                cancel.cancel();
            }
            LoopEvent::StepEnd(..) => steps += 1,
            LoopEvent::End(ended) => end = Some(ended),
            _ => {}
        }
    }
    let end = end.unwrap();
    assert_eq!(end.outcome, Outcome::Cancelled { partial: None });
    assert_eq!(finished, ["b", "a"]);
    assert_eq!((steps, end.steps.len()), (1, 1));
    let history: Vec<_> =
        [Arc::new(Message::user("go"))].into_iter().chain(end.new_messages.iter().cloned()).collect();
    check_history(&history).unwrap();
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

/// [AC-24] [AC-28]
#[tokio::test]
async fn a_call_id_that_comes_again_is_another_call_with_a_question_of_its_own() {
    let again = || calls(&[("call_0", "echo", r#"{"text":"x"}"#)]);
    let model =
        ScriptedModel::new().reply(again()).reply(again()).reply(again()).reply(Script::text_reply("done"));
    let agent = loop_of(&model, tools()).with_approvals(Approvals::InPlace);
    let (handle, mut events) = agent.start([Message::user("go")], RunOptions::default());
    let mut asked = Vec::new();
    let mut end = None;
    while let Some(event) = events.next().await {
        match event {
            LoopEvent::Tool(ToolEvent::ApprovalRequested(pending)) => {
                let decision = if asked.len() == 1 { Decision::deny("no") } else { Decision::approve() };
                handle.decide(&pending.call.id, decision).unwrap();
                asked.push(pending.call.id.to_string());
            }
            LoopEvent::End(ended) => end = Some(ended),
            _ => {}
        }
    }
    let end = end.unwrap();
    assert_eq!(end.outcome, Outcome::Finished);
    assert_eq!(asked.iter().collect::<std::collections::HashSet<_>>().len(), 3, "{asked:?}");
    assert_eq!(asked[0], "call_0", "an id is kept unless it is taken");
    let statuses: Vec<_> = end.steps[..3].iter().map(|step| step.tools[0].status.clone()).collect();
    assert_eq!(statuses, [ToolStatus::Ok, ToolStatus::Denied, ToolStatus::Ok]);
    check_history(&model.requests()[3].messages).unwrap();
}

/// [AC-24]
#[tokio::test]
async fn a_decision_that_comes_before_the_run_ends_to_wait_is_followed() {
    let model = model();
    let agent = loop_of(&model, tools());
    let (handle, mut events) = agent.start([Message::user("go")], RunOptions::default());
    let mut end = None;
    while let Some(event) = events.next().await {
        match event {
            LoopEvent::Tool(ToolEvent::ApprovalRequested(pending)) => {
                handle.decide(&pending.call.id, Decision::approve()).unwrap();
            }
            LoopEvent::End(ended) => end = Some(ended),
            _ => {}
        }
    }
    assert_eq!(end.unwrap().outcome, Outcome::Finished);

    let agent = loop_of(&self::model(), tools());
    let (handle, mut events) = agent.start([Message::user("go")], RunOptions::default());
    while let Some(event) = events.next().await {
        if let LoopEvent::End(end) = event {
            assert!(matches!(end.outcome, Outcome::AwaitingApproval { .. }));
            assert_eq!(handle.decide(&"a".into(), Decision::approve()), Err(DecideError::Closed));
        }
    }
}

/// [AC-328]
#[tokio::test]
async fn a_stored_run_takes_decisions_through_its_handle_before_it_is_polled() {
    for approvals in [Approvals::EndRun, Approvals::InPlace] {
        let (_, end) = run(&loop_of(&model(), tools()), RunOptions::default()).await;
        assert!(matches!(end.outcome, Outcome::AwaitingApproval { .. }));
        let rest = ScriptedModel::new().reply(Script::text_reply("done"));
        let agent = loop_of(&rest, tools()).with_approvals(approvals);
        let (handle, events) = agent.resume(end.snapshot.into_run(), RunOptions::default());
        assert_eq!(handle.decide(&"b".into(), Decision::approve()), Err(DecideError::Unknown));
        assert_eq!(handle.decide(&"a".into(), Decision::approve()), Ok(()));
        assert_eq!(handle.decide(&"a".into(), Decision::deny("x")), Err(DecideError::AlreadyDecided));
        let events: Vec<_> = events.collect().await;
        let Some(LoopEvent::End(end)) = events.last() else { panic!("no end") };
        assert_eq!(
            (&end.outcome, end.steps[0].tools[0].status.clone()),
            (&Outcome::Finished, ToolStatus::Ok)
        );
    }
}

/// [AC-328]
#[tokio::test]
async fn many_decisions_are_taken_at_once_and_some_are_enough_to_go_on_with_those() {
    let ids: Vec<_> = (0..1_000).map(|at| format!("c{at}")).collect();
    let script: Vec<_> = ids.iter().map(|id| (id.as_str(), "echo", r#"{"text":"x"}"#)).collect();
    let model = ScriptedModel::new().reply(calls(&script)).reply(Script::text_reply("done"));
    let agent = loop_of(&model, tools());
    let (_, end) = run(&agent, RunOptions::default()).await;
    let Outcome::AwaitingApproval { calls } = &end.outcome else { panic!("{:?}", end.outcome) };
    assert_eq!(calls.len(), 1_000);
    // Half of them first: those run, and the run ends to wait for the others.
    let (handle, events) = agent.resume(end.snapshot.into_run(), RunOptions::default());
    for (at, call) in calls.iter().enumerate().take(500) {
        let decision = if at % 2 == 0 { Decision::approve() } else { Decision::deny("no") };
        handle.decide(&call.id, decision).unwrap();
    }
    let events: Vec<_> = events.collect().await;
    let Some(LoopEvent::End(end)) = events.last() else { panic!("no end") };
    let Outcome::AwaitingApproval { calls } = &end.outcome else { panic!("{:?}", end.outcome) };
    assert_eq!(calls.len(), 500);
    assert_eq!(crate::support::finished(&events).len(), 250);
    assert_eq!(model.requests().len(), 1);
    let (handle, events) = agent.resume(end.snapshot.clone().into_run(), RunOptions::default());
    calls.iter().for_each(|call| handle.decide(&call.id, Decision::approve()).unwrap());
    let events: Vec<_> = events.collect().await;
    let Some(LoopEvent::End(end)) = events.last() else { panic!("no end") };
    assert_eq!(end.outcome, Outcome::Finished);
    let ran = end.steps[0].tools.iter().filter(|tool| tool.status == ToolStatus::Ok).count();
    assert_eq!((ran, end.steps[0].tools.len()), (750, 1_000));
    check_history(&model.requests()[1].messages).unwrap();
}

/// [AC-334]
#[tokio::test]
async fn the_applications_policy_is_asked_before_the_tools_own() {
    let script = [
        ("a", "free", r#"{"text":"1"}"#),
        ("b", "free", r#"{"text":"2"}"#),
        ("c", "echo", r#"{"text":"3"}"#),
        ("d", "echo", r#"{"text":"4"}"#),
        ("e", "free", r#"{"text":"5"}"#),
        ("f", "free", r#"{"text":"6"}"#),
    ];
    let model = ScriptedModel::new().reply(calls(&script)).reply(Script::text_reply("done"));
    let agent = loop_of(&model, tools()).with_approval_policy(|call, ctx| async move {
        assert_ne!(call.id, "f", "the policy panics");
        tokio::task::yield_now().await;
        assert_eq!(ctx.call_id, call.id);
        match call.id.as_str() {
            "a" => Some(ApprovalVerdict::ask(&call.id)),
            "b" => Some(ApprovalVerdict::Denied { reason: Some("not now".to_owned()) }),
            "c" => Some(ApprovalVerdict::Approved),
            _ => None,
        }
    });
    let (events, end) = run(&agent, RunOptions::default()).await;
    let Outcome::AwaitingApproval { calls } = &end.outcome else { panic!("{:?}", end.outcome) };
    // The tool itself asks about `d`, and nobody about `e`.
    assert_eq!(calls.iter().map(|call| call.id.as_str()).collect::<Vec<_>>(), ["a", "d"]);
    let ran: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            LoopEvent::Tool(ToolEvent::Finished(record)) if record.status == ToolStatus::Ok => {
                Some(record.result.tool_call_id.as_str())
            }
            _ => None,
        })
        .collect();
    assert_eq!(ran, ["c", "e"]);
    let (handle, events) = agent.resume(end.snapshot.into_run(), RunOptions::default());
    for id in ["a", "d"] {
        handle.decide(&id.into(), Decision::approve()).unwrap();
    }
    let events: Vec<_> = events.collect().await;
    let Some(LoopEvent::End(end)) = events.last() else { panic!("no end") };
    let statuses: Vec<_> = end.steps[0].tools.iter().map(|tool| tool.status.clone()).collect();
    let (ok, no) = (ToolStatus::Ok, ToolStatus::Denied);
    assert_eq!(statuses, [ok.clone(), no.clone(), ok.clone(), ok.clone(), ok, no]);
}
