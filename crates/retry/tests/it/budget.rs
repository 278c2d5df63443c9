//! One budget over everything.

use std::time::Duration;

use ai_provider::{ErrorClass, RetryError};
use ai_testkit::Script;
use retry::{Fallback, GaveUp};
use tokio::time::Instant;

use crate::support::{Stage, fails, hinted, ok, policy, request, secs};

/// [RT-50]
#[tokio::test(start_paused = true)]
async fn no_wait_outlives_the_budget() {
    // 1 + 2 + 4 + 8 s are slept; 16 s more do not fit into the 15 that are left.
    let (stage, begin) = (Stage::new(), Instant::now());
    let model = policy(9).with_budget(secs(30)).wrap(stage.model("P", [fails(503)])).unwrap();
    let outcome = stage.call(&*model).await;
    assert_eq!((stage.waits(), begin.elapsed()), (vec![1., 2., 4., 8.], secs(15)));
    let retry = RetryError::of(outcome.failure()).unwrap();
    assert_eq!(*retry.gave_up(), GaveUp::OutOfTime { remaining: secs(15) });
    assert_eq!(outcome.failure().class(), ErrorClass::Overloaded, "its predicates are the last attempt's");

    // A hint that fits is slept instead of the backoff that does not.
    let stage = Stage::new();
    let replies = [fails(503), fails(503), fails(503), fails(503), hinted(503, 10.), ok("hi")];
    let model = policy(9).with_budget(secs(30)).wrap(stage.model("P", replies)).unwrap();
    assert_eq!(stage.call(&*model).await.answer(), "hi");
    assert_eq!(stage.waits(), [1., 2., 4., 8., 10.]);

    // One that leaves no time for a call is not.
    let stage = Stage::new();
    let model = policy(9).with_budget(secs(10)).wrap(stage.model("P", [hinted(503, 9.8), ok("hi")])).unwrap();
    stage.call(&*model).await.failure();
    assert_eq!(stage.calls().len(), 1);
}

/// [RT-51]
#[tokio::test(start_paused = true)]
async fn the_earlier_of_budget_and_deadline_counts() {
    for (budget, deadline) in [(Some(10), None), (Some(10), Some(60)), (None, Some(10)), (Some(60), Some(10))]
    {
        let (stage, begin) = (Stage::new(), Instant::now());
        let mut policy = policy(9).with_fallback(Fallback::to(stage.model("F", [ok("no")])));
        if let Some(budget) = budget {
            policy = policy.with_budget(secs(budget));
        }
        let model = policy.wrap(stage.model("P", [Script::new().hang()])).unwrap();
        let ctx = stage.context().with_deadline(deadline.map(|deadline| (begin + secs(deadline)).into_std()));
        let outcome = stage.call_with(&*model, request(), ctx).await;
        assert_eq!(begin.elapsed(), secs(10), "{budget:?} {deadline:?}");
        let error = outcome.failure();
        assert_eq!((error.class(), error.retryable()), (ErrorClass::Timeout, false));
        assert_eq!(stage.order(), "P", "there is no time for a fallback");
    }
    // It is over before it begins.
    let stage = Stage::new();
    let model = policy(9).wrap(stage.model("P", [ok("no")])).unwrap();
    let ctx = stage.context().with_deadline(Instant::now().into_std());
    assert_eq!(stage.call_with(&*model, request(), ctx).await.failure().class(), ErrorClass::Timeout);
    assert!(stage.calls().is_empty());
}

/// [RT-52]
#[tokio::test(start_paused = true)]
async fn it_holds_for_an_answer_that_has_begun_and_for_the_making_of_a_fallback() {
    let (stage, begin) = (Stage::new(), Instant::now());
    let model =
        policy(0).with_budget(secs(10)).wrap(stage.model("P", [Script::new().text("Hi").hang()])).unwrap();
    let outcome = stage.call(&*model).await;
    assert_eq!((begin.elapsed(), outcome.text().as_str()), (secs(10), "Hi"));
    assert_eq!(outcome.failure().class(), ErrorClass::Timeout);

    let (stage, begin) = (Stage::new(), Instant::now());
    let never = Fallback::lazy("never", || {
        std::future::pending::<
            Result<Option<std::sync::Arc<dyn ai_provider::LanguageModel>>, ai_provider::ModelError>,
        >()
    });
    let model =
        policy(0).with_budget(secs(10)).with_fallback(never).wrap(stage.model("P", [fails(503)])).unwrap();
    let outcome = stage.call(&*model).await;
    let retry = RetryError::of(outcome.failure()).unwrap();
    assert_eq!((retry.attempts().len(), retry.gave_up()), (1, &GaveUp::OutOfTime { remaining: secs(0) }));
    assert_eq!(begin.elapsed(), secs(10));
}

/// [RT-53]
#[tokio::test(start_paused = true)]
async fn the_limit_to_the_first_output_is_each_attempts_own() {
    let (stage, begin) = (Stage::new(), Instant::now());
    let slow =
        |seconds| Script::new().delay(secs(seconds)).text("late").finish(ai_provider::UnifiedFinish::Stop);
    let model = policy(1).with_first_output(secs(5)).wrap(stage.model("P", [slow(9), slow(4)])).unwrap();
    assert_eq!(stage.call(&*model).await.answer(), "late");
    assert_eq!(begin.elapsed(), secs(5 + 1 + 4));

    // It is a limit to the first output alone.
    let stage = Stage::new();
    let pausing = Script::new()
        .text("a")
        .delay(Duration::from_secs(60))
        .text("b")
        .finish(ai_provider::UnifiedFinish::Stop);
    let model = policy(1).with_first_output(secs(5)).wrap(stage.model("P", [pausing])).unwrap();
    assert_eq!(stage.call(&*model).await.answer(), "ab");
}
