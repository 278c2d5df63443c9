//! Whatever happens: one answer at most, on time, told once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ai_provider::{
    AttemptEnd, AttemptKind, CallContext, CancellationToken, Capabilities, ErrorClass, Hint, KeyLabel,
    LanguageModel, ModelError, ModelStream, Request, RetryError, StreamPart, TargetId, UnifiedFinish,
};
use ai_testkit::{Script, ScriptedModel, collect};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use retry::{Fallback, RetryPolicy};
use tokio::time::Instant;

use crate::support::{Stage, capable, request, target};

/// How one attempt goes.
#[derive(Clone, Debug)]
enum Fate {
    Answers,
    Fails { class: ErrorClass, retryable: Option<bool>, hint: Option<u64>, after: After },
    Hangs,
    Slow(u64),
}

/// What was shown before it failed.
#[derive(Clone, Copy, Debug)]
enum After {
    Nothing,
    Preamble,
    Text,
}

#[derive(Clone, Debug)]
struct World {
    retries: u32,
    keys: usize,
    fallbacks: usize,
    budget: Option<u64>,
    first_output: Option<u64>,
    cancel_after: Option<u64>,
    fates: Vec<Fate>,
}

fn fate() -> impl Strategy<Value = Fate> {
    use ErrorClass::*;
    let class = proptest::sample::select(vec![
        Auth,
        Quota,
        RateLimit,
        RateLimit,
        Overloaded,
        Server,
        Transport,
        Timeout,
        Incomplete,
        InvalidRequest,
        ContentRefused,
        ContextTooLong,
        Protocol,
        StaleReplay,
    ]);
    let after = prop_oneof![6 => Just(After::Nothing), 2 => Just(After::Preamble), 1 => Just(After::Text)];
    let failing = (
        class,
        prop_oneof![4 => Just(None), 1 => any::<bool>().prop_map(Some)],
        proptest::option::of(0..90_u64),
        after,
    )
        .prop_map(|(class, retryable, hint, after)| Fate::Fails { class, retryable, hint, after });
    prop_oneof![1 => Just(Fate::Answers), 7 => failing, 4 => Just(Fate::Hangs), 1 => (1..40_u64).prop_map(Fate::Slow)]
}

/// A key that is of no use.
fn key_fault() -> impl Strategy<Value = Fate> {
    let class = proptest::sample::select(vec![ErrorClass::Auth, ErrorClass::Quota, ErrorClass::RateLimit]);
    class.prop_map(|class| Fate::Fails { class, retryable: None, hint: None, after: After::Nothing })
}

/// Half of all worlds begin with keys that fail, and most have little time or a caller with little patience: that is
/// what they are about.
fn world() -> impl Strategy<Value = World> {
    let time = prop_oneof![
        7 => (1..5_u64).prop_map(|budget| (Some(budget), None)),
        6 => (0..3_u64).prop_map(|cancel| (None, Some(cancel))),
        1 => (1..6_u64, 0..6_u64).prop_map(|(budget, cancel)| (Some(budget), Some(cancel))),
        1 => Just((None, None)),
    ];
    (
        0..4_u32,
        prop_oneof![1 => Just(1), 6 => 2..6_usize],
        prop_oneof![1 => Just(0), 4 => 1..4_usize],
        time,
        proptest::option::weighted(0.2, 1..30_u64),
        proptest::collection::vec(key_fault(), 0..4),
        proptest::collection::vec(fate(), 3..14),
    )
        .prop_map(
            |(retries, keys, fallbacks, (budget, cancel_after), first_output, mut fates, further)| {
                fates.extend(further);
                World { retries, keys, fallbacks, budget, first_output, cancel_after, fates }
            },
        )
}

fn script(fate: &Fate, number: usize) -> Script {
    let text = format!("answer {number} is here");
    match fate {
        Fate::Answers => Script::text_reply(&text),
        Fate::Hangs => Script::new().hang(),
        Fate::Slow(seconds) => {
            Script::new().delay(Duration::from_secs(*seconds)).text(&text).finish(UnifiedFinish::Stop)
        }
        Fate::Fails { class, retryable, hint, after } => {
            let mut error = ModelError::new(*class, "it failed");
            if let Some(retryable) = retryable {
                error = error.with_retryable(*retryable);
            }
            if let Some(hint) = hint {
                error = error.with_hint(Hint::After(Duration::from_secs(*hint)));
            }
            let begun = match after {
                After::Nothing => Script::new(),
                After::Preamble => Script::new().part(StreamPart::text_start("0")),
                After::Text => Script::new()
                    .part(StreamPart::text_start("0"))
                    .part(StreamPart::text_delta("0", format!("answer {number} broke"))),
            };
            begun.error(error)
        }
    }
}

/// The attempts of all targets in one sequence: the n-th call meets the n-th fate.
#[derive(Clone)]
struct Theatre {
    fates: Arc<Vec<Fate>>,
    /// Target and key of each call, and how it went.
    calls: Arc<Mutex<Vec<(String, usize)>>>,
}

struct Actor {
    target: TargetId,
    keys: Vec<KeyLabel>,
    capabilities: Capabilities,
    theatre: Theatre,
}

impl LanguageModel for Actor {
    fn target(&self) -> &TargetId {
        &self.target
    }

    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn keys(&self) -> &[KeyLabel] {
        &self.keys
    }

    fn stream(&self, request: Request, ctx: CallContext) -> ModelStream {
        let mut calls = self.theatre.calls.lock().unwrap();
        let number = calls.len();
        calls.push((self.target.model.clone(), ctx.key_index));
        let fate = self.theatre.fates.get(number).cloned().unwrap_or(Fate::Answers);
        ScriptedModel::new().reply(script(&fate, number)).stream(request, ctx)
    }
}

/// What a case was about.
#[derive(Default)]
struct Met(HashMap<&'static str, usize>);

async fn play(world: World, met: &mut Met) {
    let theatre = Theatre { fates: Arc::new(world.fates.clone()), calls: Arc::default() };
    let actor = |name: &str, keys: usize| {
        let keys =
            if keys < 2 { Vec::new() } else { (0..keys).map(|key| format!("k{key}").into()).collect() };
        Arc::new(Actor { target: target(name), keys, capabilities: capable(), theatre: theatre.clone() })
    };
    let mut policy = RetryPolicy::new().with_retries(world.retries).with_seed(7);
    if world.retries == 0 {
        policy = policy.with_base_delay(Duration::from_millis(500));
    }
    if let Some(budget) = world.budget {
        policy = policy.with_budget(Duration::from_secs(budget));
    }
    if let Some(limit) = world.first_output {
        policy = policy.with_first_output(Duration::from_secs(limit));
    }
    for nth in 0..world.fallbacks {
        policy = policy.with_fallback(Fallback::to(actor(&format!("F{nth}"), 1)));
    }
    let model = policy.wrap(actor("P", world.keys)).unwrap();
    let (stage, cancel, begin) = (Stage::new(), CancellationToken::new(), Instant::now());
    let ctx = stage.context().with_cancel(cancel.clone());
    let call = collect(model.stream(request(), ctx));
    let cancelling = async {
        match world.cancel_after {
            Some(seconds) => {
                tokio::time::sleep(Duration::from_secs(seconds)).await;
                cancel.cancel();
            }
            // What hangs without any limit is ended, so that the case ends.
            None => {
                tokio::time::sleep(Duration::from_secs(100_000)).await;
                cancel.cancel();
            }
        }
        std::future::pending::<()>().await
    };
    let (parts, error) = tokio::select! {
        outcome = call => outcome,
        () = cancelling => unreachable!(),
    };
    let elapsed = begin.elapsed();

    let text: String = parts
        .iter()
        .filter_map(|part| match part {
            StreamPart::TextDelta { delta, .. } => Some(delta.as_str()),
            _ => None,
        })
        .collect();
    let calls = theatre.calls.lock().unwrap().clone();
    // What is shown is of one attempt, the last.
    if !text.is_empty() {
        let last = calls.len() - 1;
        assert!(
            format!("answer {last} is here").starts_with(&text) || text == format!("answer {last} broke"),
            "{text}"
        );
    }
    assert!(parts.iter().filter(|part| matches!(part, StreamPart::StreamStart { .. })).count() <= 1);
    let finished = matches!(parts.last(), Some(StreamPart::Finish(_)));
    assert_eq!(finished, error.is_none(), "{parts:?} {error:?}");
    // On time.
    if let Some(budget) = world.budget {
        assert!(elapsed <= Duration::from_secs(budget) + Duration::from_millis(2), "{elapsed:?}");
    }
    // Told once, and truly.
    let ends = stage.ends();
    assert_eq!(ends.len(), 1, "{ends:?}");
    match ends.first() {
        Some(AttemptEnd::Answered { .. }) => assert!(finished),
        Some(AttemptEnd::Cancelled) => assert!(error.as_ref().is_some_and(ModelError::is_cancelled)),
        Some(AttemptEnd::Failed { error: told }) => assert_eq!(told.class, error.as_ref().unwrap().class()),
        _ => {}
    }
    // No key twice after it was refused or used up.
    let mut gone: Vec<(String, usize)> = Vec::new();
    for (number, call) in calls.iter().enumerate() {
        assert!(!gone.contains(call), "{calls:?}");
        if let Some(Fate::Fails { class: ErrorClass::Auth | ErrorClass::Quota, .. }) = world.fates.get(number)
        {
            gone.push(call.clone());
        }
    }
    // No more calls than keys, retries and targets allow, with one clean-up for each target.
    let most = world.keys + world.retries as usize + 1 + 2 * world.fallbacks;
    assert!(calls.len() <= most, "{calls:?}");
    if let Some(retry) = error.as_ref().and_then(|error| RetryError::of(error)) {
        assert_eq!(retry.attempts().len(), calls.len());
    }

    let events = stage.events();
    let has = |wanted: fn(&AttemptKind) -> bool| events.iter().any(|event| wanted(&event.kind));
    let cancelled = error.as_ref().is_some_and(ModelError::is_cancelled) && world.cancel_after.is_some();
    let out_of_time = world.budget.is_some()
        && error.as_ref().is_some_and(|error| {
            let gave_up = RetryError::of(error).map(RetryError::gave_up);
            matches!(gave_up, Some(retry::GaveUp::OutOfTime { .. } | retry::GaveUp::WaitTooLong { .. }))
                || error.message().contains("time for the call")
        });
    for (name, is) in [
        ("rotated", has(|kind| matches!(kind, AttemptKind::Rotated { .. }))),
        ("fell back", has(|kind| matches!(kind, AttemptKind::FellBack { .. }))),
        ("waited", has(|kind| matches!(kind, AttemptKind::Waiting { .. }))),
        ("cancelled", cancelled),
        ("out of time", out_of_time),
        ("answered", finished),
        ("broke after output", has(|kind| matches!(kind, AttemptKind::Failed { safe: false, .. }))),
    ] {
        *met.0.entry(name).or_default() += usize::from(is);
    }
}

/// [RT-110] [RT-111]
#[test]
fn one_answer_at_most_on_time_and_told_once() {
    const CASES: u32 = 1500;
    let config = Config { cases: CASES, failure_persistence: None, ..Config::default() };
    let met = std::cell::RefCell::new(Met::default());
    let outcome = TestRunner::new(config).run(&world(), |world| {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(play(world, &mut met.borrow_mut()));
        Ok(())
    });
    if let Err(error) = outcome {
        panic!("{error}");
    }
    let met = met.into_inner().0;
    println!("{met:?}");
    for (name, percent) in [
        ("rotated", 20),
        ("fell back", 20),
        ("waited", 5),
        ("cancelled", 20),
        ("out of time", 20),
        ("answered", 6),
        ("broke after output", 3),
    ] {
        let times = met.get(name).copied().unwrap_or_default();
        assert!(times * 100 >= percent * CASES as usize, "{name} in {times} of {CASES}: {met:?}");
    }
}
