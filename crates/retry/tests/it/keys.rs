//! Keys that rotate.

use ai_provider::{AttemptKind, ErrorClass, RetryError};
use retry::{Fallback, KeyOrder};

use crate::support::{Stage, error, fails, fails_with, hinted, ok, policy, request};

/// [RT-10]
#[tokio::test(start_paused = true)]
async fn each_key_is_tried_at_once_and_apart_from_the_retries() {
    for class in [ErrorClass::Auth, ErrorClass::Quota, ErrorClass::RateLimit] {
        let stage = Stage::new();
        let refused = fails_with(ai_provider::ModelError::new(class, "no"));
        let replies = [refused.clone(), refused.clone(), refused, ok("hi")];
        let model = policy(0).wrap(stage.keyed("P", &["1", "2", "3", "4"], replies)).unwrap();
        assert_eq!(stage.call(&*model).await.answer(), "hi", "{class}");
        assert_eq!((stage.order().as_str(), stage.waits()), ("1 2 3 4", vec![0.; 3]), "{class}");
    }
}

/// [RT-11]
#[tokio::test(start_paused = true)]
async fn a_run_stays_with_the_key_that_worked_and_never_goes_back_to_one_that_was_refused() {
    let stage = Stage::new();
    let replies = [fails(401), ok("a"), fails(429), ok("b"), ok("c"), fails(401)];
    let model = policy(0).wrap(stage.keyed("P", &["1", "2", "3"], replies)).unwrap();
    let ctx = stage.context();
    for text in ["a", "b", "c"] {
        assert_eq!(stage.call_with(&*model, request(), ctx.clone()).await.answer(), text);
    }
    assert_eq!(stage.order(), "1 2 2 3 3");
    // Key 3 is refused too. Key 2 was only limited, and its time is over by now.
    tokio::time::advance(std::time::Duration::from_secs(5)).await;
    let outcome = stage.call_with(&*model, request(), ctx.clone()).await;
    assert_eq!(outcome.failure().class(), ErrorClass::Auth);
    assert_eq!(stage.order(), "1 2 2 3 3 3 2");
    // Now no key is left: no further call is made, and the error is that of the last.
    let outcome = stage.call_with(&*model, request(), ctx).await;
    assert_eq!((outcome.failure().status(), stage.calls().len()), (Some(401), 7));
}

/// [RT-12]
#[tokio::test(start_paused = true)]
async fn a_spent_pool_goes_to_the_fallback_without_a_wait_and_the_run_stays_there() {
    let stage = Stage::new();
    let fallback = Fallback::to(stage.model("F", [ok("hi")]));
    let primary = stage.keyed("P", &["1", "2"], [fails(429)]);
    let model = policy(3).with_fallback(fallback).wrap(primary).unwrap();
    let ctx = stage.context();
    for _ in 0..3 {
        assert_eq!(stage.call_with(&*model, request(), ctx.clone()).await.answer(), "hi");
    }
    assert_eq!((stage.order().as_str(), stage.waits()), ("1 2 F F F", vec![0.; 4]));
}

/// [RT-12]
#[tokio::test(start_paused = true)]
async fn a_single_limited_key_is_waited_for_before_the_fallback() {
    let stage = Stage::new();
    let fallback = Fallback::to(stage.model("F", [ok("hi")]));
    let primary = stage.keyed("P", &["1"], [fails(429)]);
    let model = policy(1).with_fallback(fallback).wrap(primary).unwrap();
    assert_eq!(stage.call(&*model).await.answer(), "hi");
    assert_eq!((stage.order().as_str(), stage.waits()), ("1 1 F", vec![1., 0.]));
}

/// [RT-13]
#[tokio::test(start_paused = true)]
async fn a_limited_pool_without_a_fallback_waits_for_the_key_that_is_free_first() {
    let stage = Stage::new();
    let primary = stage.keyed("P", &["1", "2"], [hinted(429, 9.), hinted(429, 4.), ok("hi")]);
    let model = policy(2).wrap(primary).unwrap();
    assert_eq!(stage.call(&*model).await.answer(), "hi");
    assert_eq!((stage.order().as_str(), stage.waits()), ("1 2 2", vec![0., 4.]));

    let stage = Stage::new();
    let primary = stage.keyed("P", &["1", "2"], [hinted(429, 4.), hinted(429, 9.), ok("hi")]);
    let model = policy(2).wrap(primary).unwrap();
    assert_eq!(stage.call(&*model).await.answer(), "hi");
    assert_eq!((stage.order().as_str(), stage.waits()), ("1 2 1", vec![0., 4.]));
}

/// [RT-14]
#[tokio::test(start_paused = true)]
async fn used_up_credit_is_one_request_a_key_and_no_wait() {
    let quota = || fails_with(error(402));
    for (keys, calls) in [(&["1"][..], "1"), (&["1", "2"][..], "1 2")] {
        let stage = Stage::new();
        let model = policy(3).wrap(stage.keyed("P", keys, [quota()])).unwrap();
        let outcome = stage.call(&*model).await;
        assert_eq!(outcome.failure().class(), ErrorClass::Quota);
        assert_eq!(stage.order(), calls);
        assert!(stage.waits().iter().all(|wait| *wait == 0.));
    }
}

/// [RT-15]
#[tokio::test(start_paused = true)]
async fn a_key_that_cannot_be_had_is_passed_over() {
    let stage = Stage::new();
    let missing = ai_provider::ModelError::new(ErrorClass::Auth, "the token cannot be renewed");
    let replies = [fails(401), fails_with(missing), ok("hi")];
    let model = policy(0).wrap(stage.keyed("P", &["1", "2", "3"], replies)).unwrap();
    assert_eq!(stage.call(&*model).await.answer(), "hi");
    assert_eq!(stage.order(), "1 2 3");
}

/// [RT-16]
#[tokio::test(start_paused = true)]
async fn a_fault_of_the_server_is_retried_with_the_key_at_hand() {
    let stage = Stage::new();
    let replies = [fails(401), fails(503), ok("hi")];
    let model = policy(1).wrap(stage.keyed("P", &["1", "2", "3"], replies)).unwrap();
    assert_eq!(stage.call(&*model).await.answer(), "hi");
    assert_eq!((stage.order().as_str(), stage.waits()), ("1 2 2", vec![0., 1.]));

    for second in [401, 429] {
        let stage = Stage::new();
        let replies = [fails(401), fails(503), fails(second), ok("hi")];
        let model = policy(1).wrap(stage.keyed("P", &["1", "2", "3"], replies)).unwrap();
        assert_eq!(stage.call(&*model).await.answer(), "hi");
        assert_eq!(stage.order(), "1 2 2 3");
    }
}

/// [RT-17]
#[tokio::test(start_paused = true)]
async fn runs_begin_at_the_first_key_or_at_the_next() {
    let order = async |order: KeyOrder| {
        let stage = Stage::new();
        let primary = stage.keyed("P", &["1", "2", "3"], [ok("hi")]);
        let model = policy(0).with_key_order(order).wrap(primary).unwrap();
        for _ in 0..4 {
            let ctx = stage.context();
            for _ in 0..2 {
                stage.call_with(&*model, request(), ctx.clone()).await.answer();
            }
        }
        stage.order()
    };
    assert_eq!(order(KeyOrder::First).await, "1 1 1 1 1 1 1 1");
    assert_eq!(order(KeyOrder::RoundRobin).await, "1 1 2 2 3 3 1 1");
}

/// [RT-18]
#[tokio::test(start_paused = true)]
async fn an_error_lists_every_key_in_order_by_its_label() {
    let stage = Stage::new();
    let primary = stage.keyed("P", &["team-a", "team-b"], [fails(401), fails(402)]);
    let model = policy(0).wrap(primary).unwrap();
    let outcome = stage.call(&*model).await;
    let retry = RetryError::of(outcome.failure()).unwrap();
    let attempts: Vec<_> = retry
        .attempts()
        .iter()
        .map(|attempt| (attempt.attempt, attempt.key.as_ref().unwrap().as_str(), attempt.error.status()))
        .collect();
    assert_eq!(attempts, [(1, "team-a", Some(401)), (2, "team-b", Some(402))]);
    let rotated = stage.events().into_iter().find_map(|event| match event.kind {
        AttemptKind::Rotated { from } => Some((from, event.key, event.attempt)),
        _ => None,
    });
    assert_eq!(rotated, Some((Some("team-a".into()), Some("team-b".into()), 2)));
}
