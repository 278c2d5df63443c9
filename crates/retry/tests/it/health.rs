//! What runs know of each other's keys.

use std::sync::Arc;
use std::time::Duration;

use ai_provider::AttemptKind;
use retry::{Fallback, HealthBoard, RetryPolicy};

use crate::support::{Stage, fails, hinted, ok, policy, secs};

fn with_board(retries: u32, board: &Arc<HealthBoard>) -> RetryPolicy {
    policy(retries).with_health_board(Arc::clone(board))
}

/// [RT-80]
#[tokio::test(start_paused = true)]
async fn a_key_that_failed_one_run_is_spared_by_the_next_until_its_time_is_over() {
    let (stage, board) = (Stage::new(), Arc::new(HealthBoard::new()));
    let primary = stage.keyed("P", &["1", "2"], [hinted(429, 50.), ok("hi")]);
    let model = with_board(0, &board).wrap(primary).unwrap();
    for _ in 0..3 {
        stage.call(&*model).await.answer();
    }
    assert_eq!(stage.order(), "1 2 2 2");
    tokio::time::advance(secs(51)).await;
    stage.call(&*model).await.answer();
    assert_eq!(stage.order(), "1 2 2 2 1");
}

/// [RT-81]
#[tokio::test(start_paused = true)]
async fn an_endpoint_is_closed_after_failures_in_a_row_and_probed_by_one_call() {
    let board = Arc::new(HealthBoard::new().with_threshold(3).with_cooldown(secs(30)));
    let stage = Stage::new();
    let down = stage.model("P", [fails(503)]);
    let other = stage.model("F", [ok("hi")]);
    let model = with_board(0, &board).with_fallback(Fallback::to(other)).wrap(down).unwrap();
    for _ in 0..5 {
        stage.call(&*model).await.answer();
    }
    // Three find it down; then it is left alone.
    assert_eq!(stage.order(), "P F P F P F F F");
    tokio::time::advance(secs(31)).await;
    // One probes, and closes it for twice as long.
    stage.call(&*model).await.answer();
    stage.call(&*model).await.answer();
    tokio::time::advance(secs(31)).await;
    stage.call(&*model).await.answer();
    tokio::time::advance(secs(30)).await;
    stage.call(&*model).await.answer();
    assert_eq!(stage.order(), "P F P F P F F F P F F F P F");
}

/// [RT-81]
#[tokio::test(start_paused = true)]
async fn of_calls_at_once_one_is_the_probe_and_its_answer_opens_it_to_all() {
    let board = Arc::new(HealthBoard::new().with_threshold(1).with_cooldown(secs(30)));
    let stage = Stage::new();
    let slow = ai_testkit::Script::new().delay(secs(2)).text("back").finish(ai_provider::UnifiedFinish::Stop);
    let primary = stage.model("P", [fails(503), slow, ok("hi")]);
    let other = stage.model("F", [ok("other")]);
    let model = with_board(0, &board).with_fallback(Fallback::to(other)).wrap(primary).unwrap();
    stage.call(&*model).await.answer();
    tokio::time::advance(secs(31)).await;
    let (one, two) = tokio::join!(stage.call(&*model), stage.call(&*model));
    assert_eq!((one.answer().as_str(), two.answer().as_str()), ("back", "other"));
    assert_eq!(stage.call(&*model).await.answer(), "hi");
}

/// [RT-82]
#[tokio::test(start_paused = true)]
async fn the_last_usable_target_is_tried_all_the_same() {
    let board = Arc::new(HealthBoard::new().with_threshold(1));
    let stage = Stage::new();
    let model = with_board(0, &board).wrap(stage.model("P", [fails(503), ok("hi")])).unwrap();
    stage.call(&*model).await.failure();
    assert_eq!(stage.call(&*model).await.answer(), "hi");

    // Among several that are unwell the first fallback is taken.
    let board = Arc::new(HealthBoard::new().with_threshold(1));
    let stage = Stage::new();
    let model = with_board(0, &board)
        .with_fallback(Fallback::to(stage.model("F", [fails(503), ok("hi")])))
        .wrap(stage.model("P", [fails(503)]))
        .unwrap();
    stage.call(&*model).await.failure();
    assert_eq!(stage.call(&*model).await.answer(), "hi");
    assert_eq!(stage.order(), "P F F");
    let skips =
        stage.events().iter().filter(|event| matches!(event.kind, AttemptKind::Skipped { .. })).count();
    assert_eq!(skips, 1);
}

/// [RT-83]
#[tokio::test(start_paused = true)]
async fn faults_of_the_request_say_nothing_of_the_endpoint() {
    let board = Arc::new(HealthBoard::new().with_threshold(1).with_cooldown(Duration::from_secs(600)));
    let stage = Stage::new();
    let primary = stage.model("P", [fails(400), fails(404), ok("hi")]);
    let other = stage.model("F", [ok("other")]);
    let model = with_board(0, &board).with_fallback(Fallback::to(other)).wrap(primary).unwrap();
    assert_eq!(stage.call(&*model).await.answer(), "other");
    assert_eq!(stage.call(&*model).await.answer(), "other");
    assert_eq!(stage.call(&*model).await.answer(), "hi");
    assert!(!format!("{board:?}").contains("test"), "{board:?}");
}
