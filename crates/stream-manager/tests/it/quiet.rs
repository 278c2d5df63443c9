//! Pause, drain, shutdown, delete, withdraw.

use std::time::Duration;

use stream_manager::Send;
use stream_manager::port::Refusal;
use stream_manager::record::{Fate, InputId, ReturnReason, TopicState};

use crate::world::{SOON, World};

/// [SM-260]
#[tokio::test(start_paused = true)]
async fn a_pause_lets_no_turn_begin_and_what_was_said_waits() {
    let mut world = World::new().await;
    world.send("q1").await;
    let turn = world.turns.next().await;
    turn.text("half");
    let first = world.manager.pause();
    let second = world.manager.pause();
    world.until(TopicState::Streaming).await;
    world.send("s1").await;
    assert!(!turn.request.input_waits.get(), "what runs is not asked to yield");
    assert!(!world.manager.drain(Duration::from_secs(1)).await);
    turn.answer("a1");
    assert!(world.manager.drain(SOON).await);
    assert!(world.turns.none());
    drop(first);
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(world.turns.none(), "the other hold counts");
    drop(second);
    let turn = world.turns.next().await;
    assert_eq!(turn.prompt(), ["u: q1", "a: a1", "u: s1"]);
    turn.answer("a2");
    world.until(TopicState::Done).await;
}

/// [SM-261]
#[tokio::test(start_paused = true)]
async fn a_shutdown_interrupts_what_runs_returns_what_waits_and_leaves_no_task() {
    let mut world = World::new().await;
    world.send("q1").await;
    let turn = world.turns.next().await;
    turn.text("one").step("one");
    world.until(TopicState::Streaming).await;
    world.send("s1").await;
    assert!(world.manager.shut_down(SOON).await);
    assert_eq!(world.rows().await, ["complete: u: q1", "interrupted: a: one"]);
    assert_eq!(world.fate("s1").await, Fate::Returned { why: ReturnReason::ShutDown });
    let refused = world.manager.send(&world.topic, Send::text("q2")).await;
    assert_eq!(refused.unwrap_err().refusal(), Some(Refusal::NotAdmitting));
    assert_eq!((world.manager.tasks(), world.manager.topics()), (0, 0));
}

/// [SM-262]
#[tokio::test(start_paused = true)]
async fn a_deleted_topic_is_gone_and_stays_gone() {
    let mut world = World::new().await;
    world.send("q1").await;
    let turn = world.turns.next().await;
    turn.text("one").step("one");
    world.until(TopicState::Streaming).await;
    world.send("s1").await;
    world.manager.delete(&world.topic).await.unwrap();
    turn.answer("too late");
    tokio::time::sleep(Duration::from_secs(30)).await;
    assert!(world.manager.history(&world.topic).await.unwrap().is_none());
    assert_eq!(world.state().await, TopicState::Idle);
    world.send("q2").await;
    let turn = world.turns.next().await;
    assert_eq!(turn.prompt(), ["u: q2"]);
    turn.answer("new");
    world.until(TopicState::Done).await;
}

/// [SM-263]
#[tokio::test(start_paused = true)]
async fn an_input_that_waits_can_be_taken_back_once() {
    let mut world = World::new().await;
    world.send("q1").await;
    let turn = world.turns.next().await;
    world.manager.follow_up(&world.topic, Send::text("f1").with_id("f1")).await.unwrap();
    let id = InputId::from("f1");
    world.manager.withdraw(&world.topic, &id).await.unwrap();
    let again = world.manager.withdraw(&world.topic, &id).await;
    assert_eq!(again.unwrap_err().refusal(), Some(Refusal::NoSuchInput));
    turn.answer("a1");
    world.until(TopicState::Done).await;
    assert_eq!(world.fate("f1").await, Fate::Returned { why: ReturnReason::Withdrawn });
    assert!(world.turns.none());
}

/// [SM-264]
#[tokio::test(start_paused = true)]
async fn a_question_out_of_any_conversation_leaves_nothing_behind() {
    use futures_util::StreamExt;
    let mut world = World::new().await;
    let history = vec![std::sync::Arc::new(ai_provider::Message::user("Name it."))];
    let mut chunks = world.manager.stream_prompt(history, None).await.unwrap();
    let turn = world.turns.next().await;
    turn.answer("Rome");
    let mut count = 0;
    while chunks.next().await.is_some() {
        count += 1;
    }
    assert_eq!(count, 4);
    assert_eq!(world.manager.topics(), 0);
    assert!(world.manager.list(&stream_manager::port::Page::default()).await.unwrap().is_empty());
}
