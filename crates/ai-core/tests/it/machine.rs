use ai_core::run::{
    ApprovalVerdict, BudgetKind, Input, Interruption, Next, Outcome, Run, RunConfig, RunSnapshot,
    TerminalRecord, ToolFacts, ToolRecord, ToolStatus, Verdict,
};
use ai_provider::{
    AssistantMessage, ErrorClass, ErrorRecord, Finish, FinishReason, Message, ModelError, StreamPart,
    ToolCall, ToolOutput, ToolResult, UnifiedFinish, Usage,
};

use crate::support::{answer, check_history, fact, new_run, prepared};

fn finish(unified: UnifiedFinish) -> StreamPart {
    StreamPart::Finish(Box::new(Finish { reason: unified.into(), usage: Usage::default(), metadata: None }))
}

fn text(text: &str) -> Vec<StreamPart> {
    vec![StreamPart::text_start("0"), StreamPart::text_delta("0", text), StreamPart::text_end("0")]
}

fn call(id: &str, name: &str, input: &str) -> StreamPart {
    StreamPart::ToolCall(Box::new(ToolCall::new(id, name, input)))
}

fn done(id: &str, text: &str) -> Input {
    let result = ToolResult::new(id, "f", ToolOutput::Text(text.to_owned()));
    Input::ToolFinished(Box::new(ToolRecord::not_run(result, ToolStatus::Ok)))
}

/// A run whose first answer is these parts, with the tools `f` and `g`.
fn after(parts: &[StreamPart]) -> Run {
    let mut run = new_run();
    run.feed(prepared(vec![fact("f"), fact("g")])).unwrap();
    run.feed(answer(parts)).unwrap();
    run
}

fn with_finish(mut parts: Vec<StreamPart>, unified: UnifiedFinish) -> Vec<StreamPart> {
    parts.push(finish(unified));
    parts
}

fn record() -> ErrorRecord {
    ModelError::new(ErrorClass::Server, "boom").record()
}

fn texts(run: &Run) -> Vec<(String, bool)> {
    run.steps()
        .iter()
        .flat_map(|step| &step.tools)
        .map(|tool| (tool.result.tool_call_id.to_string(), tool.result.output.is_error()))
        .collect()
}

/// [AC-10]
#[test]
fn an_input_out_of_order_is_refused_and_changes_nothing() {
    let stages = [
        new_run(),
        {
            let mut run = new_run();
            run.feed(prepared(vec![fact("f")])).unwrap();
            run
        },
        after(&with_finish(vec![call("a", "f", "{}")], UnifiedFinish::ToolCalls)),
        after(&with_finish(text("hi"), UnifiedFinish::Stop)),
    ];
    let mut refused = 0;
    for stage in stages {
        for input in [
            prepared(Vec::new()),
            answer(&with_finish(text("x"), UnifiedFinish::Stop)),
            Input::ModelFailed { error: record(), partial: AssistantMessage::default(), retry: false },
            Input::Repaired(Vec::new()),
            Input::Decided(Vec::new()),
            Input::Answer { call_id: "a".into(), approved: true, reason: None },
            done("nobody", ""),
            Input::Verdicts(Vec::new()),
        ] {
            let mut run = stage.clone();
            match run.feed(input) {
                Ok(()) => {}
                Err(error) => {
                    refused += 1;
                    assert_eq!(run, stage, "{error}");
                    assert!(error.to_string().contains("came while the run was at"), "{error}");
                }
            }
        }
    }
    assert_eq!(refused, 4 * 8 - 3, "each stage takes at most its own input");
}

/// [AC-11]
#[test]
fn an_answer_without_calls_finishes_the_run() {
    let run = after(&with_finish(text("hello"), UnifiedFinish::Stop));
    assert_eq!(run.outcome(), Some(&Outcome::Finished));
    assert_eq!(run.new_messages().len(), 1);
    assert_eq!(*run.messages()[1], Message::assistant("hello"));
}

/// [AC-12]
#[test]
fn results_stand_in_the_order_of_the_calls() {
    let mut run = after(&with_finish(
        vec![call("a", "f", "{}"), call("b", "g", "{}"), call("c", "f", "{}")],
        UnifiedFinish::ToolCalls,
    ));
    for id in ["c", "a", "b"] {
        assert!(matches!(run.next(), Next::CallTools { .. }));
        run.feed(done(id, id)).unwrap();
    }
    assert_eq!(run.next(), Next::CheckStop);
    assert_eq!(texts(&run).iter().map(|(id, _)| id.as_str()).collect::<Vec<_>>(), ["a", "b", "c"]);
    check_history(run.messages()).unwrap();
}

/// [AC-13] [AC-14]
#[test]
fn calls_that_cannot_be_run_get_an_error_and_the_others_run() {
    let mut run = after(&with_finish(
        vec![
            call("a", "nope", "{}"),
            call("b", "f", "null"),
            call("c", "f", "5"),
            call("d", "f", "\"x\""),
            call("e", "f", "{\"half"),
            call("g", "f", "{}"),
        ],
        UnifiedFinish::ToolCalls,
    ));
    match run.next() {
        Next::CallTools { calls } => {
            assert_eq!(calls.iter().map(|c| c.id.as_str()).collect::<Vec<_>>(), ["g"])
        }
        other => panic!("{other:?}"),
    }
    run.feed(done("g", "fine")).unwrap();
    assert_eq!(run.next(), Next::CheckStop);
    let step = &run.steps()[0];
    assert_eq!(step.tools[0].status, ToolStatus::Unknown);
    let ToolOutput::ErrorText(said) = &step.tools[0].result.output else { panic!("no error") };
    assert!(said.contains("`nope`") && said.contains("f, g"), "{said}");
    for tool in &step.tools[1..5] {
        assert_eq!(tool.status, ToolStatus::InvalidInput);
        assert!(tool.result.output.is_error());
    }
    assert_eq!(step.tools[5].status, ToolStatus::Ok);
    run.feed(Input::Verdicts(Vec::new())).unwrap();
    assert_eq!(run.next(), Next::Prepare { step: 2 });
    check_history(run.messages()).unwrap();
}

/// [AC-15]
#[test]
fn of_an_answer_cut_at_its_length_nothing_is_run() {
    let mut parts = text("I will");
    parts.push(call("a", "f", "{}"));
    parts.push(StreamPart::ToolInputStart {
        id: "b".into(),
        tool_name: "g".to_owned(),
        provider_executed: false,
        dynamic: false,
        title: None,
    });
    parts.push(StreamPart::ToolInputDelta { id: "b".into(), delta: "{}".to_owned() });
    let run = after(&with_finish(parts, UnifiedFinish::Length));
    let Some(Outcome::Truncated { incomplete_calls }) = run.outcome() else { panic!("{:?}", run.outcome()) };
    assert_eq!((incomplete_calls[0].id.as_str(), incomplete_calls[0].input.as_str()), ("b", "{}"));
    assert_eq!(run.steps()[0].tools[0].status, ToolStatus::Skipped);
    check_history(run.messages()).unwrap();
}

/// [AC-16]
#[test]
fn complete_calls_decide_whatever_the_finish_reason_says() {
    for unified in [UnifiedFinish::Stop, UnifiedFinish::Other, UnifiedFinish::ToolCalls] {
        let run = after(&with_finish(vec![call("a", "f", "{}")], unified));
        assert!(matches!(run.next(), Next::CallTools { .. }), "{unified:?}");
    }
    let run = after(&with_finish(text("done"), UnifiedFinish::Other));
    assert_eq!(run.outcome(), Some(&Outcome::Finished));
}

/// [AC-17] [AC-18]
#[test]
fn a_bad_end_of_the_answer_is_told_apart() {
    let run = after(&with_finish(text("I can"), UnifiedFinish::ContentFilter));
    assert!(matches!(run.outcome(), Some(Outcome::Refused { .. })));

    let failed = |parts: &[StreamPart]| match after(parts).outcome() {
        Some(Outcome::Failed { error, .. }) => error.class,
        other => panic!("{other:?}"),
    };
    assert_eq!(failed(&with_finish(Vec::new(), UnifiedFinish::Stop)), ErrorClass::Empty);
    assert_eq!(failed(&with_finish(text(" \n"), UnifiedFinish::Stop)), ErrorClass::Empty);
    let reasoning = vec![
        StreamPart::reasoning_start("r"),
        StreamPart::reasoning_delta("r", "hm"),
        StreamPart::reasoning_end("r"),
    ];
    assert_eq!(failed(&with_finish(reasoning, UnifiedFinish::Stop)), ErrorClass::Empty);
    assert_eq!(failed(&text("no finish")), ErrorClass::Incomplete);
    let reason = FinishReason::new(UnifiedFinish::Error, "insufficient_system_resource");
    let mut parts = text("par");
    parts.push(StreamPart::Finish(Box::new(Finish { reason, usage: Usage::default(), metadata: None })));
    let run = after(&parts);
    let Some(Outcome::Failed { error, partial }) = run.outcome() else { panic!("{:?}", run.outcome()) };
    assert!(error.message.contains("insufficient_system_resource"));
    assert_eq!(partial.as_ref().unwrap().text(), "par");
    assert_eq!(run.new_messages().len(), 0);
}

fn to_check_stop(run: &mut Run, step: u32) {
    assert_eq!(run.next(), Next::Prepare { step });
    run.feed(prepared(vec![fact("f")])).unwrap();
    run.feed(answer(&with_finish(vec![call("a", "f", "{}")], UnifiedFinish::ToolCalls))).unwrap();
    run.feed(done("a", "ok")).unwrap();
    assert_eq!(run.next(), Next::CheckStop);
}

/// [AC-19]
#[test]
fn the_step_cap_ends_the_run_after_its_last_step() {
    assert_eq!(RunConfig::default().step_cap, 20);
    for cap in [1, 3] {
        let mut config = RunConfig::default();
        config.step_cap = cap;
        let mut run = Run::new([Message::user("go")], config);
        for step in 1..=cap {
            to_check_stop(&mut run, step);
            run.feed(Input::Verdicts(Vec::new())).unwrap();
        }
        assert_eq!(run.outcome(), Some(&Outcome::StepCap { cap }));
        assert_eq!(run.steps().len(), cap as usize);
        assert!(matches!(&**run.messages().last().unwrap(), Message::Tool(_)));
    }
}

/// [AC-20]
#[test]
fn a_clean_end_wins_over_one_that_reads_like_a_failure() {
    let verdict = |verdicts: Vec<Verdict>| {
        let mut config = RunConfig::default();
        config.step_cap = 1;
        let mut run = Run::new([Message::user("go")], config);
        to_check_stop(&mut run, 1);
        run.feed(Input::Verdicts(verdicts.clone())).unwrap();
        let stored: Vec<_> =
            run.verdicts().iter().map(|record| (record.step, record.verdict.clone())).collect();
        assert_eq!(stored, verdicts.into_iter().map(|verdict| (1, verdict)).collect::<Vec<_>>());
        run.outcome().unwrap().clone()
    };
    let guard = Verdict::LoopGuard { tool: "f".to_owned() };
    let budget = Verdict::Budget { kind: BudgetKind::Tokens };
    let stop = Verdict::Stop { condition: "called f".to_owned() };
    assert_eq!(verdict(vec![guard.clone(), budget.clone(), Verdict::SteerYield]), Outcome::SteerYield);
    assert_eq!(verdict(vec![budget.clone(), stop]), Outcome::Finished);
    assert_eq!(verdict(vec![budget, guard.clone()]), Outcome::Budget { kind: BudgetKind::Tokens });
    assert_eq!(verdict(vec![guard]), Outcome::LoopGuard { tool: "f".to_owned() });
    assert_eq!(verdict(Vec::new()), Outcome::StepCap { cap: 1 });
}

/// [AC-21]
#[test]
fn a_terminal_failure_ends_the_run_when_its_siblings_are_done() {
    let mut run =
        after(&with_finish(vec![call("a", "f", "{}"), call("b", "g", "{}")], UnifiedFinish::ToolCalls));
    let terminal = TerminalRecord {
        tool_call_id: "a".into(),
        tool_name: "f".to_owned(),
        message: "The account is closed.".to_owned(),
        key: None,
        cancel_siblings: false,
    };
    let result = ToolResult::new("a", "f", ToolOutput::ErrorText(String::new()));
    let mut record = ToolRecord::not_run(result, ToolStatus::Failed);
    record.terminal = Some(terminal.clone());
    run.feed(Input::ToolFinished(Box::new(record))).unwrap();
    assert!(matches!(run.next(), Next::CallTools { .. }), "b is still running");
    run.feed(done("b", "ok")).unwrap();
    assert_eq!(run.outcome(), Some(&Outcome::ToolTerminal(terminal)));
    check_history(run.messages()).unwrap();
}

/// [AC-22]
#[test]
fn calls_for_the_caller_end_the_run_after_the_others_ran() {
    let mut run = new_run();
    let client = ToolFacts { executable: false, ..fact("client") };
    run.feed(prepared(vec![fact("f"), client])).unwrap();
    let parts = vec![call("a", "client", "{}"), call("b", "f", "{}")];
    run.feed(answer(&with_finish(parts, UnifiedFinish::ToolCalls))).unwrap();
    run.feed(done("b", "ok")).unwrap();
    let Some(Outcome::HandedOver { calls }) = run.outcome() else { panic!("{:?}", run.outcome()) };
    assert_eq!(calls.iter().map(|c| c.id.as_str()).collect::<Vec<_>>(), ["a"]);
    assert_eq!(texts(&run), [("b".to_owned(), false)]);
}

fn with_client(parts: Vec<StreamPart>) -> Run {
    let mut run = new_run();
    let client = ToolFacts { executable: false, ..fact("client") };
    run.feed(prepared(vec![fact("f"), client])).unwrap();
    run.feed(answer(&with_finish(parts, UnifiedFinish::ToolCalls))).unwrap();
    run
}

/// [AC-22] [AC-25]
#[test]
fn calls_handed_over_get_results_if_the_run_is_cancelled_after_all() {
    for calls in [
        vec![call("a", "client", "{}")],
        vec![call("a", "client", "{}"), call("b", "f", "{}")],
        vec![call("b", "f", "{}"), call("a", "client", "{}")],
    ] {
        let mut run = with_client(calls.clone());
        if calls.len() > 1 {
            run.feed(done("b", "ok")).unwrap();
        }
        assert!(matches!(run.outcome(), Some(Outcome::HandedOver { .. })));
        run.feed(Input::Interrupted { by: Interruption::Cancelled, partial: None }).unwrap();
        assert_eq!(run.outcome(), Some(&Outcome::Cancelled { partial: None }));
        check_history(run.messages()).unwrap();
        assert_eq!(run.steps()[0].tools.len(), calls.len());
        assert_eq!(run.messages().len(), 1 + run.new_messages().len());
    }
}

/// [AC-21] [AC-22]
#[test]
fn a_terminal_failure_leaves_no_call_of_the_caller_unanswered() {
    let mut run = with_client(vec![call("a", "client", "{}"), call("b", "f", "{}")]);
    let terminal = TerminalRecord {
        tool_call_id: "b".into(),
        tool_name: "f".to_owned(),
        message: "Closed.".to_owned(),
        key: None,
        cancel_siblings: false,
    };
    let result = ToolResult::new("b", "f", ToolOutput::ErrorText("Closed.".to_owned()));
    let mut record = ToolRecord::not_run(result, ToolStatus::Failed);
    record.terminal = Some(terminal.clone());
    run.feed(Input::ToolFinished(Box::new(record))).unwrap();
    assert_eq!(run.outcome(), Some(&Outcome::ToolTerminal(terminal)));
    assert_eq!(run.steps()[0].tools[0].status, ToolStatus::Skipped);
    check_history(run.messages()).unwrap();
}

/// [AC-23]
#[test]
fn calls_that_need_no_consent_run_before_the_run_waits() {
    let mut run = new_run();
    let asks = ToolFacts { approval: true, ..fact("asks") };
    run.feed(prepared(vec![fact("f"), asks])).unwrap();
    let parts = vec![call("a", "asks", "{}"), call("b", "f", "{}"), call("c", "asks", "{}")];
    run.feed(answer(&with_finish(parts, UnifiedFinish::ToolCalls))).unwrap();
    assert!(matches!(run.next(), Next::DecideApproval { calls } if calls.len() == 2));
    run.feed(Input::Decided(vec![
        ("a".into(), ApprovalVerdict::AskUser { approval_id: "q".into() }),
        ("c".into(), ApprovalVerdict::Denied { reason: Some("policy".to_owned()) }),
    ]))
    .unwrap();
    assert!(matches!(run.next(), Next::CallTools { calls } if calls[0].id == "b"));
    run.feed(done("b", "ok")).unwrap();
    assert!(matches!(run.next(), Next::AwaitApproval { pending } if pending[0].approval_id == "q"));

    let stored = serde_json::to_string(&run.snapshot()).unwrap();
    let mut run = serde_json::from_str::<RunSnapshot>(&stored).unwrap().into_run();
    assert!(run.feed(Input::Answer { call_id: "b".into(), approved: true, reason: None }).is_err());
    run.feed(Input::Answer { call_id: "a".into(), approved: true, reason: None }).unwrap();
    assert!(matches!(run.next(), Next::CallTools { calls } if calls[0].id == "a"));
    run.feed(done("a", "ok")).unwrap();
    assert_eq!(run.next(), Next::CheckStop);
    assert_eq!(run.steps()[0].tools[2].status, ToolStatus::Denied);
    check_history(run.messages()).unwrap();
}

/// [AC-25]
#[test]
fn an_interrupted_step_is_history_only_if_its_answer_was_whole() {
    let mut run =
        after(&with_finish(vec![call("a", "f", "{}"), call("b", "g", "{}")], UnifiedFinish::ToolCalls));
    run.feed(done("a", "real")).unwrap();
    run.feed(Input::Interrupted { by: Interruption::Cancelled, partial: None }).unwrap();
    assert_eq!(run.outcome(), Some(&Outcome::Cancelled { partial: None }));
    assert_eq!(texts(&run), [("a".to_owned(), false), ("b".to_owned(), true)]);
    assert_eq!(run.steps()[0].tools[1].status, ToolStatus::Cancelled);
    check_history(run.messages()).unwrap();

    let mut run = new_run();
    run.feed(prepared(Vec::new())).unwrap();
    let Message::Assistant(partial) = Message::assistant("half an ans") else { unreachable!() };
    run.feed(Input::Interrupted { by: Interruption::Cancelled, partial: Some(partial.clone()) }).unwrap();
    assert_eq!(run.outcome(), Some(&Outcome::Cancelled { partial: Some(Box::new(partial)) }));
    assert!(run.new_messages().is_empty());
    assert!(run.feed(Input::Interrupted { by: Interruption::Cancelled, partial: None }).is_err());
}

/// [AC-27]
#[test]
fn a_stored_run_of_a_later_schema_is_refused() {
    let mut stored = serde_json::to_value(new_run()).unwrap();
    assert!(serde_json::from_value::<Run>(stored.clone()).is_ok());
    stored["schema"] = 2.into();
    let error = serde_json::from_value::<Run>(stored).unwrap_err();
    assert!(error.to_string().contains("schema 2"), "{error}");
}

/// [AC-53]
#[test]
fn a_stored_run_that_no_run_can_be_is_refused() {
    let mut run = new_run();
    let asks = ToolFacts { approval: true, ..fact("asks") };
    run.feed(prepared(vec![fact("f"), asks])).unwrap();
    let parts = vec![call("a", "asks", "{}"), call("b", "f", "{}")];
    run.feed(answer(&with_finish(parts, UnifiedFinish::ToolCalls))).unwrap();
    let at_decide = serde_json::to_value(&run).unwrap();
    run.feed(Input::Decided(vec![("a".into(), ApprovalVerdict::AskUser { approval_id: "q".into() })]))
        .unwrap();
    let at_tools = serde_json::to_value(&run).unwrap();
    run.feed(done("b", "ok")).unwrap();
    let at_wait = serde_json::to_value(&run).unwrap();
    let mut refused = 0;
    for sound in [at_decide, at_tools, at_wait] {
        assert!(serde_json::from_value::<Run>(sound.clone()).is_ok());
        for phase in ["repair", "decide", "tools", "await-approval"] {
            let mut edited = sound.clone();
            edited["phase"]["at"] = phase.into();
            if sound["phase"]["at"] != phase {
                let error = serde_json::from_value::<Run>(edited).unwrap_err();
                assert!(error.to_string().contains("damaged"), "{error}");
                refused += 1;
            }
        }
        let mut edited = sound.clone();
        edited["phase"]["with"]["calls"] = serde_json::json!([]);
        assert!(serde_json::from_value::<Run>(edited).is_err());
        let mut edited = sound.clone();
        edited["phase"]["with"]["calls"][1] = edited["phase"]["with"]["calls"][0].clone();
        assert!(serde_json::from_value::<Run>(edited).is_err());
        let mut edited = sound;
        edited["phase"]["with"]["calls"][0]["call"]["toolCallId"] = "other".into();
        assert!(serde_json::from_value::<Run>(edited).is_err());
    }
    assert_eq!(refused, 9);
}

/// [AC-54]
#[test]
fn a_run_that_cannot_go_on_fails_with_a_valid_history() {
    let mut run =
        after(&with_finish(vec![call("a", "f", "{}"), call("b", "g", "{}")], UnifiedFinish::ToolCalls));
    run.feed(done("a", "real")).unwrap();
    run.feed(Input::Broken(record())).unwrap();
    assert_eq!(run.outcome(), Some(&Outcome::Failed { error: record(), partial: None }));
    check_history(run.messages()).unwrap();
    assert!(run.feed(Input::Broken(record())).is_err());
}

/// [AC-29]
#[test]
fn a_failed_step_is_tried_again_within_its_bound() {
    let fail = |retry| Input::ModelFailed { error: record(), partial: AssistantMessage::default(), retry };
    let mut run = new_run();
    run.feed(prepared(Vec::new())).unwrap();
    assert!(run.may_retry());
    run.feed(fail(true)).unwrap();
    assert_eq!(run.next(), Next::Prepare { step: 1 });
    assert_eq!(run.failed_steps().len(), 1);
    run.feed(prepared(Vec::new())).unwrap();
    assert!(!run.may_retry());
    run.feed(fail(true)).unwrap();
    assert!(matches!(run.outcome(), Some(Outcome::Failed { .. })));

    let mut run = new_run();
    run.feed(prepared(Vec::new())).unwrap();
    run.feed(fail(false)).unwrap();
    assert!(matches!(run.outcome(), Some(Outcome::Failed { .. })));
}
