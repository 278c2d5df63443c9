//! A driver that takes up what the user says while it runs.

use stream_manager::TurnEvent;
use stream_manager::record::{Fate, TopicState};

use crate::world::World;

/// [SM-270]
#[tokio::test(start_paused = true)]
async fn what_is_taken_up_stands_in_the_row_where_it_was_and_the_run_goes_on() {
    let mut world = World::with(|builder| builder, |source| source.redirecting()).await;
    world.send("q1").await;
    let mut turn = world.turns.next().await;
    turn.text("one").step("one");
    world.until(TopicState::Streaming).await;
    world.send("s1").await;
    world.send("s2").await;
    assert_eq!(turn.redirected().await.as_str(), "s1");
    turn.event(TurnEvent::Redirected(vec!["s1".into()]));
    assert_eq!(turn.redirected().await.as_str(), "s2", "one at a time, in order");
    assert!(matches!(world.fate("s1").await, Fate::Consumed { .. }));
    assert!(!turn.request.input_waits.get());
    turn.event(TurnEvent::NotRedirected(vec!["s2".into()]));
    turn.waits().await;
    turn.end(stream_manager::TurnEnding::new(stream_manager::TurnEnd::Complete).with_messages(vec![
        std::sync::Arc::new(ai_provider::Message::assistant("one")),
        std::sync::Arc::new(ai_provider::Message::assistant("two")),
    ]));
    let next = world.turns.next().await;
    next.answer("three");
    world.until(TopicState::Done).await;
    let rows = world.rows().await;
    assert_eq!(rows[1], "complete: a: one | u: s1 | a: two | u: s2 | a: three");
}

/// [SM-271]
#[tokio::test(start_paused = true)]
async fn what_was_handed_over_and_never_heard_of_again_is_answered_afterwards() {
    let mut world = World::with(|builder| builder, |source| source.redirecting()).await;
    world.send("q1").await;
    let mut turn = world.turns.next().await;
    turn.text("one");
    world.until(TopicState::Streaming).await;
    world.send("s1").await;
    turn.redirected().await;
    turn.answer("one");
    let next = world.turns.next().await;
    assert!(next.prompt().last().unwrap().contains("s1"));
    next.answer("two");
    world.until(TopicState::Done).await;
    assert!(matches!(world.fate("s1").await, Fate::Consumed { .. }));
}
