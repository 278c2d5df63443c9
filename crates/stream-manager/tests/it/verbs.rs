//! The verbs, one by one.

use std::time::Duration;

use stream_manager::port::{Refusal, WhenLive};
use stream_manager::record::{Fate, ReturnReason, TopicState};
use stream_manager::{ManagerError, Send};

use crate::world::{SOON, World};

/// [SM-200]
#[tokio::test(start_paused = true)]
async fn a_message_is_answered_and_both_stand_in_the_conversation() {
    let mut world = World::new().await;
    let receipt = world.send("q1").await;
    assert!(receipt.turn.is_some() && !receipt.duplicate);
    let turn = world.turns.next().await;
    assert_eq!(turn.prompt(), ["u: q1"]);
    assert_eq!(world.rows().await, ["complete: u: q1", "open: "]);
    turn.answer("a1");
    world.until(TopicState::Done).await;
    assert_eq!(world.rows().await, ["complete: u: q1", "complete: a: a1"]);

    world.send("q2").await;
    let turn = world.turns.next().await;
    assert_eq!(turn.prompt(), ["u: q1", "a: a1", "u: q2"]);
    turn.answer("a2");
    world.until(TopicState::Done).await;
    assert!(world.manager.shut_down(SOON).await);
    assert_eq!(world.manager.tasks(), 0);
}

/// [SM-201]
#[tokio::test(start_paused = true)]
async fn a_steer_goes_on_in_the_same_row() {
    let mut world = World::new().await;
    world.send("q1").await;
    let turn = world.turns.next().await;
    turn.text("half").step("half");
    world.until(TopicState::Streaming).await;
    world.send("s1").await;
    world.send("s2").await;
    turn.waits().await;
    turn.end(
        stream_manager::TurnEnding::new(stream_manager::TurnEnd::Complete)
            .with_messages(vec![std::sync::Arc::new(ai_provider::Message::assistant("half"))]),
    );
    let turn = world.turns.next().await;
    let prompt = turn.prompt();
    assert_eq!(prompt[..2], ["u: q1", "a: half"]);
    assert!(prompt[2].contains("s1") && prompt[3].contains("s2"), "{prompt:?}");
    assert_eq!(world.state().await, TopicState::Streaming);
    turn.answer("rest");
    world.until(TopicState::Done).await;
    assert_eq!(world.rows().await, ["complete: u: q1", "complete: a: half | u: s1 | u: s2 | a: rest"]);
    assert!(matches!(world.fate("s1").await, Fate::Consumed { .. }));
}

/// [SM-202]
#[tokio::test(start_paused = true)]
async fn a_stop_is_durable_when_it_returns_and_gives_back_what_waits() {
    let mut world = World::new().await;
    let turn_id = world.send("q1").await.turn.unwrap();
    let turn = world.turns.next().await;
    turn.text("shown");
    world.until(TopicState::Streaming).await;
    world.send("s1").await;
    world.manager.follow_up(&world.topic, Send::text("f1").with_id("f1")).await.unwrap();
    let returned = world.manager.stop(&world.topic, turn_id, SOON).await.unwrap();
    let ids: Vec<_> = returned.iter().map(|input| input.id.as_str()).collect();
    assert_eq!(ids, ["s1", "f1"]);
    assert_eq!(world.rows().await, ["complete: u: q1", "stopped: "]);
    assert_eq!(world.fate("f1").await, Fate::Returned { why: ReturnReason::Stopped });
    assert_eq!(world.state().await, TopicState::Stopped);
    let again = world.manager.stop(&world.topic, turn_id, SOON).await;
    assert_eq!(again.unwrap_err().refusal(), Some(Refusal::NotLive));
    assert!(world.turns.none());
}

/// [SM-203]
#[tokio::test(start_paused = true)]
async fn a_model_that_is_not_there_is_told_to_who_asked() {
    let world = World::new().await;
    let send = Send::text("q1").with_id("q1").with_models(["missing"]);
    let refused = world.manager.send(&world.topic, send).await;
    assert_eq!(refused.unwrap_err().refusal(), Some(Refusal::NoSuchModel));
    assert_eq!(world.fate("q1").await, Fate::Returned { why: ReturnReason::LaunchFailed });
    assert!(world.rows().await.is_empty());
    assert!(world.manager.shut_down(SOON).await);
}

/// [SM-204]
#[tokio::test(start_paused = true)]
async fn two_sends_at_once_are_one_turn_and_one_refusal() {
    let mut world = World::new().await;
    let send = |id: &str| {
        let (manager, topic) = (world.manager.clone(), world.topic.clone());
        let send = Send::text(id).with_id(id).when_live(WhenLive::Reject);
        async move { manager.send(&topic, send).await }
    };
    let (a, b) = tokio::join!(send("a"), send("b"));
    let refused: Vec<_> = [&a, &b].into_iter().filter_map(|sent| sent.as_ref().err()).collect();
    assert!(matches!(refused.as_slice(), [ManagerError::Refused(Refusal::TopicBusy)]), "{a:?} {b:?}");
    world.turns.next().await.answer("done");
    world.until(TopicState::Done).await;
    assert!(world.turns.none());
    tokio::time::sleep(Duration::from_secs(300)).await;
    assert_eq!(world.manager.topics(), 0, "a topic that does nothing has no task");
}
