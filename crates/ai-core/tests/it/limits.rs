//! What ends a run that could go on: stop conditions, guard and cap.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use ai_core::run::{BudgetKind, LoopGuard, Outcome, Run, RunSnapshot, Verdict};
use ai_core::{LoopEvent, RunEnd, RunOptions, StopWhen, ToolLoop, ToolSet};
use ai_provider::{CancellationToken, Message, Request, ToolChoice, UserPart};
use ai_testkit::{Script, ScriptedModel};
use futures_util::StreamExt;

use crate::support::{calls, check_history, echo, loop_of, run};

/// A model that calls in each step, always otherwise.
fn busy(steps: usize) -> ScriptedModel {
    (0..steps).fold(ScriptedModel::new(), |model, at| {
        model.reply(calls(&[(&format!("c{at}"), "echo", &format!(r#"{{"text":"{at}"}}"#))]))
    })
}

fn stuck() -> ScriptedModel {
    ScriptedModel::new().repeat(calls(&[("a", "echo", r#"{"text":"x"}"#)]))
}

fn agent(model: &ScriptedModel) -> ToolLoop {
    loop_of(model, ToolSet::new().with(echo()).unwrap())
}

fn verdicts(end: &RunEnd) -> Vec<(u32, Verdict)> {
    let records = end.snapshot.run().verdicts();
    records.iter().map(|record| (record.step, record.verdict.clone())).collect()
}

fn stop(condition: &str) -> Verdict {
    Verdict::Stop { condition: condition.to_owned() }
}

/// [AC-320]
#[tokio::test]
async fn each_condition_ends_the_run_at_its_step_and_is_remembered() {
    let budget = |kind| (Outcome::Budget { kind }, Verdict::Budget { kind });
    let done = |name: &str| (Outcome::Finished, stop(name));
    for (condition, step, (outcome, verdict)) in [
        (StopWhen::steps(3), 3, done("3 steps")),
        (StopWhen::tool_called(["no", "echo"]), 1, done("called echo")),
        // Each step takes 15 tokens.
        (StopWhen::tokens(30), 2, budget(BudgetKind::Tokens)),
        (StopWhen::tokens(31), 3, budget(BudgetKind::Tokens)),
        (
            StopWhen::cost(0.5, |step| f64::from(step.usage.total().unwrap() as u32) / 100.0),
            4,
            budget(BudgetKind::Cost),
        ),
        (StopWhen::custom("long", |run| run.run().messages().len() > 4), 2, done("long")),
        (
            StopWhen::custom_async("slow", |run: RunSnapshot| async move {
                tokio::task::yield_now().await;
                run.run().steps().len() == 2
            }),
            2,
            done("slow"),
        ),
    ] {
        let (_, end) = run(&agent(&busy(6)).with_stop(condition), RunOptions::default()).await;
        assert_eq!((end.outcome.clone(), end.steps.len()), (outcome, step as usize));
        assert_eq!(verdicts(&end), [(step, verdict)]);
        check_history(end.snapshot.run().messages()).unwrap();
    }
}

/// [AC-320] [AC-321]
#[tokio::test]
async fn all_conditions_are_asked_and_one_that_panics_has_said_nothing() {
    let asked = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&asked);
    let agent = agent(&busy(6))
        .with_stop(StopWhen::custom("broken", |_| panic!("condition")))
        .with_stop(StopWhen::tokens(30))
        .with_stop(StopWhen::custom("first", move |run| {
            count.fetch_add(1, Ordering::SeqCst);
            run.run().steps().len() == 2
        }));
    let (_, end) = run(&agent, RunOptions::default()).await;
    // What the caller meant by an end wins over a budget.
    assert_eq!(end.outcome, Outcome::Finished);
    assert_eq!(verdicts(&end), [(2, Verdict::Budget { kind: BudgetKind::Tokens }), (2, stop("first"))]);
    assert_eq!(asked.load(Ordering::SeqCst), 2);
}

/// [AC-321]
#[tokio::test]
async fn a_condition_that_hangs_does_not_hold_a_cancel() {
    let cancel = CancellationToken::new();
    let hang = cancel.clone();
    let agent = agent(&busy(2)).with_stop(StopWhen::custom_async("hang", move |_| {
        hang.cancel();
        std::future::pending()
    }));
    let (_handle, events) = agent.start([Message::user("go")], RunOptions::default().with_cancel(cancel));
    let events: Vec<_> = events.collect().await;
    let Some(LoopEvent::End(end)) = events.last() else { panic!("no end") };
    assert!(matches!(end.outcome, Outcome::Cancelled { .. }));
}

/// [AC-320]
#[tokio::test]
async fn a_resumed_run_goes_on_counting_what_it_cost() {
    let price = || StopWhen::cost(4.0, |_| 1.0);
    let (events, _) = run(&agent(&busy(6)).with_stop(price()), RunOptions::default()).await;
    let stored = events.iter().find_map(|event| match event {
        LoopEvent::StepEnd(record, snapshot) if record.step == 2 => Some(snapshot.clone()),
        _ => None,
    });
    let (_handle, events) =
        agent(&busy(6)).with_stop(price()).resume(stored.unwrap().into_run(), RunOptions::default());
    let events: Vec<_> = events.collect().await;
    let Some(LoopEvent::End(end)) = events.last() else { panic!("no end") };
    assert_eq!((end.outcome.clone(), end.steps.len()), (Outcome::Budget { kind: BudgetKind::Cost }, 4));
}

fn tail(request: &Request) -> Option<String> {
    match &**request.messages.last()? {
        Message::User(message) => match &message.parts[0] {
            UserPart::Text(text) => Some(text.text.clone()),
            _ => None,
        },
        _ => None,
    }
}

/// [AC-322] [AC-323]
#[tokio::test]
async fn a_model_that_repeats_itself_is_told_and_then_stopped() {
    let model = stuck();
    let agent = agent(&model).with_loop_guard(LoopGuard::new(3, 5));
    let (_, end) = run(&agent, RunOptions::default()).await;
    assert_eq!(end.outcome, Outcome::LoopGuard { tool: "echo".to_owned() });
    let warning = |times| Verdict::LoopWarning { tool: "echo".to_owned(), times };
    let expected = [(3, warning(3)), (4, warning(4)), (5, Verdict::LoopGuard { tool: "echo".to_owned() })];
    assert_eq!(verdicts(&end), expected);
    let tails: Vec<_> = model.requests().iter().map(|request| tail(request).unwrap_or_default()).collect();
    assert_eq!(tails.len(), 5);
    assert_eq!(tails[0], "go");
    assert_eq!((tails[1].as_str(), tails[2].as_str()), ("", ""));
    assert!(tails[3].contains("`echo`") && tails[3].contains("3 steps"), "{tails:?}");
    assert!(tails[4].contains("4 steps"));
    // A note is no part of the history.
    check_history(end.snapshot.run().messages()).unwrap();
    assert_eq!(end.new_messages.len(), 10);
    assert_eq!(model.requests()[4].messages.len(), 1 + 8 + 1);
}

/// [AC-322]
#[tokio::test]
async fn warning_and_stop_are_set_apart_and_off_unless_set() {
    let (_, end) = run(&agent(&stuck()).with_step_cap(8), RunOptions::default()).await;
    assert_eq!((end.outcome.clone(), verdicts(&end)), (Outcome::StepCap { cap: 8 }, vec![]));

    let guarded = agent(&stuck()).with_step_cap(4).with_loop_guard(LoopGuard::new(2, None));
    let (_, end) = run(&guarded, RunOptions::default()).await;
    assert_eq!((end.outcome.clone(), verdicts(&end).len()), (Outcome::StepCap { cap: 4 }, 3));

    let guarded = agent(&stuck()).with_loop_guard(LoopGuard::new(None, 2));
    let (_, end) = run(&guarded, RunOptions::default()).await;
    assert_eq!((end.outcome, end.steps.len()), (Outcome::LoopGuard { tool: "echo".to_owned() }, 2));
}

/// [AC-324]
#[tokio::test]
async fn the_same_call_is_the_same_json_in_steps_that_follow_one_another() {
    let guard = LoopGuard::new(None, 3);
    let with = |steps: &[&[(&str, &str)]]| {
        steps.iter().enumerate().fold(ScriptedModel::new(), |model, (at, step)| {
            let ids: Vec<_> = (0..step.len()).map(|call| format!("s{at}c{call}")).collect();
            let step: Vec<_> =
                step.iter().zip(&ids).map(|((tool, input), id)| (id.as_str(), *tool, *input)).collect();
            model.reply(calls(&step))
        })
    };
    let (x, spaced, y) = (r#"{"text":"x","more":1}"#, "{ \"more\" : 1,\n\"text\":\"x\" }", r#"{"text":"y"}"#);
    let outcome = async |steps: &[&[(&str, &str)]]| {
        run(&agent(&with(steps)).with_loop_guard(guard), RunOptions::default()).await.1
    };
    let looped = Outcome::LoopGuard { tool: "echo".to_owned() };
    let end = outcome(&[&[("echo", x)], &[("echo", y), ("echo", spaced)], &[("echo", x), ("nope", x)]]).await;
    assert_eq!((end.outcome, end.steps.len()), (looped.clone(), 3));
    // Between the second and the third there is a step without it.
    let end =
        outcome(&[&[("echo", x)], &[("echo", x)], &[("echo", y)], &[("echo", x)], &[("echo", x)]]).await;
    assert_eq!(end.steps.len(), 5);
    // Often in one step is once.
    let end = outcome(&[&[("echo", x), ("echo", x), ("echo", x), ("echo", x)], &[("echo", y)]]).await;
    assert_eq!(end.steps.len(), 2);
    // Unknown tools and broken input count as well.
    let end = outcome(&[&[("nope", "{\"b")], &[("nope", "{\"b")], &[("nope", "{\"b")]]).await;
    assert_eq!(end.outcome, Outcome::LoopGuard { tool: "nope".to_owned() });
}

/// [AC-325]
#[tokio::test]
async fn behind_a_soft_cap_the_model_says_what_it_has() {
    let model = busy(2).reply(Script::text_reply("So far: two."));
    let agent = agent(&model).with_step_cap(2).with_closing_step();
    let (_, end) = run(&agent, RunOptions::default()).await;
    assert_eq!((end.outcome.clone(), end.steps.len()), (Outcome::Finished, 3));
    assert_eq!(verdicts(&end), [(2, Verdict::ClosingStep)]);
    let requests = model.requests();
    assert_eq!(requests[1].tool_choice, ToolChoice::Auto);
    assert_eq!(requests[2].tool_choice, ToolChoice::None);
    assert_eq!(requests[2].tools, requests[1].tools, "the beginning of the request stays as it was");
    assert!(tail(&requests[2]).unwrap().contains("no tool can be called"));
    assert_eq!(end.new_messages.len(), 5);
    assert_eq!(*end.new_messages[4], Message::assistant("So far: two."));
}

/// [AC-325] [AC-326]
#[tokio::test]
async fn a_model_that_calls_in_its_closing_step_meets_the_cap_also_when_it_is_stored_before() {
    let agent = agent(&busy(3)).with_step_cap(2).with_closing_step();
    let (events, end) = run(&agent, RunOptions::default()).await;
    assert_eq!((end.outcome.clone(), end.steps.len()), (Outcome::StepCap { cap: 2 }, 3));
    assert!(end.steps[2].tools[0].result.output.is_error());
    check_history(end.snapshot.run().messages()).unwrap();

    let stored = events.iter().find_map(|event| match event {
        LoopEvent::StepEnd(record, snapshot) if record.step == 2 => Some(snapshot),
        _ => None,
    });
    let stored: Run = serde_json::from_str(&serde_json::to_string(stored.unwrap()).unwrap()).unwrap();
    let model = ScriptedModel::new().reply(Script::text_reply("The end."));
    let agent = self::agent(&model).with_closing_step();
    let (_handle, events) = agent.resume(stored, RunOptions::default());
    let events: Vec<_> = events.collect().await;
    let Some(LoopEvent::End(end)) = events.last() else { panic!("no end") };
    assert_eq!(end.outcome, Outcome::Finished);
    assert_eq!(model.requests()[0].tool_choice, ToolChoice::None);
    assert!(tail(&model.requests()[0]).unwrap().contains("limit of steps"));
}
