//! Calls at the provider that ask for consent.

use std::sync::Arc;

use ai_core::run::{Input, Interruption, Outcome, Run, RunSnapshot, ToolStatus};
use ai_core::{Approvals, DecideError, Decision, LoopEvent, RunOptions, ToolEvent, ToolSet, client_tool};
use ai_provider::{
    CancellationToken, Finish, Message, StreamPart, ToolApprovalRequest, ToolCall, ToolOutput, ToolPart,
    ToolResult, UnifiedFinish, Usage,
};
use ai_testkit::{Script, ScriptedModel};
use futures_util::StreamExt;
use serde_json::json;

use crate::support::{answer, check_history, echo, fact, loop_of, new_run, prepared, run};

fn at_provider(id: &str) -> [StreamPart; 2] {
    let mut call = ToolCall::new(id, "mcp.delete", "{}");
    call.provider_executed = true;
    let approval_id = format!("ask_{id}").into();
    [
        StreamPart::ToolCall(Box::new(call)),
        StreamPart::ToolApprovalRequest(ToolApprovalRequest { approval_id, tool_call_id: id.into() }),
    ]
}

fn asks() -> Script {
    Script::new().text("I need consent.").parts(at_provider("m")).usage(1, 1).finish(UnifiedFinish::Stop)
}

/// What the last message of a history says to the provider: question, yes or no, reason.
fn said(messages: &[Arc<Message>]) -> Vec<(String, bool, Option<String>)> {
    let Some(Message::Tool(last)) = messages.last().map(|last| &**last) else { return Vec::new() };
    let answers = last.parts.iter().filter_map(|part| match part {
        ToolPart::ToolApprovalResponse(answer) => {
            Some((answer.approval_id.to_string(), answer.approved, answer.reason.clone()))
        }
        _ => None,
    });
    answers.collect()
}

/// [AC-338]
#[tokio::test]
async fn consent_to_a_call_at_the_provider_goes_there_with_the_next_request() {
    for approved in [true, false] {
        let model = ScriptedModel::new().reply(asks()).reply(Script::text_reply("done"));
        let agent = loop_of(&model, ToolSet::new());
        let (_, end) = run(&agent, RunOptions::default()).await;
        let Outcome::AwaitingApproval { calls } = &end.outcome else { panic!("{:?}", end.outcome) };
        assert_eq!((calls.len(), calls[0].id.as_str()), (1, "m"));
        let stored = serde_json::to_vec(&end.snapshot).unwrap();
        let waiting = RunSnapshot::from_json(&stored).unwrap();
        assert_eq!(waiting, end.snapshot);
        assert_eq!(waiting.run().pending_approvals()[0].approval_id, "ask_m", "the provider's own id");

        let (handle, events) = agent.resume(waiting.into_run(), RunOptions::default());
        let decision = if approved { Decision::approve() } else { Decision::deny("not today") };
        handle.decide(&"m".into(), decision).unwrap();
        let mut events: Vec<_> = events.collect().await;
        let Some(LoopEvent::End(end)) = events.pop() else { panic!("no end") };
        assert_eq!((end.outcome.as_str(), end.steps.len()), ("finished", 2));
        let reason = (!approved).then(|| "not today".to_owned());
        assert_eq!(said(&model.requests()[1].messages), [("ask_m".to_owned(), approved, reason)]);
        check_history(end.snapshot.run().messages()).unwrap();
        let told = events.iter().filter(|event| {
            matches!(event, LoopEvent::Tool(ToolEvent::ApprovalAnswered(answer)) if answer.approved == approved)
        });
        assert_eq!(told.count(), 1);
        assert!(end.steps[0].tools.is_empty(), "nothing ran here");
    }
}

/// [AC-338] [AC-24]
#[tokio::test]
async fn consent_is_given_while_the_run_waits_in_place() {
    let script = Script::new()
        .parts(at_provider("m"))
        .tool_call("a", "echo", r#"{"text":"x"}"#)
        .parts(at_provider("n"))
        .usage(1, 1)
        .finish(UnifiedFinish::ToolCalls);
    let model = ScriptedModel::new().reply(script).reply(Script::text_reply("done"));
    let agent = loop_of(&model, ToolSet::new().with(echo()).unwrap()).with_approvals(Approvals::InPlace);
    let (handle, mut events) = agent.start([Message::user("go")], RunOptions::default());
    let mut end = None;
    while let Some(event) = events.next().await {
        match event {
            LoopEvent::Tool(ToolEvent::Finished(record)) => {
                assert_eq!(record.status, ToolStatus::Ok, "what needs no consent runs first");
                assert_eq!(handle.decide(&"z".into(), Decision::approve()), Err(DecideError::Unknown));
                assert_eq!(handle.decide(&"n".into(), Decision::deny("no")), Ok(()));
                assert_eq!(handle.decide(&"n".into(), Decision::deny("no")), Ok(()));
                assert_eq!(handle.decide(&"n".into(), Decision::approve()), Err(DecideError::AlreadyDecided));
                assert_eq!(handle.decide(&"m".into(), Decision::approve()), Ok(()));
            }
            LoopEvent::End(ended) => end = Some(ended),
            _ => {}
        }
    }
    assert_eq!(end.unwrap().outcome, Outcome::Finished);
    let request = &model.requests()[1].messages;
    let no = Some("no".to_owned());
    assert_eq!(said(request), [("ask_m".to_owned(), true, None), ("ask_n".to_owned(), false, no)]);
    check_history(request).unwrap();
}

/// [AC-338]
#[test]
fn a_run_that_is_cut_denies_what_waits_for_consent_at_the_provider() {
    let mut run = new_run();
    run.feed(prepared(vec![fact("echo")])).unwrap();
    let mut parts = at_provider("m").to_vec();
    parts.push(StreamPart::Finish(Box::new(Finish {
        reason: UnifiedFinish::Stop.into(),
        usage: Usage::default(),
        metadata: None,
    })));
    run.feed(answer(&parts)).unwrap();
    assert_eq!(run.pending_approvals().len(), 1);
    run.feed(Input::Interrupted { by: Interruption::Cancelled, partial: None }).unwrap();
    let said = said(run.messages());
    assert_eq!((said.len(), said[0].1), (1, false));
    assert!(said[0].2.as_ref().unwrap().contains("interrupted"));
    check_history(run.messages()).unwrap();
    let again: Run = serde_json::from_value(serde_json::to_value(&run).unwrap()).unwrap();
    assert_eq!(again, run);
}

/// [AC-338] [AC-305]
#[tokio::test]
async fn consent_is_kept_where_other_calls_of_the_step_are_handed_over() {
    let script = Script::new()
        .parts(at_provider("m"))
        .tool_call("c", "place", "{}")
        .usage(1, 1)
        .finish(UnifiedFinish::ToolCalls);
    let model = ScriptedModel::new().reply(script).reply(Script::text_reply("done"));
    let place = client_tool("place", "", json!({"type": "object"}));
    let agent = loop_of(&model, ToolSet::new().with(place).unwrap());
    let cancel = CancellationToken::new();
    let (_, end) = run(&agent, RunOptions::default().with_cancel(cancel)).await;
    assert_eq!(end.outcome.as_str(), "awaiting-approval");
    let (handle, events) = agent.resume(end.snapshot.into_run(), RunOptions::default());
    handle.decide(&"m".into(), Decision::approve()).unwrap();
    let Some(LoopEvent::End(end)) = events.collect::<Vec<_>>().await.pop() else { panic!("no end") };
    assert_eq!(end.outcome.as_str(), "handed-over");
    let stored = serde_json::to_vec(&end.snapshot).unwrap();
    let mut run = RunSnapshot::from_json(&stored).unwrap().into_run();
    let result = ToolResult::new("c", "place", ToolOutput::Text("here".into()));
    run.feed(Input::Returned(vec![result])).unwrap();
    assert_eq!(said(run.messages()), [("ask_m".to_owned(), true, None)]);
    check_history(run.messages()).unwrap();
    assert_eq!(run.messages().len(), 3, "the history has the step once");
}
