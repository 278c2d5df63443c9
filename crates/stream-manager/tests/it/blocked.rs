//! A store that fails, hangs and comes back.

use std::sync::Arc;
use std::time::Duration;

use ai_testkit::store::{Fault, FaultyStore, StoreCall};
use stream_manager::memory::MemoryConversations;
use stream_manager::port::{Refusal, StoreErrorKind};
use stream_manager::record::{Fate, TopicState};
use stream_manager::{Send, TopicEvent};

use crate::world::{SOON, World};

async fn world() -> (World, Arc<FaultyStore>) {
    let store = Arc::new(FaultyStore::new(Arc::new(MemoryConversations::new())));
    let given = store.clone();
    (World::with(|builder| builder.with_store(given), |source| source).await, store)
}

const AWAY: Fault = Fault::Fails(StoreErrorKind::Unavailable);

/// [SM-230]
#[tokio::test(start_paused = true)]
async fn an_end_that_cannot_be_written_is_told_to_nobody_and_stays_what_it_was() {
    let (mut world, store) = world().await;
    let mut events = world.manager.events();
    world.send("q1").await;
    store.fault(StoreCall::Settle, AWAY, u64::MAX);
    world.turns.next().await.answer("a1");
    loop {
        if let TopicEvent::Blocked { .. } = events.recv().await.unwrap() {
            break;
        }
    }
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert!(world.state().await.is_live());
    let steer = world.manager.steer(&world.topic, Send::text("s1").with_id("s1")).await.unwrap();
    assert!(steer.turn.is_some());
    assert!(world.turns.none(), "nothing starts while an end is owed");
    store.recover();
    let next = world.turns.next().await;
    assert_eq!(next.prompt(), ["u: q1", "a: a1", "u: s1"]);
    next.answer("a2");
    world.until(TopicState::Done).await;
    assert!(matches!(world.fate("s1").await, Fate::Consumed { .. }));
    assert!(store.calls(StoreCall::Settle) < 40, "the wait between two tries grows");
}

/// [SM-231]
#[tokio::test(start_paused = true)]
async fn a_stop_tries_once_more_and_then_frees_the_topic() {
    let (mut world, store) = world().await;
    let turn = world.send("q1").await.turn.unwrap();
    store.fault(StoreCall::Settle, AWAY, u64::MAX);
    world.turns.next().await.answer("a1");
    tokio::time::sleep(Duration::from_secs(60)).await;
    let before = store.calls(StoreCall::Settle);
    world.manager.stop(&world.topic, turn, SOON).await.unwrap();
    let tries = store.calls(StoreCall::Settle) - before;
    assert!(tries <= 2, "one for the stop, one in the background: {tries}");
    assert_eq!(world.state().await, TopicState::Stopped);
    store.recover();
    world.send("q2").await;
    world.turns.next().await.answer("a2");
    world.until(TopicState::Done).await;
    tokio::time::sleep(Duration::from_secs(10)).await;
    let statuses: Vec<_> =
        world.rows().await.iter().map(|row| row.split(':').next().unwrap().to_owned()).collect();
    assert_eq!(statuses, ["complete", "failed", "complete", "complete"], "no row stays open");
}

/// [SM-232]
#[tokio::test(start_paused = true)]
async fn a_write_that_was_done_and_not_heard_of_is_done_once() {
    for fault in [Fault::DoneButFails, Fault::DoneButHangs] {
        for call in [StoreCall::Accept, StoreCall::Claim, StoreCall::Settle, StoreCall::Checkpoint] {
            let (mut world, store) = world().await;
            store.fault(call, fault, 1);
            let sent = world.manager.send(&world.topic, Send::text("q1").with_id("q1")).await;
            if call == StoreCall::Accept {
                assert_eq!(sent.as_ref().unwrap_err().refusal(), Some(Refusal::StoreBlocked));
                // The sender does not know, and neither does the topic: sent again, it is answered.
                assert!(!world.send("q1").await.duplicate);
                assert!(world.send("q1").await.duplicate);
            }
            if call != StoreCall::Accept {
                sent.unwrap();
            }
            let turn = world.turns.next().await;
            turn.text("one").step("one");
            turn.answer("one");
            world.until(TopicState::Done).await;
            assert_eq!(world.rows().await, ["complete: u: q1", "complete: a: one"], "{fault:?} {call:?}");
            store.recover();
            assert!(world.manager.shut_down(SOON).await);
        }
    }
}

/// [SM-233]
#[tokio::test(start_paused = true)]
async fn a_message_that_cannot_be_written_down_starts_nothing() {
    for kind in [StoreErrorKind::Unavailable, StoreErrorKind::Full, StoreErrorKind::Corrupt] {
        let (mut world, store) = world().await;
        store.fault(StoreCall::Accept, Fault::Fails(kind), 1);
        let sent = world.manager.send(&world.topic, Send::text("q1").with_id("q1")).await;
        assert_eq!(sent.unwrap_err().refusal(), Some(Refusal::StoreBlocked));
        assert!(world.turns.none());
        world.send("q1").await;
        world.turns.next().await.answer("a1");
        world.until(TopicState::Done).await;
    }
}

/// [SM-234]
#[tokio::test(start_paused = true)]
async fn a_disk_that_is_full_for_a_while_costs_nothing_but_time() {
    let (mut world, store) = world().await;
    world.send("q1").await;
    store.fault_writes(Fault::Fails(StoreErrorKind::Full));
    let turn = world.turns.next().await;
    turn.text("one").step("one");
    tokio::time::sleep(Duration::from_secs(30)).await;
    turn.answer("one");
    tokio::time::sleep(Duration::from_secs(30)).await;
    store.recover();
    world.until(TopicState::Done).await;
    assert_eq!(world.rows().await, ["complete: u: q1", "complete: a: one"]);
}
