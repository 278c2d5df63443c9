//! What an audit is told.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ai_core::{Approvals, Decision, OnError};
use ai_provider::{
    CancellationToken, ErrorClass, Finish, FinishReason, Message, ModelError, StreamPart,
    ToolApprovalRequest, ToolCall, UnifiedFinish, Usage,
};
use ai_testkit::{Script, ScriptedModel};
use futures_util::StreamExt;
use serde_json::{Value, json};

use super::support::{SECRET, agent, ask, run, run_with, tool_loop};
use crate::{
    Agent, AgentEvent, Audit, AuditEntry, AuditEvent, AuditRecord, CallTimeline, Hooks, Missing, Timeouts,
    UiChunk, Unresolved,
};

/// Keeps what an agent's audit is told.
#[derive(Clone, Default)]
pub(crate) struct Heard(Arc<Mutex<Vec<AuditEntry>>>);

impl Heard {
    pub(crate) fn audit(&self) -> Audit {
        let heard = Arc::clone(&self.0);
        Audit::new(move |entry| heard.lock().unwrap().push(entry))
    }

    /// What was told of one run, which is in order.
    pub(crate) fn record(&self) -> AuditRecord {
        let entries = std::mem::take(&mut *self.0.lock().unwrap());
        for (entry, number) in entries.iter().zip(1..) {
            assert_eq!((entry.seq, &entry.run), (number, &entries[0].run));
        }
        assert!(entries.is_sorted_by_key(|entry| (entry.step, entry.at)));
        assert!(matches!(entries.first().unwrap().event, AuditEvent::RunStarted));
        let ends = entries.iter().filter(|entry| matches!(entry.event, AuditEvent::RunEnded { .. })).count();
        assert_eq!(ends, 1);
        assert!(matches!(entries.last().unwrap().event, AuditEvent::RunEnded { .. }));
        entries.into_iter().collect()
    }
}

/// The entries as `type`, or `type call`, in order.
fn kinds(record: &AuditRecord) -> Vec<String> {
    let told = record.entries().iter().map(|entry| serde_json::to_value(entry).unwrap());
    told.map(|entry| match entry["callId"].as_str() {
        Some(call) => format!("{} {call}", entry["type"].as_str().unwrap()),
        None => entry["type"].as_str().unwrap().to_owned(),
    })
    .collect()
}

fn timeline(record: &AuditRecord) -> Vec<String> {
    let mut timeline = CallTimeline::new();
    timeline.extend(record.entries());
    timeline.lines().map(str::to_owned).collect()
}

const QUESTION: &str = "Where does Ada live?";

/// A run in which everything that is said can be told from everything else.
fn talkative() -> ScriptedModel {
    let calls = Script::new()
        .reasoning("SAID-reasoning")
        .text("SAID-text")
        .tool_call("a", "echo", r#"{"text":"SAID-input"}"#)
        .tool_call("b", "fails", "{}")
        .usage(3, 5)
        .finish(UnifiedFinish::ToolCalls);
    let usage = Usage { raw: Some(json!({"note": "SAID-usage"}).into()), ..Usage::default() };
    let finish = Finish { reason: FinishReason::from(UnifiedFinish::Stop), usage, metadata: None };
    ScriptedModel::new()
        .reply(calls)
        .reply(Script::new().text("SAID-text").part(StreamPart::Finish(Box::new(finish))))
}

/// [AL-244]
#[tokio::test]
async fn a_run_is_told_from_its_start_to_its_end_however_it_is_read() {
    let heard = Heard::default();
    let wanted = [
        "run-started",
        "step-started",
        "call-made a",
        "call-made b",
        "call-decided a",
        "call-started a",
        "call-ended a",
        "call-decided b",
        "call-started b",
        "call-ended b",
        "step-ended",
        "step-started",
        "step-ended",
        "run-ended",
    ];
    let agent_of = || agent(&talkative()).with_audit(heard.audit());
    run(ask(&agent_of())).await;
    let streamed = heard.record();
    agent_of().generate("Go.", CancellationToken::new()).await.unwrap();
    for record in [&streamed, &heard.record()] {
        let mut kinds = kinds(record);
        // The two tools run side by side.
        kinds[4..10].sort_by_key(|kind| kind.ends_with('b'));
        assert_eq!(kinds, wanted);
        assert_eq!((record.outcome(), record.left_out()), (Some("finished"), 0));
    }
    let steps: Vec<_> = streamed.entries().iter().map(|entry| entry.step).collect();
    assert_eq!(steps, [0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2]);
    let AuditEvent::StepEnded { parts, usage, finish, .. } = &streamed.entries()[10].event else { panic!() };
    let parts: Vec<_> = parts.iter().map(|part| (part.kind.as_str(), part.digest.bytes)).collect();
    assert_eq!(parts, [("reasoning", 14), ("text", 9), ("tool-call", 21), ("tool-call", 2)]);
    assert_eq!((usage.total(), finish.unified), (Some(8), UnifiedFinish::ToolCalls));
    assert_eq!(streamed.missing(), [Missing::Usage { step: 2 }]);
}

/// [AL-245]
#[tokio::test]
async fn nothing_that_is_said_is_told_unless_asked_for() {
    let heard = Heard::default();
    let tell = |content: bool, key: &'static str| {
        let audit = heard.audit().with_content(content).with_hash_key(key);
        let agent = agent(&talkative()).with_audit(audit);
        let heard = heard.clone();
        async move {
            run(agent.stream([Message::user(QUESTION)], CancellationToken::new())).await;
            heard.record()
        }
    };
    let hashes = |record: &AuditRecord| -> BTreeMap<String, usize> {
        let mut hashes = BTreeMap::new();
        let told = serde_json::to_string(record).unwrap();
        for (at, _) in told.match_indices("\"hash\":\"") {
            *hashes.entry(told[at + 8..at + 24].to_owned()).or_default() += 1;
        }
        hashes
    };
    let (without, with, other) = (tell(false, "k").await, tell(true, "k").await, tell(false, "l").await);
    let text = serde_json::to_string(&without).unwrap();
    for said in ["SAID", QUESTION, SECRET] {
        assert!(!text.contains(said), "{said} in {text}");
    }
    let text = serde_json::to_string(&with).unwrap();
    for said in ["SAID-reasoning", "SAID-text", "SAID-input", "SAID-usage", SECRET] {
        assert!(text.contains(said), "{said} not in {text}");
    }
    assert_eq!(hashes(&without), hashes(&with));
    assert_eq!(hashes(&without).values().max(), Some(&2), "the same text twice has one hash");
    assert!(
        hashes(&without).keys().all(|hash| !hashes(&other).contains_key(hash)),
        "another key, other hashes"
    );
    let again: AuditRecord = serde_json::from_str(&serde_json::to_string(&with).unwrap()).unwrap();
    assert_eq!(again.entries().len(), with.entries().len());
    assert_eq!(serde_json::to_value(&again).unwrap(), serde_json::to_value(&with).unwrap());
}

/// [AL-246]
#[tokio::test]
async fn who_decided_about_a_call_and_how() {
    let calls = ["asks", "asks", "denied", "clock"];
    let script = calls
        .iter()
        .zip(["y", "n", "d", "c"])
        .fold(Script::new(), |script, (tool, id)| script.tool_call(id, tool, "{}"));
    let model = ScriptedModel::new()
        .reply(script.finish(UnifiedFinish::ToolCalls))
        .repeat(Script::text_reply("Well."));
    let heard = Heard::default();
    let agent = Agent::new(tool_loop(&model).with_approvals(Approvals::InPlace)).with_audit(heard.audit());
    let mut stream = ask(&agent);
    let mut asked = 0;
    while let Some(event) = stream.next().await {
        if matches!(event, AgentEvent::Chunk(UiChunk::ToolApprovalRequest { .. })) {
            asked += 1;
            if asked == 2 {
                stream.handle().decide(&"y".into(), Decision::approve()).unwrap();
                stream.handle().decide(&"n".into(), Decision::deny("because")).unwrap();
            }
        }
    }
    let record = heard.record();
    let decided = record.entries().iter().filter_map(|entry| match &entry.event {
        AuditEvent::CallDecided { call_id, by, approved, reason } => {
            Some((call_id.to_string(), json!(by), *approved, reason.as_ref().map(|reason| reason.bytes)))
        }
        _ => None,
    });
    let mut decided: Vec<_> = decided.collect();
    decided.sort_by_key(|decided| decided.0.clone());
    let one = |id: &str, by: &str, approved, reason| (id.to_owned(), json!(by), approved, reason);
    assert_eq!(
        decided,
        [
            one("c", "policy", true, None),
            one("d", "policy", false, None),
            one("n", "person", false, Some(7)),
            one("y", "person", true, None),
        ]
    );
    let mut lines = timeline(&record);
    lines.sort();
    assert_eq!(
        lines,
        [
            "call c · policy allow · started · ok",
            "call d · policy deny · denied",
            "call n · asked · person deny · denied",
            "call y · asked · person allow · started · ok",
        ]
    );
}

/// [AL-246] [AL-244]
#[tokio::test]
async fn a_decision_about_a_stored_run_names_the_call() {
    let server_call = ToolCall { provider_executed: true, ..ToolCall::new("s", "search", "{}") };
    let asked = ToolApprovalRequest { approval_id: "q".into(), tool_call_id: "s".into() };
    let asking = Script::new()
        .tool_call("a", "asks", "{}")
        .part(StreamPart::ToolCall(Box::new(server_call)))
        .part(StreamPart::ToolApprovalRequest(asked));
    let model = ScriptedModel::new()
        .reply(Script::tool_reply("c", "clock", "{}"))
        .reply(asking.finish(UnifiedFinish::ToolCalls))
        .repeat(Script::new().text("Done.").usage(1, 1).finish(UnifiedFinish::Stop));
    let heard = Heard::default();
    let agent = Agent::new(tool_loop(&model)).with_audit(heard.audit());
    let waiting = run(ask(&agent)).await;
    assert_eq!(heard.record().outcome(), Some("awaiting-approval"));
    let stored = waiting.stream.run_end().unwrap().snapshot.clone();
    let mut running = agent.resume(stored, CancellationToken::new());
    running.handle().decide(&"a".into(), Decision::deny("no")).unwrap();
    running.handle().decide(&"s".into(), Decision::approve()).unwrap();
    while running.next().await.is_some() {}
    let record = heard.record();
    assert_eq!((record.outcome(), record.entries()[0].step), (Some("finished"), 1));
    let mut lines = timeline(&record);
    lines.sort();
    assert_eq!(lines, ["call a · person deny · denied", "call s · person allow"]);
    let unknown = Missing::Result {
        step: 1,
        call_id: "s".into(),
        tool: "search".to_owned(),
        state: Unresolved::Unknown,
    };
    assert!(record.missing().contains(&unknown), "{:?}", record.missing());
}

/// [AL-247]
#[tokio::test(start_paused = true)]
async fn a_call_of_unknown_delivery_is_told_and_is_missing() {
    let script = Script::new().tool_call("c18", "hangs", "{}").tool_call("c19", "slow", "{}");
    let model = || {
        let calls = script.clone().finish(UnifiedFinish::ToolCalls);
        ScriptedModel::new().reply(calls).repeat(Script::text_reply("Well."))
    };
    let heard = Heard::default();
    let limits = Timeouts::new().with_tool(Duration::from_secs(5));
    run(ask(&agent(&model()).with_timeouts(limits).with_audit(heard.audit()))).await;
    let record = heard.record();
    assert_eq!(
        timeline(&record),
        [
            "call c18 · policy allow · started · timed out, delivery unknown, not retried",
            "call c19 · policy allow · started · ok"
        ]
    );
    let unresolved = |call: &str, tool: &str, state| Missing::Result {
        step: 1,
        call_id: call.into(),
        tool: tool.to_owned(),
        state,
    };
    let missing = record.missing();
    assert!(missing.contains(&unresolved("c18", "hangs", Unresolved::DeliveryUnknown)), "{missing:?}");
    assert_eq!(missing.iter().filter(|missing| missing.needs_check()).count(), 1);
    let ended = record.entries().iter().find_map(|entry| match &entry.event {
        AuditEvent::CallEnded { call_id, duration_ms, .. } if *call_id == "c18" => *duration_ms,
        _ => None,
    });
    assert_eq!(ended, Some(5000));

    // A run that is dropped while they run: what it was doing is told all the same.
    let mut stream = ask(&agent(&model()).with_audit(heard.audit()));
    while let Some(event) = stream.next().await {
        if matches!(&event, AgentEvent::Chunk(UiChunk::ToolInputAvailable { tool_call_id, .. }) if *tool_call_id == "c19")
        {
            let _ = tokio::time::timeout(Duration::from_millis(500), stream.next()).await;
            break;
        }
    }
    drop(stream);
    let record = heard.record();
    assert_eq!(record.outcome(), Some("cancelled"));
    assert_eq!(
        timeline(&record),
        [
            "call c18 · policy allow · started · cut off, delivery unknown, not retried",
            "call c19 · policy allow · started · cancelled"
        ]
    );
    let missing = record.missing();
    assert!(missing.contains(&unresolved("c18", "hangs", Unresolved::DeliveryUnknown)), "{missing:?}");
    assert!(missing.contains(&unresolved("c19", "slow", Unresolved::Cancelled)), "{missing:?}");
}

/// [AL-248]
#[tokio::test]
async fn a_run_that_is_dropped_has_its_end_polled_or_not() {
    let heard = Heard::default();
    let agent =
        agent(&ScriptedModel::new().repeat(Script::text_reply("Hello you."))).with_audit(heard.audit());
    drop(ask(&agent));
    assert_eq!(kinds(&heard.record()), ["run-started", "run-ended"]);
    let whole = run(ask(&agent)).await.chunks.len();
    heard.record();
    for polls in 1..whole {
        let mut stream = ask(&agent);
        for _ in 0..polls {
            stream.next().await;
        }
        drop(stream);
        assert!(heard.record().outcome().is_some(), "{polls}");
    }
}

/// [AL-249]
#[tokio::test]
async fn an_audit_that_panics_takes_nothing_from_the_run() {
    let audit = Audit::new(|_| std::panic::panic_any(SECRET));
    let ran = run(ask(&agent(&talkative()).with_audit(audit))).await;
    assert_eq!((ran.outcome.as_str(), ran.steps), ("finished", 2));
}

/// [AL-254]
#[tokio::test]
async fn what_was_shown_and_taken_back_is_told_apart_from_the_answer() {
    let broken = ModelError::new(ErrorClass::Transport, "SAID reset").with_status(502);
    let model = ScriptedModel::new()
        .reply(Script::new().text("SAID half").tool_call("x", "clock", "{}").error(broken))
        .repeat(Script::text_reply("SAID whole"));
    let heard = Heard::default();
    let retries = Hooks::new().on_error(|_| async { Ok(OnError::Retry) });
    let ran = run(ask(&agent(&model).with_hooks(retries).with_audit(heard.audit()))).await;
    assert_eq!(ran.stream.new_messages().len(), 1, "one committed answer");
    let record = heard.record();
    let wanted = [
        "run-started",
        "step-started",
        "call-made x",
        "step-reset",
        "step-started",
        "step-ended",
        "run-ended",
    ];
    assert_eq!(kinds(&record), wanted);
    let AuditEvent::StepReset { error } = &record.entries()[3].event else { panic!() };
    assert_eq!((error.class, error.status), (ErrorClass::Transport, Some(502)));
    let AuditEvent::RunEnded { withdrawn, unfinished, missing, .. } = &record.entries()[6].event else {
        panic!()
    };
    assert_eq!((withdrawn.len(), withdrawn[0].step, unfinished.len()), (1, 1, 0));
    let parts: Vec<_> =
        withdrawn[0].parts.iter().map(|part| (part.kind.as_str(), part.digest.bytes)).collect();
    assert_eq!(parts, [("text", 9), ("tool-call", 2)]);
    assert_eq!(missing, &[Missing::Usage { step: 1 }], "the call that was taken back is not missing");
    assert!(!serde_json::to_string(&record).unwrap().contains("SAID"));
}

/// [AL-250]
#[tokio::test]
async fn a_record_says_how_the_run_ended_and_what_it_lacks() {
    let heard = Heard::default();
    let server_call = ToolCall { provider_executed: true, ..ToolCall::new("s", "search", "{}") };
    let script = Script::new()
        .text("Half")
        .tool_call("a", "clock", "{}")
        .part(StreamPart::ToolCall(Box::new(server_call)))
        .part(StreamPart::ToolInputStart {
            id: "i".into(),
            tool_name: "echo".to_owned(),
            provider_executed: false,
            dynamic: false,
            title: None,
        })
        .error(ModelError::new(ErrorClass::Incomplete, "cut"));
    run(ask(&agent(&ScriptedModel::new().reply(script)).with_audit(heard.audit()))).await;
    let record = heard.record();
    assert_eq!(record.outcome(), Some("failed"));
    assert_eq!(
        serde_json::to_value(record.missing()).unwrap(),
        json!([
            {"type": "rest-of-answer", "step": 1},
            {"type": "usage", "step": 1},
            {"type": "result", "step": 1, "callId": "a", "tool": "clock", "state": "not-run"},
            {"type": "result", "step": 1, "callId": "s", "tool": "search", "state": "unknown"},
            {"type": "input", "step": 1, "callId": "i", "tool": "echo"},
        ])
    );
    let half: AuditRecord = record.entries()[..3].iter().cloned().collect();
    assert_eq!((half.outcome(), half.missing()), (None, &[Missing::Ending][..]));
    let gap: AuditRecord = [0, 1, 4].map(|at| record.entries()[at].clone()).into_iter().collect();
    assert_eq!(gap.left_out(), 2);

    for (tool, state) in [("asks", "awaits-approval"), ("client", "handed-over")] {
        let model = ScriptedModel::new().reply(Script::tool_reply("a", tool, "{}"));
        run(ask(&agent(&model).with_audit(heard.audit()))).await;
        let missing = serde_json::to_value(heard.record().missing()).unwrap();
        let result = json!({"type": "result", "step": 1, "callId": "a", "tool": tool, "state": state});
        assert!(missing.as_array().unwrap().contains(&result), "{missing}");
    }
    let cancel = CancellationToken::new();
    let stream = agent(&ScriptedModel::new().reply(Script::new().text("Half").hang()))
        .with_audit(heard.audit())
        .stream([Message::user("Go.")], cancel.clone());
    run_with(stream, |poll| {
        if poll == 4 {
            cancel.cancel();
        }
    })
    .await;
    let missing: Value = serde_json::to_value(heard.record().missing()).unwrap();
    assert_eq!(missing, json!([{"type": "rest-of-answer", "step": 1}, {"type": "usage", "step": 1}]));
}
