//! One retry layer around another, and what happens to a call at its edges.

use std::sync::Arc;
use std::time::Duration;

use ai_provider::{AttemptEnd, AttemptKind, CancellationToken, LanguageModel, RetryError};
use retry::{Fallback, Timeline};

use crate::support::{Stage, fails, hinted, ok, policy, request, secs};

/// [RT-112]
#[tokio::test(start_paused = true)]
async fn a_layer_around_another_multiplies_nothing_and_tells_one_call() {
    let stage = Stage::new();
    let inner = policy(3).wrap(stage.model("P", [fails(500)])).unwrap();
    let model = policy(3).wrap(inner).unwrap();
    let outcome = stage.call(&*model).await;
    assert_eq!(stage.order(), "P P P P");
    assert_eq!(stage.waits(), [1., 2., 4.]);
    let retry = RetryError::of(outcome.failure()).unwrap();
    assert_eq!(retry.attempts().iter().map(|attempt| attempt.attempt).collect::<Vec<_>>(), [1, 2, 3, 4]);
    let mut timeline = Timeline::new();
    stage.events().iter().for_each(|event| timeline.push(event));
    assert_eq!(
        timeline.to_string(),
        "attempt 1 started · 500, safe · waiting 1 s · attempt 2 started · 500, safe · waiting 2 s · \
         attempt 3 started · 500, safe · waiting 4 s · attempt 4 started · 500, safe · given up"
    );
    assert_eq!(stage.ends().len(), 1);
}

/// [RT-112]
#[tokio::test(start_paused = true)]
async fn a_fallback_may_have_a_policy_of_its_own() {
    let stage = Stage::new();
    let spare = stage.keyed("F", &["a", "b"], [fails(401), fails(503), ok("hi")]);
    let spare = policy(1).wrap(spare).unwrap();
    let model = policy(1).with_fallback(Fallback::to(spare)).wrap(stage.model("P", [fails(400)])).unwrap();
    let mut asked = request();
    // What the caller says of the primary's retries is not said of the fallback's.
    asked.settings.max_retries = Some(4);
    assert_eq!(stage.call_with(&*model, asked, stage.context()).await.answer(), "hi");
    assert_eq!((stage.order().as_str(), stage.waits()), ("P a b b", vec![0., 0., 1.]));
    let numbers: Vec<_> = stage
        .events()
        .iter()
        .filter(|event| event.kind == AttemptKind::Started)
        .map(|event| event.attempt)
        .collect();
    assert_eq!(numbers, [1, 2, 3, 4]);
    assert_eq!(stage.ends().len(), 1);
    assert_eq!(stage.events().last().unwrap().attempt, 4);
}

/// [RT-112] [RT-4]
#[tokio::test(start_paused = true)]
async fn what_a_layer_beneath_says_of_a_wait_is_said_once() {
    let stage = Stage::new();
    let inner = policy(3).wrap(stage.model("P", [hinted(429, 57_600.)])).unwrap();
    let outcome = stage.call(&*policy(3).wrap(inner).unwrap()).await;
    assert_eq!(outcome.failure().message().matches("not before").count(), 1, "{:?}", outcome.failure());
    assert_eq!(stage.order(), "P");
}

/// [RT-64]
#[tokio::test(start_paused = true)]
async fn a_call_that_comes_to_no_attempt_is_settled_too() {
    // In the wait for a key that an earlier step found limited.
    let stage = Stage::new();
    let model = policy(0).wrap(stage.keyed("P", &["1"], [hinted(429, 30.)])).unwrap();
    let cancel = CancellationToken::new();
    let ctx = stage.context().with_cancel(cancel.clone());
    stage.call_with(&*model, request(), ctx.clone()).await.failure();
    let mut patient = request();
    patient.settings.max_retries = Some(1);
    let second = stage.call_with(&*model, patient, ctx.clone());
    let (outcome, ()) = tokio::join!(second, async {
        tokio::time::sleep(secs(1)).await;
        cancel.cancel();
    });
    assert!(outcome.failure().is_cancelled());
    assert_eq!((stage.calls().len(), stage.ends().len()), (1, 2));
    assert_eq!(stage.ends().last(), Some(&AttemptEnd::Cancelled));
    // Cancelled, out of time, and with nothing left, before it began.
    stage.call_with(&*model, request(), ctx).await.failure();
    assert_eq!(stage.ends().len(), 3);
    let late = stage.context().with_deadline(tokio::time::Instant::now().into_std());
    stage.call_with(&*model, request(), late).await.failure();
    assert_eq!(stage.ends().len(), 4);
}

/// [RT-113]
#[tokio::test(start_paused = true)]
async fn waits_beyond_every_calendar_and_clock_are_only_too_long() {
    for seconds in [1e9, 1e12, 1.8e19] {
        let stage = Stage::new();
        let model = policy(3).wrap(stage.model("P", [hinted(429, seconds)])).unwrap();
        let outcome = stage.call(&*model).await;
        assert!(outcome.failure().message().contains("not before"), "{:?}", outcome.failure());
        assert_eq!(stage.order(), "P");
    }
    // The policy's own waits, with jitter.
    let stage = Stage::new();
    let model = policy(1)
        .with_jitter(true)
        .with_seed(1)
        .with_base_delay(Duration::MAX)
        .with_max_delay(Duration::MAX)
        .with_first_output(Duration::MAX)
        .with_budget(Duration::MAX)
        .wrap(stage.model("P", [fails(503)]))
        .unwrap();
    let mut stream = model.stream(request(), stage.context());
    let first = tokio::time::timeout(secs(1000), futures_util::StreamExt::next(&mut stream)).await;
    assert!(first.is_err(), "it waits");
    let retries =
        stage.events().iter().filter(|event| matches!(event.kind, AttemptKind::Waiting { .. })).count();
    assert_eq!(retries, 1);
}

/// [RT-52] [RT-22]
#[tokio::test(start_paused = true)]
async fn time_that_ends_while_a_fallback_is_made_hides_no_error() {
    let stage = Stage::new();
    let never = Fallback::lazy(
        "never",
        std::future::pending::<Result<Option<Arc<dyn LanguageModel>>, ai_provider::ModelError>>,
    );
    let model = policy(0)
        .with_budget(secs(5))
        .with_base_delay(secs(1))
        .with_fallback(never)
        .wrap(stage.model("P", [fails(503)]))
        .unwrap();
    let outcome = stage.call(&*model).await;
    assert_eq!(outcome.failure().status(), Some(503));
    assert!(outcome.failure().message().contains("the time for the call is over"));
    assert_eq!(RetryError::of(outcome.failure()).unwrap().first().unwrap().status(), Some(503));
}
