//! Calls at once in one run: each answers for its own key, and what is made is made once.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ai_provider::{ModelError, StreamPart, UnifiedFinish};
use ai_testkit::Script;
use futures_util::StreamExt;
use retry::{Fallback, HealthBoard};

use crate::support::{Stage, error, fails, hinted, ok, policy, request, secs};

/// [RT-98]
#[tokio::test(start_paused = true)]
async fn of_calls_at_once_each_blames_the_key_it_used() {
    for (status, last) in [(401, "2"), (503, "2")] {
        let stage = Stage::new();
        // The first call fails late, after the second has gone on to the other key.
        let late = Script::new().delay(secs(5)).error(error(401));
        let slow = Script::new().delay(secs(20)).text("b").finish(UnifiedFinish::Stop);
        let primary =
            stage.keyed("P", &["1", "2"], [late, fails(401), slow, ok("a"), fails(status), ok("c")]);
        let model = policy(2).wrap(primary).unwrap();
        let ctx = stage.context();
        let (one, two) = tokio::join!(
            stage.call_with(&*model, request(), ctx.clone()),
            stage.call_with(&*model, request(), ctx.clone())
        );
        assert_eq!((one.answer().as_str(), two.answer().as_str()), ("a", "b"));
        assert_eq!(stage.order(), "1 1 2 2");
        // Key 2 is as good as before: only its own failures count.
        let third = stage.call_with(&*model, request(), ctx).await;
        assert_eq!(third.error.is_none(), status == 503);
        assert!(stage.order().starts_with(&format!("1 1 2 2 {last}")));
    }
}

/// [RT-21]
#[tokio::test(start_paused = true)]
async fn calls_at_once_in_a_run_make_a_fallback_once_whoever_is_read() {
    let (stage, made) = (Stage::new(), Arc::new(AtomicUsize::new(0)));
    let (count, spare) = (Arc::clone(&made), stage.model("F", [ok("hi")]));
    let lazy = Fallback::lazy("lazy", move || {
        count.fetch_add(1, Ordering::Relaxed);
        let spare = Arc::clone(&spare);
        async move {
            tokio::time::sleep(secs(3)).await;
            Ok::<_, ModelError>(Some(spare))
        }
    });
    let model = policy(0).with_fallback(lazy).wrap(stage.model("P", [fails(503)])).unwrap();
    let ctx = stage.context();
    // One that has begun to make it and is not read any more holds up nobody.
    let mut idle = model.stream(request(), ctx.clone());
    assert!(futures_util::FutureExt::now_or_never(idle.next()).is_none());
    let calls = (0..5).map(|_| stage.call_with(&*model, request(), ctx.clone()));
    for outcome in futures_util::future::join_all(calls).await {
        assert_eq!(outcome.answer(), "hi");
    }
    assert_eq!(made.load(Ordering::Relaxed), 1);
    assert!(matches!(idle.next().await, Some(Ok(StreamPart::StreamStart { .. }))));
    drop(idle);
    // One that is dropped half way is made anew.
    let ctx = stage.context();
    let mut dropped = model.stream(request(), ctx.clone());
    assert!(futures_util::FutureExt::now_or_never(dropped.next()).is_none());
    drop(dropped);
    assert_eq!(stage.call_with(&*model, request(), ctx).await.answer(), "hi");
    assert_eq!(made.load(Ordering::Relaxed), 3);
}

/// [RT-84]
#[tokio::test(start_paused = true)]
async fn failures_at_once_close_an_endpoint_for_its_first_time_only() {
    let board = Arc::new(HealthBoard::new().with_threshold(3).with_cooldown(secs(30)));
    let stage = Stage::new();
    let slow = || Script::new().delay(secs(1)).error(error(503));
    let mut replies: Vec<_> = (0..20).map(|_| slow()).collect();
    replies.push(ok("back"));
    let model = policy(0)
        .with_health_board(board)
        .with_fallback(Fallback::to(stage.model("F", [ok("other")])))
        .wrap(stage.model("P", replies))
        .unwrap();
    futures_util::future::join_all((0..20).map(|_| stage.call(&*model))).await;
    assert_eq!(stage.call(&*model).await.answer(), "other");
    tokio::time::advance(secs(31)).await;
    assert_eq!(stage.call(&*model).await.answer(), "back");
}

/// [RT-84]
#[tokio::test(start_paused = true)]
async fn a_probe_that_ends_without_an_outcome_leaves_it_to_the_next() {
    for begun in [false, true] {
        let board = Arc::new(HealthBoard::new().with_threshold(1).with_cooldown(secs(30)));
        let stage = Stage::new();
        let probe = if begun { Script::new().text("so").hang() } else { Script::new().hang() };
        let model = policy(0)
            .with_health_board(board)
            .with_fallback(Fallback::to(stage.model("F", [ok("other")])))
            .wrap(stage.model("P", [fails(503), probe, ok("back")]))
            .unwrap();
        stage.call(&*model).await.answer();
        tokio::time::advance(secs(31)).await;
        let mut stream = model.stream(request(), stage.context());
        while futures_util::FutureExt::now_or_never(stream.next()).is_some() {}
        assert_eq!(stage.call(&*model).await.answer(), "other");
        drop(stream);
        assert_eq!(stage.call(&*model).await.answer(), "back", "{begun}");
    }
}

/// [RT-84]
#[tokio::test(start_paused = true)]
async fn an_answer_from_before_does_not_open_what_was_closed_since() {
    let board = Arc::new(HealthBoard::new());
    let stage = Stage::new();
    let slow = Script::new().delay(secs(5)).text("slow").finish(UnifiedFinish::Stop);
    let primary = stage.keyed("P", &["1", "2"], [slow, hinted(429, 50.), ok("hi")]);
    let model = policy(0).with_health_board(board).wrap(primary).unwrap();
    let later = async {
        tokio::time::sleep(secs(1)).await;
        stage.call(&*model).await
    };
    tokio::join!(stage.call(&*model), later);
    assert_eq!(stage.order(), "1 1 2");
    stage.call(&*model).await.answer();
    assert_eq!(stage.order(), "1 1 2 2");
}

/// [RT-84]
#[tokio::test(start_paused = true)]
async fn a_wait_beyond_the_clock_closes_for_good_and_rotation_spares_what_is_closed() {
    let board = Arc::new(HealthBoard::new());
    let stage = Stage::new();
    let primary = stage.keyed("P", &["1", "2", "3"], [hinted(429, 1.8e19), ok("a"), fails(401), ok("b")]);
    let model = policy(0).with_health_board(Arc::clone(&board)).wrap(primary).unwrap();
    assert_eq!(stage.call(&*model).await.answer(), "a");
    tokio::time::advance(secs(100_000)).await;
    assert_eq!(stage.call(&*model).await.answer(), "b");
    assert_eq!(stage.order(), "1 2 2 3");
}

/// [RT-84]
#[tokio::test(start_paused = true)]
async fn what_is_closed_is_left_for_a_fallback_only_where_the_policy_falls_back() {
    let board = Arc::new(HealthBoard::new());
    let stage = Stage::new();
    let model = policy(0)
        .with_health_board(board)
        .with_fallback(Fallback::to(stage.model("F", [ok("other")])))
        .with_fallback_on([ai_provider::ErrorClass::Server])
        .wrap(stage.keyed("P", &["1"], [hinted(429, 50.), ok("hi")]))
        .unwrap();
    stage.call(&*model).await.failure();
    assert_eq!(stage.call(&*model).await.answer(), "hi");
}

/// [RT-13]
#[tokio::test(start_paused = true)]
async fn a_pool_waits_for_its_limited_key_in_whatever_order_the_others_were_refused() {
    for replies in [[hinted(429, 4.), fails(401), ok("hi")], [fails(401), hinted(429, 4.), ok("hi")]] {
        let stage = Stage::new();
        let model = policy(2).wrap(stage.keyed("P", &["1", "2"], replies)).unwrap();
        assert_eq!(stage.call(&*model).await.answer(), "hi");
        assert_eq!(stage.waits(), [0., 4.]);
    }
}

/// [RT-11]
#[tokio::test(start_paused = true)]
async fn a_key_that_failed_in_the_middle_of_an_answer_is_spared_in_the_next_step() {
    for status in [401, 402, 429] {
        let stage = Stage::new();
        let broken = Script::new().text("so").error(error(status));
        let model = policy(0).wrap(stage.keyed("P", &["1", "2"], [broken, ok("hi")])).unwrap();
        let ctx = stage.context();
        stage.call_with(&*model, request(), ctx.clone()).await.failure();
        assert_eq!(stage.call_with(&*model, request(), ctx).await.answer(), "hi");
        assert_eq!(stage.order(), "1 2", "{status}");
    }
}

/// [RT-114]
#[tokio::test(start_paused = true)]
async fn nothing_follows_a_finish_whatever_a_model_does() {
    let stage = Stage::new();
    let odd = ok("hi").part(StreamPart::text_delta("9", "more")).error(error(500));
    let model = policy(2).wrap(stage.model("P", [odd])).unwrap();
    let outcome = stage.call(&*model).await;
    assert_eq!(outcome.answer(), "hi");
    assert!(matches!(
        stage.events().last().unwrap().kind,
        ai_provider::AttemptKind::Settled { end: ai_provider::AttemptEnd::Answered { .. } }
    ));
}
