//! A process that dies, and the next one.

use std::sync::Arc;
use std::time::Duration;

use stream_manager::memory::{MemoryCommands, MemoryConversations, MemoryLog, MemoryOwnership, MemoryStatus};
use stream_manager::port::{Acquired, Ownership};
use stream_manager::record::{Fate, ReturnReason, TopicState};
use stream_manager::{Builder, LeftBehind, Send, Settings};

use crate::world::{SOON, World};

#[derive(Clone, Default)]
struct Machine {
    store: Arc<MemoryConversations>,
    ownership: Arc<MemoryOwnership>,
    log: Arc<MemoryLog>,
    bus: Arc<MemoryStatus>,
    commands: Arc<MemoryCommands>,
}

impl Machine {
    fn build(&self, builder: Builder) -> Builder {
        builder
            .with_store(self.store.clone())
            .with_ownership(self.ownership.clone())
            .with_log(self.log.clone())
            .with_status_bus(self.bus.clone())
            .with_commands(self.commands.clone())
    }

    async fn node(&self, name: &str, left_behind: LeftBehind) -> World {
        let mut settings = Settings::default();
        settings.left_behind = left_behind;
        let build = |builder| self.build(builder).with_node(name).with_settings(settings);
        World::with(build, |source| source).await
    }
}

/// A turn with a finished step and half of another, and two messages that wait; then the process dies.
async fn dies(machine: &Machine) {
    let mut first = machine.node("one", LeftBehind::Return).await;
    first.send("q1").await;
    let turn = first.turns.next().await;
    turn.text("one").step("one").text("half of two");
    first.until(TopicState::Streaming).await;
    first.send("s1").await;
    first.manager.follow_up(&first.topic, Send::text("f1").with_id("f1")).await.unwrap();
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert!(!first.manager.shut_down_now().await);
    assert_eq!(first.rows().await[1], "open: a: one");
}

/// [SM-240]
#[tokio::test(start_paused = true)]
async fn what_a_dead_owner_left_is_interrupted_with_its_finished_steps() {
    let machine = Machine::default();
    dies(&machine).await;
    let mut second = machine.node("two", LeftBehind::Return).await;
    assert_eq!(second.manager.recover().await.unwrap(), 0, "the lease of the dead still stands");
    tokio::time::sleep(Duration::from_secs(16)).await;
    assert_eq!(second.manager.recover().await.unwrap(), 1);
    assert_eq!(second.rows().await, ["complete: u: q1", "interrupted: a: one"]);
    for input in ["s1", "f1"] {
        assert_eq!(second.fate(input).await, Fate::Returned { why: ReturnReason::Interrupted });
    }
    assert!(second.turns.none(), "nothing runs again by itself");
    second.send("q2").await;
    let turn = second.turns.next().await;
    assert_eq!(turn.prompt(), ["u: q1", "a: one", "u: q2"]);
    turn.answer("fine");
    second.until(TopicState::Done).await;
}

/// [SM-241]
#[tokio::test(start_paused = true)]
async fn what_waited_is_answered_if_so_set() {
    let machine = Machine::default();
    dies(&machine).await;
    tokio::time::sleep(Duration::from_secs(16)).await;
    let mut second = machine.node("two", LeftBehind::Answer).await;
    assert_eq!(second.manager.recover().await.unwrap(), 1);
    let turn = second.turns.next().await;
    assert_eq!(turn.prompt(), ["u: q1", "a: one", "u: s1"]);
    turn.answer("to s1");
    let turn = second.turns.next().await;
    assert_eq!(turn.prompt().last().unwrap(), "u: f1");
    turn.answer("to f1");
    second.until(TopicState::Done).await;
}

/// [SM-242]
#[tokio::test(start_paused = true)]
async fn a_verb_waits_for_the_lease_of_a_dead_owner_and_no_longer() {
    let machine = Machine::default();
    dies(&machine).await;
    let mut second = machine.node("two", LeftBehind::Return).await;
    let before = tokio::time::Instant::now();
    second.send("q2").await;
    let waited = before.elapsed();
    assert!(waited > Duration::from_secs(10) && waited < Duration::from_secs(20), "{waited:?}");
    second.turns.next().await.answer("fine");
    second.until(TopicState::Done).await;
}

/// [SM-243]
#[tokio::test(start_paused = true)]
async fn verbs_reach_the_owner_from_any_node() {
    let machine = Machine::default();
    let mut one = machine.node("one", LeftBehind::Return).await;
    let two = machine.node("two", LeftBehind::Return).await;
    let turn_id = one.send("q1").await.turn.unwrap();
    let turn = one.turns.next().await;
    turn.text("half");
    one.until(TopicState::Streaming).await;
    let receipt = two.send("s1").await;
    assert_eq!(receipt.turn, Some(turn_id));
    assert_eq!(two.state().await, TopicState::Streaming);
    assert_eq!(two.manager.topics(), 0);
    let returned = two.manager.stop(&two.topic, turn_id, SOON).await.unwrap();
    assert_eq!(returned.len(), 1);
    assert_eq!(one.state().await, TopicState::Stopped);
}

/// [SM-244]
#[tokio::test(start_paused = true)]
async fn an_owner_that_lost_its_lease_stops_and_writes_nothing_more() {
    let machine = Machine::default();
    let mut one = machine.node("one", LeftBehind::Return).await;
    one.send("q1").await;
    let turn = one.turns.next().await;
    turn.text("half").step("half");
    one.until(TopicState::Streaming).await;
    let ttl = Duration::from_secs(15);
    let Acquired::Held(lease) = machine.ownership.acquire(&one.topic, &"one".into(), ttl).await.unwrap()
    else {
        panic!("a node may ask again for what it has");
    };
    machine.ownership.release(&lease).await.unwrap();
    let mut two = machine.node("two", LeftBehind::Return).await;
    two.send("q2").await;
    let other = two.turns.next().await;
    tokio::time::sleep(Duration::from_secs(6)).await;
    assert!(turn.request.cancel.is_cancelled(), "the old owner has noticed");
    turn.answer("too late");
    other.answer("of the new owner");
    two.until(TopicState::Done).await;
    let rows = two.rows().await;
    assert_eq!(rows[1..], ["interrupted: a: half", "complete: u: q2", "complete: a: of the new owner"]);
    assert_eq!(one.manager.topics(), 0);
    assert!(one.manager.shut_down(SOON).await);
    assert_eq!(one.manager.tasks(), 0);
}
