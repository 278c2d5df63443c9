//! Limits of time.

use std::time::Duration;

use stream_manager::record::TopicState;
use stream_manager::{Settings, TurnLimits, WithoutReaders};

use crate::world::{SOON, World};

const LIMIT: Duration = Duration::from_secs(5);

fn limited(limits: TurnLimits) -> impl FnOnce(&mut Settings) {
    move |settings| settings.limits = limits
}

async fn why(world: &World) -> String {
    let row = world.conversation().await.rows.pop().unwrap();
    row.content.error.map(|error| error.message).unwrap_or_default()
}

/// [SM-250]
#[tokio::test(start_paused = true)]
async fn each_limit_stops_the_turn_and_the_row_says_which() {
    let none = TurnLimits::default().with_idle(None);
    let cases = [
        (none.with_first_output(LIMIT), "no model said anything for 5 s"),
        (none.with_idle(LIMIT), "nothing happened for 5 s"),
        (none.with_total(LIMIT), "the answer took longer than 5 s"),
    ];
    for (limits, told) in cases {
        let mut world = World::settings(limited(limits)).await;
        world.send("q1").await;
        let _turn = world.turns.next().await;
        tokio::time::sleep(LIMIT - Duration::from_millis(100)).await;
        assert!(world.state().await.is_live());
        tokio::time::sleep(Duration::from_millis(200)).await;
        assert_eq!(world.state().await, TopicState::Stopped);
        assert_eq!(why(&world).await, told);
    }
}

/// [SM-251]
#[tokio::test(start_paused = true)]
async fn what_happens_in_time_keeps_a_turn_alive() {
    let limits = TurnLimits::default().with_first_output(LIMIT).with_idle(LIMIT);
    let mut world = World::settings(limited(limits)).await;
    world.send("q1").await;
    let turn = world.turns.next().await;
    for _ in 0..10 {
        tokio::time::sleep(LIMIT - Duration::from_secs(1)).await;
        turn.text("more");
    }
    turn.answer("done");
    world.until(TopicState::Done).await;
}

/// [SM-252]
#[tokio::test(start_paused = true)]
async fn a_run_that_does_not_end_is_dropped() {
    let mut world = World::with(|builder| builder, |source| source.stubborn()).await;
    let turn_id = world.send("q1").await.turn.unwrap();
    let turn = world.turns.next().await;
    turn.text("one").step("one");
    world.until(TopicState::Streaming).await;
    let before = tokio::time::Instant::now();
    world.manager.stop(&world.topic, turn_id, SOON).await.unwrap();
    assert!(before.elapsed() >= Duration::from_secs(10) && before.elapsed() < Duration::from_secs(11));
    assert_eq!(world.rows().await[1], "stopped: a: one");
}

/// [SM-253]
#[tokio::test(start_paused = true)]
async fn a_panic_of_the_source_is_a_failed_answer_and_the_topic_is_free() {
    let mut world = World::with(|builder| builder, |source| source.panicking()).await;
    world.send("q1").await;
    world.turns.next().await.text("one");
    world.until(TopicState::Failed).await;
    assert_eq!(why(&world).await, "the run panicked");
    world.send("q2").await;
    assert!(world.manager.shut_down(SOON).await);
}

/// [SM-254]
#[tokio::test(start_paused = true)]
async fn a_turn_that_nobody_reads_is_stopped_if_so_set() {
    let stop_after = |settings: &mut Settings| settings.without_readers = WithoutReaders::StopAfter(LIMIT);
    let mut world = World::settings(stop_after).await;
    world.send("q1").await;
    let _turn = world.turns.next().await;
    tokio::time::sleep(LIMIT * 2).await;
    assert_eq!(world.state().await, TopicState::Stopped);
}
