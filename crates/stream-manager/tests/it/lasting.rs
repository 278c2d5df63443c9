//! A process that runs for long: what must not grow, hang or stay stuck.

use std::sync::Arc;
use std::time::Duration;

use agent_loop::UiChunk;
use ai_testkit::store::{Fault, FaultyStore, StoreCall};
use stream_manager::memory::{MemoryConversations, MemoryLog, MemoryStatus};
use stream_manager::port::{Refusal, ReplayLog, StatusBus, StoreErrorKind};
use stream_manager::reader::{Attach, AttachError};
use stream_manager::record::{AttemptId, Fate, RowStatus, TopicId, TopicState, TurnId};
use stream_manager::{Send, Settings, StreamManager, TurnEvent, WithoutReaders};

use crate::odd::{ALL, Hangs, hanging, panicking_log};
use crate::turns::scripted;
use crate::world::{SOON, World};

async fn logs(log: &MemoryLog, topic: &TopicId) -> usize {
    let mut found = 0;
    for epoch in 1..=3 {
        for number in 1..=20 {
            let attempt = AttemptId { epoch, number };
            found += usize::from(log.read(topic, attempt, None).await.unwrap().is_some());
        }
    }
    found
}

/// [SM-300]
#[tokio::test(start_paused = true)]
async fn each_log_is_forgotten_also_of_turns_that_follow_fast_and_of_topics_that_go() {
    let log = Arc::new(MemoryLog::new());
    let given = log.clone();
    let mut world = World::with(|builder| builder.with_log(given), |source| source).await;
    for question in ["q1", "q2", "q3"] {
        world.send(question).await;
        let turn = world.turns.next().await;
        world.send(&format!("{question} more")).await;
        turn.answer("one");
        world.turns.next().await.answer("two");
        world.until(TopicState::Done).await;
    }
    assert_eq!(logs(&log, &world.topic).await, 6, "each can be read for a while");
    tokio::time::sleep(Duration::from_secs(31)).await;
    assert_eq!(logs(&log, &world.topic).await, 0);

    world.send("q4").await;
    world.turns.next().await.answer("three");
    world.until(TopicState::Done).await;
    assert_eq!(logs(&log, &world.topic).await, 1);
    world.manager.delete(&world.topic).await.unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(logs(&log, &world.topic).await, 0);
}

/// [SM-301]
#[tokio::test(start_paused = true)]
async fn what_hangs_holds_up_no_other_topic_and_no_shutdown() {
    for hangs in ALL {
        let (source, mut turns) = scripted();
        let manager = hanging(StreamManager::builder(source), hangs).build().await.unwrap();
        let (hung, other) = (TopicId::from("hung"), TopicId::from("other"));
        let sending = tokio::spawn({
            let (manager, hung) = (manager.clone(), hung.clone());
            async move { manager.send(&hung, Send::text("q")).await }
        });
        if hangs != Hangs::Acquire {
            turns.next().await.answer("a");
        }
        tokio::time::sleep(Duration::from_secs(40)).await;
        if hangs == Hangs::ForgetStatus {
            let _ = tokio::time::timeout(Duration::from_secs(1), manager.delete(&hung)).await;
        }
        manager.send(&other, Send::text("q")).await.unwrap();
        turns.next().await.answer("a");
        if hangs == Hangs::Acquire {
            assert_eq!(sending.await.unwrap().unwrap_err().refusal(), Some(Refusal::StoreBlocked));
            let (manager, hung) = (manager.clone(), hung.clone());
            tokio::spawn(async move { manager.send(&hung, Send::text("again")).await });
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        if hangs == Hangs::Renew {
            // Until its lease is being renewed.
            manager.send(&hung, Send::text("again")).await.unwrap();
            tokio::time::sleep(Duration::from_secs(6)).await;
        }
        let begun = tokio::time::Instant::now();
        manager.shut_down(Duration::from_secs(2)).await;
        assert!(begun.elapsed() < Duration::from_secs(3), "{hangs:?}: {:?}", begun.elapsed());
        assert_eq!((manager.tasks(), manager.topics()), (0, 0), "{hangs:?}");
    }
}

/// [SM-302]
#[test]
fn the_last_change_of_a_hold_counts_also_outside_of_a_runtime() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let mut world = runtime.block_on(World::new());
    runtime.block_on(async {
        world.send("q0").await;
        world.turns.next().await.answer("a0");
        world.until(TopicState::Done).await;
    });
    for round in 1..200 {
        let hold = world.manager.pause();
        if round % 2 == 0 {
            runtime.block_on(async {
                let question = format!("held {round}");
                world.manager.send(&world.topic, Send::text(&*question)).await.unwrap();
                assert!(world.turns.none(), "a hold counts at once");
            });
        }
        drop(hold);
        runtime.block_on(async {
            if round % 2 == 1 {
                world.send(&format!("free {round}")).await;
            }
            world.turns.next().await.answer("a");
            world.until(TopicState::Done).await;
        });
    }
}

/// [SM-304]
#[tokio::test(start_paused = true)]
async fn who_reads_before_a_topic_has_a_task_counts_as_its_reader() {
    let limit = Duration::from_secs(10);
    let mut world =
        World::settings(|settings| settings.without_readers = WithoutReaders::StopAfter(limit)).await;
    let reader = world.manager.attach(&world.topic, Attach::new().following()).await.unwrap();
    for question in ["q1", "q2"] {
        world.send(question).await;
        let turn = world.turns.next().await;
        tokio::time::sleep(limit * 2).await;
        turn.answer("one");
        world.until(TopicState::Done).await;
        // Until the topic has no task.
        tokio::time::sleep(Duration::from_secs(120)).await;
        assert_eq!(world.manager.topics(), 0);
    }
    drop(reader);
    world.send("q3").await;
    let _turn = world.turns.next().await;
    world.until(TopicState::Stopped).await;
}

/// [SM-305]
#[tokio::test(start_paused = true)]
async fn times_may_be_endless() {
    let never = Duration::MAX;
    let mut world = World::settings(|settings: &mut Settings| {
        settings.limits = settings.limits.with_first_output(never).with_idle(never).with_total(never);
        settings.approval_wait = never;
        settings.flush_every = never;
        settings.store_timeout = never;
        settings.stop_grace = never;
        settings.grace = never;
        settings.idle_owner = never;
        settings.lease = never;
        settings.without_readers = WithoutReaders::StopAfter(never);
    })
    .await;
    let turn = world.send("q1").await.turn.unwrap();
    let run = world.turns.next().await;
    run.text("half");
    world.until(TopicState::Streaming).await;
    world.manager.stop(&world.topic, turn, never).await.unwrap();
    world.send("q2").await;
    world.turns.next().await.answer("two");
    world.until(TopicState::Done).await;
    assert_eq!(world.rows().await[3], "complete: a: two");
}

/// [SM-306]
#[tokio::test(start_paused = true)]
async fn a_conversation_goes_on_from_what_replaced_an_answer() {
    let mut world = World::new().await;
    let send = Send::text("q1").with_models(["one", "two"]);
    world.manager.send(&world.topic, send).await.unwrap();
    let (one, two) = (world.turns.next().await, world.turns.next().await);
    one.answer("first");
    let row = one.request.row.clone();
    while world.conversation().await.rows[1].status.known() != Some(&RowStatus::Complete) {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    world.manager.regenerate(&world.topic, &row, Vec::new()).await.unwrap();
    world.turns.next().await.answer("better");
    two.answer("other");
    world.until(TopicState::Done).await;
    world.send("q2").await;
    let next = world.turns.next().await;
    assert_eq!(next.prompt(), ["u: q1", "a: better", "u: q2"]);
}

/// [SM-307]
#[tokio::test(start_paused = true)]
async fn nothing_is_shown_behind_a_finish_an_error_or_an_abort() {
    let ends = [
        UiChunk::Finish { finish_reason: None, message_metadata: None },
        UiChunk::Error { error_text: "broken".to_owned() },
        UiChunk::Abort { reason: None },
    ];
    for end in ends {
        let mut world = World::new().await;
        world.send("q1").await;
        let turn = world.turns.next().await;
        turn.text("one").chunk(end).chunk(UiChunk::StartStep);
        turn.answer("two");
        world.until(TopicState::Done).await;
        let shown = serde_json::to_string(&world.conversation().await.rows[1].content.ui).unwrap();
        assert!(shown.contains("one") && !shown.contains("two"), "{shown}");
    }
}

/// [SM-308]
#[tokio::test(start_paused = true)]
async fn a_turn_that_never_comes_is_waited_for_as_long_as_patience_lasts() {
    let world = World::new().await;
    let wants = Attach::new().with_turn(TurnId { epoch: 9, number: 9 }).with_patience(Duration::from_secs(5));
    let begun = tokio::time::Instant::now();
    let attached = tokio::time::timeout(SOON, world.manager.attach(&world.topic, wants)).await;
    assert!(matches!(attached, Ok(Err(AttachError::NotFound))));
    assert_eq!(begun.elapsed().as_secs(), 5);
}

/// [SM-309]
#[tokio::test]
async fn a_name_that_somebody_looked_for_is_not_kept() {
    let bus = MemoryStatus::new();
    let before = format!("{bus:?}").len();
    let (one, two) =
        (bus.watch_topic(&"x".into()).await.unwrap(), bus.watch_topic(&"x".into()).await.unwrap());
    drop(one);
    assert!(format!("{bus:?}").len() > before, "somebody watches it still");
    drop(two);
    assert_eq!(format!("{bus:?}").len(), before);
}

/// [SM-310]
#[tokio::test(start_paused = true)]
async fn who_reads_a_row_whose_task_dies_hears_of_its_end() {
    let mut world = World::with(|builder| builder.with_log(panicking_log()), |source| source).await;
    world.send("q1").await;
    let turn = world.turns.next().await;
    turn.text("one");
    world.until(TopicState::Streaming).await;
    let mut reader = world.manager.attach(&world.topic, Attach::new()).await.unwrap();
    let begun = tokio::time::Instant::now();
    turn.answer("two");
    let mut end = None;
    while let Some(item) = reader.next().await {
        end = item.unwrap().terminal().map(|terminal| terminal.status);
    }
    assert_eq!(end, Some(RowStatus::Failed));
    assert!(begun.elapsed() < Duration::from_secs(1), "its patience is not tried");
}

/// [SM-311]
#[tokio::test(start_paused = true)]
async fn a_driver_whose_claim_is_refused_for_good_does_not_hold_the_topic() {
    let store = Arc::new(FaultyStore::new(Arc::new(MemoryConversations::new())));
    let given = store.clone();
    let mut world = World::with(|builder| builder.with_store(given), |source| source.redirecting()).await;
    world.send("q1").await;
    let mut turn = world.turns.next().await;
    turn.text("one");
    world.until(TopicState::Streaming).await;
    world.send("s1").await;
    turn.redirected().await;
    store.fault(StoreCall::Claim, Fault::Fails(StoreErrorKind::Conflict), 1);
    turn.event(TurnEvent::Redirected(vec!["s1".into()]));
    turn.answer("one");
    let next = world.turns.next().await;
    next.answer("two");
    world.until(TopicState::Done).await;
    assert!(matches!(world.fate("s1").await, Fate::Consumed { .. }));
    assert_eq!(world.rows().await[1], "complete: a: one | u: s1 | a: two");
}
