use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use agent_loop::{UiMessage, UiRole};
use ai_testkit::store::StoreConformance;
use async_trait::async_trait;
use futures_util::{FutureExt, StreamExt};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use stream_manager::memory::{MemoryCommands, MemoryConversations, MemoryLog, MemoryOwnership, MemoryStatus};
use stream_manager::port::{
    Acquired, Claim, Claiming, Command, CommandHandler, Commands, ConversationStore, Lease, Ownership, Page,
    Reply, Standing, StatusBus, StoreErrorKind,
};
use stream_manager::record::{
    AttemptId, Fate, Input, InputBody, InputId, Known, Queue, Row, RowContent, RowId, TopicId, TopicStatus,
    TurnId,
};

/// [SM-100]
#[tokio::test(start_paused = true)]
async fn the_ports_in_memory_hold_what_every_backend_must() {
    let suite = StoreConformance::new()
        .conversations(async || Ok(Arc::new(MemoryConversations::new())))
        .ownership(async || Ok(Arc::new(MemoryOwnership::new())))
        .log(async || Ok(Arc::new(MemoryLog::new())))
        .status(async || Ok(Arc::new(MemoryStatus::new())))
        .commands(async || Ok(Arc::new(MemoryCommands::new())));
    suite.check().await;
}

fn said(id: &str, text: &str) -> Input {
    let message = Arc::new(ai_provider::Message::user(text));
    Input::new(id, InputBody::Message { message, queue: Queue::Steer, parent: None })
}

/// [SM-102]
#[tokio::test]
async fn topics_are_listed_by_the_clock_that_was_given_and_equal_times_by_id() {
    let time = Arc::new(AtomicU64::new(7));
    let clock = Arc::clone(&time);
    let store = MemoryConversations::with_clock(move || clock.load(Ordering::Relaxed));
    for topic in ["b", "d", "a", "c"] {
        store.accept(&topic.into(), &said("i", "x")).await.unwrap();
    }
    time.store(6, Ordering::Relaxed);
    store.accept(&"a".into(), &said("j", "x")).await.unwrap();
    let page = Page { limit: 2, after: Some((7, "d".into())) };
    let told = |topics: Vec<stream_manager::port::TopicSummary>| -> Vec<_> {
        topics.into_iter().map(|it| (it.topic.to_string(), it.updated_at)).collect()
    };
    let all = told(store.list(&Page::default()).await.unwrap());
    assert_eq!(
        all,
        ["d", "c", "b", "a"].map(|id| (id.to_owned(), 7)),
        "a clock that runs back moves nothing"
    );
    assert_eq!(told(store.list(&page).await.unwrap()), ["c", "b"].map(|id| (id.to_owned(), 7)));
    time.store(8, Ordering::Relaxed);
    store.accept(&"b".into(), &said("j", "x")).await.unwrap();
    assert_eq!(told(store.list(&Page::default()).await.unwrap())[0], ("b".to_owned(), 8));
}

/// [SM-103]
#[tokio::test(start_paused = true)]
async fn a_lease_runs_out_on_the_clock_of_tokio_at_its_very_end() {
    let (leases, topic, node) = (MemoryOwnership::new(), TopicId::from("t"), "one".into());
    let ttl = Duration::from_secs(30);
    let Acquired::Held(lease) = leases.acquire(&topic, &node, ttl).await.unwrap() else {
        panic!("it is free")
    };
    tokio::time::advance(ttl - Duration::from_nanos(1)).await;
    assert_eq!(leases.owner(&topic).await.unwrap(), Some(node.clone()));
    leases.renew(&lease, ttl).await.unwrap();
    tokio::time::advance(ttl).await;
    assert_eq!(leases.owner(&topic).await.unwrap(), None);
    assert_eq!(leases.renew(&lease, ttl).await.unwrap_err().kind(), StoreErrorKind::Fenced);
}

/// [SM-104]
#[tokio::test]
async fn watchers_that_do_not_look_cost_nothing_and_find_the_latest_of_each_topic() {
    let bus = MemoryStatus::new();
    let mut watchers = Vec::new();
    for _ in 0..3 {
        watchers.push(bus.watch().await.unwrap());
    }
    let status = |topic: u64, revision| {
        let mut status = TopicStatus::idle(format!("t-{topic}").into());
        status.revision = revision;
        status
    };
    for revision in 1..=10_000 {
        bus.publish(status(revision % 5, revision)).await.unwrap();
    }
    for watcher in &mut watchers {
        let mut seen = Vec::new();
        while let Some(Some(status)) = watcher.next().now_or_never() {
            seen.push(status.revision);
        }
        assert_eq!(seen, [9_996, 9_997, 9_998, 9_999, 10_000], "in the order of the changes");
    }
    bus.forget(&"t-1".into()).await.unwrap();
    bus.publish(status(2, 10_001)).await.unwrap();
    drop(bus);
    for mut watcher in watchers {
        assert_eq!(watcher.next().await.map(|status| status.revision), Some(10_001));
        assert_eq!(watcher.next().await, None, "a watch ends with its bus");
    }
}

/// Waits until it is dropped, and says so.
struct Waits(Arc<AtomicU64>);

#[async_trait]
impl CommandHandler for Waits {
    async fn handle(&self, _topic: TopicId, _command: Command) -> Reply {
        struct Gone(Arc<AtomicU64>);
        impl Drop for Gone {
            fn drop(&mut self) {
                self.0.fetch_add(1, Ordering::Relaxed);
            }
        }
        let _gone = Gone(Arc::clone(&self.0));
        std::future::pending().await
    }
}

/// Done at once.
struct Done;

#[async_trait]
impl CommandHandler for Done {
    async fn handle(&self, _topic: TopicId, _command: Command) -> Reply {
        Reply::Done
    }
}

/// [SM-105]
#[tokio::test(start_paused = true)]
async fn a_handler_ends_with_its_call_and_a_node_that_listens_anew_takes_over() {
    let (carrier, node, topic) = (MemoryCommands::new(), "node".into(), TopicId::from("t"));
    let dropped = Arc::new(AtomicU64::new(0));
    let first = carrier.serve(&node, Arc::new(Waits(Arc::clone(&dropped)))).await.unwrap();
    let limit = Duration::from_secs(3);
    let error = carrier.call(&node, &topic, Command::Status, limit).await.unwrap_err();
    assert_eq!((error.kind(), dropped.load(Ordering::Relaxed)), (StoreErrorKind::Unavailable, 1));
    let mut call = carrier.call(&node, &topic, Command::Status, Duration::MAX);
    assert!((&mut call).now_or_never().is_none());
    drop(call);
    assert_eq!(dropped.load(Ordering::Relaxed), 2);

    let second = carrier.serve(&node, Arc::new(Done)).await.unwrap();
    drop(first);
    assert_eq!(carrier.call(&node, &topic, Command::Status, limit).await.unwrap(), Reply::Done);
    drop(second);
    let error = carrier.call(&node, &topic, Command::Status, limit).await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::NotFound);
}

fn id(number: u64) -> AttemptId {
    AttemptId { epoch: 1, number }
}

fn row(name: u8, number: u64) -> Row {
    let turn = TurnId { epoch: 1, number };
    let name = name.to_string();
    let content = RowContent::new(UiMessage::new(name.as_str(), UiRole::Assistant));
    Row::assistant(name.as_str(), "t".into(), turn, id(number), content, 1)
}

fn claim(number: u64, inputs: &[u8], rows: &[u8]) -> Claim {
    Claim {
        turn: TurnId { epoch: 1, number },
        attempt: id(number),
        inputs: inputs.iter().map(|name| InputId::from(name.to_string())).collect(),
        rows: rows.iter().map(|name| row(*name, number)).collect(),
    }
}

/// Whatever claims come: one that is made consumes all its inputs and writes all its rows, one that is not changes nothing,
/// and each can come again. [SM-106]
#[test]
fn a_claim_is_made_whole_or_not_at_all_and_may_come_again() {
    let names = |most| prop::collection::vec(0..6_u8, 0..most);
    let claims = prop::collection::vec((names(4), names(3)), 1..12);
    let (made, refused) = (Cell::new(0), Cell::new(0));
    let run = |claims: Vec<(Vec<u8>, Vec<u8>)>| {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let counts = runtime.block_on(claim_all(&claims))?;
        made.set(made.get() + counts.0);
        refused.set(refused.get() + counts.1);
        Ok(())
    };
    TestRunner::default().run(&claims, run).unwrap();
    let (made, refused) = (made.get(), refused.get());
    assert!(made * 10 > refused && refused * 10 > made, "{made} were made, {refused} refused");
}

/// Makes these claims one after another. Returns how many of them that name something were made, and how many not.
async fn claim_all(claims: &[(Vec<u8>, Vec<u8>)]) -> Result<(usize, usize), TestCaseError> {
    let (store, topic) = (MemoryConversations::new(), TopicId::from("t"));
    let lease = Lease::new(topic.clone(), "node".into(), 1);
    let (mut made, mut refused) = (0, 0);
    for name in 0..6_u8 {
        store.accept(&topic, &said(&name.to_string(), "x")).await.unwrap();
    }
    for (number, (inputs, rows)) in (1..).zip(claims) {
        let claim = claim(number, inputs, rows);
        let before = store.history(&topic).await.unwrap().unwrap();
        let result = store.claim_and_open(&lease, &claim).await;
        let after = store.history(&topic).await.unwrap().unwrap();
        if let Err(error) = &result {
            prop_assert_eq!(error.kind(), StoreErrorKind::Conflict);
            prop_assert_eq!(&after, &before);
            refused += 1;
        } else {
            let mine = Known::Is(Fate::Consumed { turn: claim.turn, attempt: claim.attempt });
            for id in &claim.inputs {
                let stored = store.input(&topic, id).await.unwrap().unwrap();
                prop_assert_eq!(&stored.fate, &mine);
            }
            for row in &claim.rows {
                let stored = after.rows.iter().find(|stored| stored.id == row.id);
                prop_assert_eq!(stored.and_then(|stored| stored.attempt), Some(claim.attempt));
            }
            made += usize::from(!(inputs.is_empty() && rows.is_empty()));
        }
        prop_assert_eq!(store.claim_and_open(&lease, &claim).await.is_ok(), result.is_ok());
        prop_assert_eq!(store.history(&topic).await.unwrap().unwrap(), after);
    }
    Ok((made, refused))
}

/// [SM-106]
#[test]
fn what_a_store_must_do_about_a_claim_is_told() {
    let topic = TopicId::from("t");
    let queued = |_: &InputId| Some(Known::Is(Fate::Queued));
    let never = |_: &InputId| None;
    let mine = |_: &InputId| {
        Some(Known::Is(Fate::Consumed { turn: TurnId { epoch: 1, number: 1 }, attempt: id(1) }))
    };
    let later = |_: &InputId| Some(Known::Other(serde_json::json!({"type": "later"})));
    let absent = |_: &RowId| None;
    let standing = |number, can_reopen| {
        move |_: &RowId| {
            Some(Standing { turn: TurnId { epoch: 1, number }, attempt: Some(id(number)), can_reopen })
        }
    };
    let both = claim(1, &[1], &[1]);
    let told =
        |result: Result<Claiming, stream_manager::port::StoreError>| result.map_err(|error| error.kind());
    let conflict = Err(StoreErrorKind::Conflict);
    assert_eq!(told(both.check(&topic, queued, absent)), Ok(Claiming::New));
    assert_eq!(told(both.check(&topic, queued, standing(9, true))), Ok(Claiming::New));
    assert_eq!(
        told(both.check(&topic, queued, standing(1, true))),
        Ok(Claiming::New),
        "a driver that redirects"
    );
    assert_eq!(told(both.check(&topic, queued, standing(9, false))), conflict);
    assert_eq!(
        told(both.check(&topic, mine, standing(5, false))),
        Ok(Claiming::Repeated),
        "it went on since"
    );
    assert_eq!(told(both.check(&topic, mine, absent)), conflict);
    assert_eq!(told(both.check(&topic, never, absent)), conflict);
    assert_eq!(told(both.check(&topic, later, absent)), conflict);
    assert_eq!(told(both.check(&"other".into(), queued, absent)), conflict);
    let rows = claim(1, &[], &[1]);
    assert_eq!(told(rows.check(&topic, never, standing(1, true))), Ok(Claiming::Repeated));
    assert_eq!(told(rows.check(&topic, never, standing(9, true))), Ok(Claiming::New));
}

/// [SM-107]
#[test]
fn a_title_is_the_beginning_of_what_the_user_says_in_one_line() {
    let title = |text: &str| said("i", text).title();
    assert_eq!(title(" How\tare \n\n you? ").as_deref(), Some("How are you?"));
    assert_eq!(title(&"é".repeat(300)).as_deref(), Some("é".repeat(200).as_str()));
    assert_eq!(title(&format!("{} b", "a".repeat(199))).as_deref(), Some("a".repeat(199).as_str()));
    assert_eq!(title(" \n "), None);
    assert_eq!(Input::new("i", InputBody::Regenerate { row: "r".into() }).title(), None);
    let message = Arc::new(ai_provider::Message::assistant("Not the user."));
    let input = Input::new("i", InputBody::Message { message, queue: Queue::Steer, parent: None });
    assert_eq!(input.title(), None);
}
