//! How runs end, and what is said of it.

use std::sync::Arc;
use std::time::Duration;

use ai_core::run::{BudgetKind, Outcome, StepRecord, Verdict};
use ai_core::{Approvals, Decision, LoopControl, OnError, RunOptions, StepFailure, StepView};
use ai_provider::{
    ErrorClass, Message, ModelError, StreamPart, ToolCall, ToolOutput, ToolResult, UnifiedFinish,
};
use ai_testkit::{Script, ScriptedModel};
use async_trait::async_trait;
use futures_util::StreamExt;
use serde_json::json;

use super::support::{Ran, SECRET, agent, ask, read, run, tool_loop};
use crate::{Agent, AgentEvent, AgentStream, UiChunk};

/// Takes part as told.
#[derive(Default)]
struct Control {
    verdicts: Vec<Verdict>,
    retry: bool,
}

#[async_trait]
impl LoopControl for Control {
    async fn on_step_end(&self, _: &Arc<StepRecord>) {}

    async fn stop_when(&self, _: &StepView<'_>) -> Vec<Verdict> {
        self.verdicts.clone()
    }

    async fn on_step_error(&self, _: &StepFailure<'_>) -> OnError {
        if self.retry { OnError::Retry } else { OnError::Abort }
    }
}

fn ask_with(agent: &Agent, control: Control) -> AgentStream {
    agent.start(vec![Message::user("Go.").into()], RunOptions::default().with_control(Arc::new(control)))
}

fn broken() -> ModelError {
    ModelError::new(ErrorClass::Transport, SECRET)
}

/// The last chunk of a run.
fn ends(ran: &Ran, outcome: &str, last: &str) {
    assert_eq!(ran.outcome.as_str(), outcome);
    assert_eq!(serde_json::to_value(ran.last()).unwrap(), read(last), "{outcome}");
    assert_eq!(ran.stream.run_end().unwrap().outcome, ran.outcome);
}

async fn once(script: Script) -> Ran {
    run(ask(&agent(&ScriptedModel::new().reply(script)))).await
}

/// [AL-21] [AL-22]
#[tokio::test]
async fn answers_that_end_the_run() {
    let finish = |reason| Script::new().text("Well.").finish(reason);
    ends(&once(finish(UnifiedFinish::Stop)).await, "finished", r#"finish {"finishReason":"stop"}"#);
    ends(&once(finish(UnifiedFinish::Other)).await, "finished", r#"finish {"finishReason":"other"}"#);
    ends(&once(finish(UnifiedFinish::Length)).await, "truncated", r#"finish {"finishReason":"length"}"#);
    let refused = once(finish(UnifiedFinish::ContentFilter)).await;
    ends(&refused, "refused", r#"finish {"finishReason":"content-filter"}"#);
    let client = once(Script::tool_reply("a", "client", "{}")).await;
    ends(&client, "handed-over", r#"finish {"finishReason":"tool-calls"}"#);
    assert!(client.only(&["tool-output-available", "tool-output-error"]).is_empty());

    let masked = r#"error {"errorText":"Something went wrong."}"#;
    ends(&once(finish(UnifiedFinish::Error)).await, "failed", masked);
    ends(&once(Script::new().finish(UnifiedFinish::Stop)).await, "failed", masked);
    ends(&once(Script::new().reasoning("Hm.").finish(UnifiedFinish::Stop)).await, "failed", masked);
    ends(&once(Script::new().text("Well.").end()).await, "failed", masked);
    ends(&once(Script::new().error(broken())).await, "failed", masked);
    ends(&once(Script::new().text("Well.").error(broken())).await, "failed", masked);
}

/// [AL-22]
#[tokio::test(start_paused = true)]
async fn runs_that_are_stopped() {
    let again = || ScriptedModel::new().repeat(Script::tool_reply("a", "clock", "{}"));
    let stop =
        |verdict| run(ask_with(&agent(&again()), Control { verdicts: vec![verdict], ..Control::default() }));
    ends(&stop(Verdict::SteerYield).await, "steer-yield", r#"finish {"finishReason":"tool-calls"}"#);
    let condition = Verdict::Stop { condition: "enough".to_owned() };
    ends(&stop(condition).await, "finished", r#"finish {"finishReason":"tool-calls"}"#);
    let spent = Verdict::Budget { kind: BudgetKind::Tokens };
    ends(&stop(spent).await, "budget", r#"finish {"finishReason":"other"}"#);
    let guard = Verdict::LoopGuard { tool: "clock".to_owned() };
    let last = r#"error {"errorText":"The run was stopped: it repeated the same call of `clock`."}"#;
    ends(&stop(guard).await, "loop-guard", last);

    let agent = agent(&ScriptedModel::new().reply(Script::tool_reply("a", "hangs", "{}")));
    let options = RunOptions::default().with_timeout(Duration::from_secs(5));
    let late = run(agent.start(vec![Message::user("Go.").into()], options)).await;
    ends(&late, "budget", r#"finish {"finishReason":"other"}"#);
    assert_eq!(late.only(&["tool-output-error"]).len(), 1);
}

/// [AL-22] [AL-29]
#[tokio::test]
async fn the_step_cap() {
    let model = ScriptedModel::new().repeat(Script::tool_reply("a", "clock", "{}"));
    let ran = run(ask(&Agent::new(tool_loop(&model).with_step_cap(3)))).await;
    let last =
        r#"error {"errorText":"The limit of 3 steps was reached. Raise it, or ask for less at once."}"#;
    ends(&ran, "step-cap", last);
    assert_eq!((ran.steps, model.requests().len()), (3, 3));
    assert_eq!(ran.stream.new_messages().len(), 6);
}

/// [AL-22] [AL-23]
#[tokio::test]
async fn a_trusted_tool_ends_the_run_in_its_own_words() {
    let model = ScriptedModel::new().reply(Script::tool_reply("a", "stops", "{}"));
    let ran = run(ask(&agent(&model))).await;
    ends(&ran, "tool-terminal", r#"error {"errorText":"Your account is closed."}"#);
    assert_eq!(ran.only(&["tool-output-error"]).len(), 1);
}

/// [AL-23]
#[tokio::test]
async fn errors_are_masked_unless_mapped() {
    let model = || ScriptedModel::new().reply(Script::new().text("Well.").error(broken()));
    let masked = run(ask(&agent(&model()))).await;
    assert!(!masked.json().contains(SECRET));
    let error = masked.stream.run_end().unwrap().error.as_ref().unwrap();
    assert_eq!((error.class(), error.message()), (ErrorClass::Transport, SECRET));

    let mapped = agent(&model()).with_error_text(|error| format!("Sorry ({}).", error.class));
    ends(&run(ask(&mapped)).await, "failed", r#"error {"errorText":"Sorry (transport)."}"#);
    let plain = run(ask(&agent(&model()).with_plain_errors())).await;
    ends(&plain, "failed", &format!(r#"error {{"errorText":"transport: {SECRET}"}}"#));
}

/// [AL-25]
#[tokio::test]
async fn what_was_begun_is_ended_when_the_answer_breaks() {
    let begun = [
        StreamPart::reasoning_start("r"),
        StreamPart::text_start("t"),
        StreamPart::text_delta("t", "Half a"),
        StreamPart::ToolInputStart {
            id: "b".into(),
            tool_name: "echo".to_owned(),
            provider_executed: false,
            dynamic: false,
            title: Some("Echo".to_owned()),
        },
        StreamPart::ToolInputDelta { id: "b".into(), delta: "{\"te".to_owned() },
    ];
    let script = Script::new().tool_call("a", "clock", "{}").parts(begun);
    let shown = [
        r#"start {"messageId":"m1"}"#,
        "start-step",
        r#"tool-input-start {"toolCallId":"a","toolName":"clock"}"#,
        r#"tool-input-delta {"toolCallId":"a","inputTextDelta":"{}"}"#,
        r#"tool-input-available {"toolCallId":"a","toolName":"clock","input":{}}"#,
        r#"reasoning-start {"id":"r"}"#,
        r#"text-start {"id":"t"}"#,
        r#"text-delta {"id":"t","delta":"Half a"}"#,
        r#"tool-input-start {"toolCallId":"b","toolName":"echo","title":"Echo"}"#,
        r#"tool-input-delta {"toolCallId":"b","inputTextDelta":"{\"te"}"#,
        r#"reasoning-end {"id":"r"}"#,
        r#"text-end {"id":"t"}"#,
        r#"tool-input-error {"toolCallId":"b","toolName":"echo","title":"Echo","input":"{\"te","errorText":"The call was cut off."}"#,
    ];
    let cut_off = r#"tool-output-error {"toolCallId":"a","errorText":"The call was cut off."}"#;
    let failed = ["finish-step", r#"error {"errorText":"Something went wrong."}"#];
    once(script.clone().error(broken())).await.expect(&[&shown[..], &[cut_off], &failed[..]].concat());
    once(script.clone().end()).await.expect(&[&shown[..], &[cut_off], &failed[..]].concat());

    // An answer cut at its length limit is an answer: the loop itself says that its call was not run.
    let skipped = r#"tool-output-error {"toolCallId":"a","errorText":"Something went wrong."}"#;
    let truncated = ["finish-step", r#"finish {"finishReason":"length"}"#];
    let ran = once(script.finish(UnifiedFinish::Length)).await;
    let (before, after) = shown.split_at(10);
    ran.expect(&[before, &[skipped], after, &truncated[..]].concat());
}

fn server_call(id: &str) -> StreamPart {
    StreamPart::ToolCall(Box::new(ToolCall { provider_executed: true, ..ToolCall::new(id, "search", "{}") }))
}

fn server_result(id: &str, preliminary: bool) -> StreamPart {
    let result = ToolResult::new(id, "search", ToolOutput::Text("found".to_owned()));
    StreamPart::ToolResult(Box::new(ToolResult { provider_executed: true, preliminary, ..result }))
}

/// [AL-16] [AL-25]
#[tokio::test]
async fn only_calls_without_a_result_are_cut_off() {
    let calls = ["a", "b", "c"].map(server_call);
    let script = Script::new().parts(calls).part(server_result("a", false)).part(server_result("b", true));
    let ran = once(script.error(broken())).await;
    let cut_off = |id: &str| {
        json!({
            "type": "tool-output-error", "toolCallId": id,
            "errorText": "The call was cut off.", "providerExecuted": true
        })
    };
    assert_eq!(ran.only(&["tool-output-error"]), [cut_off("b"), cut_off("c")]);
}

/// [AL-16] [AL-20]
#[tokio::test]
async fn a_result_that_comes_in_a_later_step_belongs_to_its_call() {
    let first = Script::new().part(server_call("s")).tool_call("a", "clock", "{}");
    let model = ScriptedModel::new()
        .reply(first.finish(UnifiedFinish::ToolCalls))
        .reply(Script::new().text("Half").error(broken()))
        .reply(Script::new().part(server_result("s", false)).text("Found.").finish(UnifiedFinish::Stop));
    let ran = run(ask_with(&agent(&model), Control { retry: true, ..Control::default() })).await;
    assert_eq!(ran.only(&["reset-step"]).len(), 1);
    let calls = ran.only(&["tool-input-available"]);
    assert_eq!(calls.iter().filter(|call| call["toolCallId"] == "s").count(), 1);
    assert_eq!(ran.only(&["tool-output-available"])[1]["toolCallId"], "s");
}

/// [AL-17]
#[tokio::test]
async fn a_run_pauses_for_approval() {
    let calls = Script::new().tool_call("a", "asks", "{}").tool_call("b", "clock", "{}");
    let ran = once(calls.finish(UnifiedFinish::ToolCalls)).await;
    ends(&ran, "awaiting-approval", r#"finish {"finishReason":"tool-calls"}"#);
    let Outcome::AwaitingApproval { calls } = &ran.outcome else { panic!() };
    assert_eq!(calls[0].id, "a");
    let asked = ran.only(&["tool-approval-request"]);
    assert_eq!(asked, [json!({"type":"tool-approval-request","toolCallId":"a","approvalId":"approval_a"})]);
    // The other call has run; the one that waits is left open.
    let results = ran.only(&["tool-output-available", "tool-output-error"]);
    assert_eq!(results, [json!({"type":"tool-output-available","toolCallId":"b","output":{"hour":12}})]);
}

/// [AL-17]
#[tokio::test]
async fn an_approval_in_place_goes_through_the_handle() {
    let decide = |decision: Decision| async move {
        let model = ScriptedModel::new()
            .reply(Script::tool_reply("a", "asks", "{}"))
            .reply(Script::text_reply("Well."));
        let agent = Agent::new(tool_loop(&model).with_approvals(Approvals::InPlace));
        let mut stream = ask(&agent);
        while let Some(event) = stream.next().await {
            if matches!(event, AgentEvent::Chunk(UiChunk::ToolApprovalRequest { .. })) {
                break;
            }
        }
        stream.handle().decide(&"a".into(), decision).unwrap();
        let rest: Vec<_> = stream.collect().await;
        let chunks = rest.into_iter().filter_map(|event| match event {
            AgentEvent::Chunk(chunk) => Some(serde_json::to_value(chunk).unwrap()),
            _ => None,
        });
        chunks.collect::<Vec<_>>()
    };
    let approved = decide(Decision::approve()).await;
    let answer = json!({"type":"tool-approval-response","approvalId":"approval_a","approved":true});
    assert_eq!(approved[0], answer);
    assert_eq!(approved[1], json!({"type":"tool-output-available","toolCallId":"a","output":"done"}));
    let denied = decide(Decision::deny("no")).await;
    let answer =
        json!({"type":"tool-approval-response","approvalId":"approval_a","approved":false,"reason":"no"});
    assert_eq!(denied[0], answer);
    assert_eq!(denied[1], json!({"type":"tool-output-denied","toolCallId":"a"}));
    for chunks in [approved, denied] {
        assert_eq!(chunks.last().unwrap()["finishReason"], "stop");
    }
}

/// [AL-20]
#[tokio::test]
async fn a_step_that_is_tried_again() {
    let first = Script::new()
        .tool_call("a", "clock", "{}")
        .part(StreamPart::text_start("text-1"))
        .part(StreamPart::text_delta("text-1", "Half"))
        .error(broken());
    let model = ScriptedModel::new().reply(first).reply(Script::text_reply("Whole."));
    let ran = run(ask_with(&agent(&model), Control { retry: true, ..Control::default() })).await;
    ran.expect(&[
        r#"start {"messageId":"m1"}"#,
        "start-step",
        r#"tool-input-start {"toolCallId":"a","toolName":"clock"}"#,
        r#"tool-input-delta {"toolCallId":"a","inputTextDelta":"{}"}"#,
        r#"tool-input-available {"toolCallId":"a","toolName":"clock","input":{}}"#,
        r#"text-start {"id":"text-1"}"#,
        r#"text-delta {"id":"text-1","delta":"Half"}"#,
        "reset-step",
        r#"text-start {"id":"text-1-2"}"#,
        r#"text-delta {"id":"text-1-2","delta":"Whole."}"#,
        r#"text-end {"id":"text-1-2"}"#,
        "finish-step",
        r#"finish {"finishReason":"stop"}"#,
    ]);
    assert_eq!(ran.steps, 1);
}

/// [AL-20]
#[tokio::test]
async fn a_step_that_fails_again_ends_once() {
    let model = ScriptedModel::new().repeat(Script::new().text("Half").error(broken()));
    let ran = run(ask_with(&agent(&model), Control { retry: true, ..Control::default() })).await;
    ends(&ran, "failed", r#"error {"errorText":"Something went wrong."}"#);
    assert_eq!(ran.only(&["start-step", "reset-step", "finish-step"]).len(), 3);
}

/// [AL-272]
#[tokio::test]
async fn a_panic_of_what_maps_errors_or_makes_ids_shows_what_stands_without_it() {
    let model = ScriptedModel::new()
        .reply(Script::tool_reply("a", "fails", "{}"))
        .reply(Script::new().error(ModelError::new(ErrorClass::Server, SECRET)));
    let agent = Agent::new(tool_loop(&model))
        .with_ids(|| panic!("no id"))
        .with_error_text(|_| panic!("no text"))
        .with_tool_error_text(|_| panic!("no text"));
    let ran = run(ask(&agent)).await;
    assert!(matches!(ran.outcome, Outcome::Failed { .. }));
    let told = ran.only(&["tool-output-error", "error"]);
    let texts: Vec<_> = told.iter().map(|chunk| chunk["errorText"].as_str().unwrap()).collect();
    assert_eq!(texts, ["Something went wrong."; 2]);
    let UiChunk::Start { message_id: Some(id), .. } = &ran.chunks[0] else { panic!("{:?}", ran.chunks[0]) };
    assert_eq!(id.len(), 36, "a random one");
}
