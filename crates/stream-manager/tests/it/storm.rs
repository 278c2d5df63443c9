//! Many topics, any verbs in any order, a store that has its moods.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use agent_loop::{UiChunk, UiReducer};
use ai_provider::{Id, Message};
use ai_testkit::store::{Fault, FaultyStore, StoreCall};
use async_trait::async_trait;
use futures_util::{StreamExt, stream};
use proptest::prelude::*;
use stream_manager::memory::MemoryConversations;
use stream_manager::port::{ConversationStore, StoreErrorKind, WhenLive};
use stream_manager::reader::{Attach, ReaderBody};
use stream_manager::record::{Author, Fate, Known, RowStatus, TopicId};
use stream_manager::{
    OpenError, Send, StreamManager, TopicEvent, TurnEnd, TurnEnding, TurnEvent, TurnRequest, TurnRun,
    TurnSource,
};

/// Answers in a few steps, each with a pause, and yields between them. Some runs fail, some panic, some never end.
struct Talker(AtomicUsize);

#[async_trait]
impl TurnSource for Talker {
    async fn open(&self, request: TurnRequest) -> Result<TurnRun, OpenError> {
        let number = self.0.fetch_add(1, Ordering::Relaxed);
        if number % 23 == 22 {
            return Err(OpenError::Other("no".into()));
        }
        let steps = 1 + number % 3;
        let state = (0, false, request);
        let events = stream::unfold(state, move |(step, over, request)| async move {
            if over {
                return None;
            }
            let pause = tokio::time::sleep(Duration::from_millis(1 + (number % 7) as u64));
            let cancelled = tokio::select! {
                () = request.cancel.cancelled() => true,
                () = pause => false,
            };
            if number % 17 == 16 && step == 1 {
                std::panic::resume_unwind(Box::new("a run panics"));
            }
            if number % 19 == 18 && !cancelled && step == 1 {
                request.cancel.cancelled().await;
            }
            let said = |count: usize| {
                (0..count).map(|step| Arc::new(Message::assistant(format!("{number}.{step}")))).collect()
            };
            let end = |end: TurnEnd| {
                let ending = TurnEnding::new(end).with_messages(said(step));
                TurnEvent::End(Box::new(ending))
            };
            let event = if cancelled || request.cancel.is_cancelled() {
                end(TurnEnd::Stopped)
            } else if number % 13 == 12 && step == 1 {
                end(TurnEnd::Failed)
            } else if step == steps || step > 0 && request.input_waits.get() {
                end(TurnEnd::Complete)
            } else {
                TurnEvent::Step(said(step + 1))
            };
            let over = matches!(event, TurnEvent::End(_));
            let text = UiChunk::TextDelta {
                id: Id::from("t"),
                delta: format!("{number}.{step} "),
                provider_metadata: None,
            };
            let start = UiChunk::TextStart { id: Id::from("t"), provider_metadata: None };
            let finish = UiChunk::TextEnd { id: Id::from("t"), citations: None, provider_metadata: None };
            let mut events: Vec<_> = [start, text, finish].into_iter().map(TurnEvent::Chunk).collect();
            events.push(event);
            Some((stream::iter(events), (step + 1, over, request)))
        });
        Ok(TurnRun::new(events.flatten()))
    }
}

#[derive(Clone, Debug)]
enum Action {
    Say(usize, WhenLive),
    Stop(usize),
    Read(usize),
    Fault(StoreCall, Fault, u64),
    Wait(u64),
    Pause,
}

fn action(topics: usize) -> impl Strategy<Value = Action> {
    let when = prop_oneof![
        4 => Just(WhenLive::Steer),
        2 => Just(WhenLive::FollowUp),
        1 => Just(WhenLive::Reject),
        1 => Just(WhenLive::Interrupt),
    ];
    let call = prop::sample::select(StoreCall::WRITES.to_vec());
    let fault = prop_oneof![
        Just(Fault::Fails(StoreErrorKind::Unavailable)),
        Just(Fault::Fails(StoreErrorKind::Full)),
        Just(Fault::DoneButFails),
    ];
    prop_oneof![
        10 => (0..topics, when).prop_map(|(topic, when)| Action::Say(topic, when)),
        2 => (0..topics).prop_map(Action::Stop),
        3 => (0..topics).prop_map(Action::Read),
        2 => (call, fault, 1..4_u64).prop_map(|(call, fault, times)| Action::Fault(call, fault, times)),
        5 => (0..8_u64).prop_map(Action::Wait),
        1 => Just(Action::Pause),
    ]
}

/// What a run of the storm was made of.
#[derive(Debug, Default)]
struct Seen {
    consumed: usize,
    returned: usize,
    continued: usize,
    read_to_the_end: usize,
    rebased: usize,
    statuses: HashMap<&'static str, usize>,
}

/// Reads a topic's turn and checks what every reader may rely on.
async fn read(manager: StreamManager, topic: TopicId) -> (usize, usize, usize) {
    let Ok(mut reader) = manager.attach(&topic, Attach::new()).await else { return (0, 0, 0) };
    let mut places: HashMap<_, u64> = HashMap::new();
    let (mut ends, mut rebased, mut continued) = (0, 0, 0);
    let mut message = UiReducer::new("m");
    while let Some(item) = reader.next().await {
        let item = item.expect("the log answers");
        let place = places.entry(item.attempt).or_insert(0);
        if let ReaderBody::Rebase(snapshot) = &item.body {
            rebased += 1;
            *place = snapshot.through;
            continue;
        }
        if matches!(item.body, ReaderBody::Lost) {
            continue;
        }
        assert_eq!(item.first, *place + 1, "no gap and nothing twice");
        *place = item.last;
        if let Some(chunk) = item.chunk() {
            message.push(chunk.clone()).expect("chunks fold");
        }
        if let Some(terminal) = item.terminal() {
            *place = u64::MAX - 1;
            ends += 1;
            continued += usize::from(terminal.continues.is_some());
        }
    }
    (ends, rebased, continued)
}

async fn storm(actions: Vec<Action>, topics: usize) -> Seen {
    let store = Arc::new(FaultyStore::new(Arc::new(MemoryConversations::new())));
    let builder = StreamManager::builder(Talker(AtomicUsize::new(0))).with_store(store.clone());
    let manager = builder.build().await.unwrap();
    let mut events = manager.events();
    let name = |topic: usize| TopicId::from(format!("t{topic}"));
    let mut tasks = Vec::new();
    let mut readers = Vec::new();
    let mut hold = None;
    for (number, action) in actions.into_iter().enumerate() {
        match action {
            Action::Say(topic, when_live) => {
                let manager = manager.clone();
                tasks.push(tokio::spawn(async move {
                    let send = Send::text("hm").with_id(format!("i{number}")).when_live(when_live);
                    manager.send(&name(topic), send).await.is_ok()
                }));
            }
            Action::Stop(topic) => {
                let manager = manager.clone();
                tasks.push(tokio::spawn(async move {
                    let Some(turn) = manager.status(&name(topic)).await.unwrap().turn else { return false };
                    manager.stop(&name(topic), turn, Duration::from_secs(60)).await.is_ok()
                }));
            }
            Action::Read(topic) => readers.push(tokio::spawn(read(manager.clone(), name(topic)))),
            Action::Fault(call, fault, times) => store.fault(call, fault, times),
            Action::Wait(millis) => tokio::time::sleep(Duration::from_millis(millis)).await,
            Action::Pause => hold = if hold.is_none() { Some(manager.pause()) } else { None },
        }
        while let Ok(event) = events.try_recv() {
            let _: TopicEvent = event;
        }
    }
    drop(hold);
    for task in tasks {
        task.await.expect("no verb panics");
    }
    store.recover();
    assert!(manager.shut_down(Duration::from_secs(600)).await, "everything is written");
    assert_eq!((manager.tasks(), manager.topics()), (0, 0));

    // What was written down without anybody hearing of it waits for the next owner.
    let builder = StreamManager::builder(Talker(AtomicUsize::new(0))).with_store(store.clone());
    let next = builder.build().await.unwrap();
    next.recover().await.unwrap();
    assert!(next.shut_down(Duration::from_secs(600)).await);

    let mut seen = Seen::default();
    for reader in readers {
        let (ends, rebased, continued) = reader.await.expect("no reader panics");
        seen.read_to_the_end += ends;
        seen.rebased += rebased;
        seen.continued += continued;
    }
    for topic in 0..topics {
        let Some(conversation) = store.history(&name(topic)).await.unwrap() else { continue };
        let mut steered = 0;
        for row in &conversation.rows {
            let status = *row.status.known().unwrap();
            assert_ne!(status, RowStatus::Open, "every row has an end");
            *seen.statuses.entry(status.as_str()).or_default() += 1;
            steered += row.content.messages.iter().filter(|message| message.steer.is_some()).count();
        }
        let users = conversation.rows.iter().filter(|row| row.author == Author::User).count();
        let mut consumed = 0;
        for input in &conversation.inputs {
            match &input.fate {
                Known::Is(Fate::Consumed { .. }) => consumed += 1,
                Known::Is(Fate::Returned { .. }) => seen.returned += 1,
                other => panic!("{} has no fate: {other:?}", input.input.id),
            }
        }
        assert_eq!(consumed, users + steered, "what is consumed stands in the conversation, once");
        seen.consumed += consumed;
    }
    seen
}

fn run(cases: u32, length: usize, topics: usize) -> Seen {
    let mut all = Seen::default();
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig { cases, ..Default::default() });
    let whole = std::sync::Mutex::new(&mut all);
    runner
        .run(&prop::collection::vec(action(topics), length), |actions| {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_time()
                .start_paused(true)
                .build()
                .expect("a runtime");
            let seen = runtime.block_on(storm(actions, topics));
            let mut all = whole.lock().unwrap();
            all.consumed += seen.consumed;
            all.returned += seen.returned;
            all.continued += seen.continued;
            all.read_to_the_end += seen.read_to_the_end;
            all.rebased += seen.rebased;
            for (status, count) in seen.statuses {
                *all.statuses.entry(status).or_default() += count;
            }
            Ok(())
        })
        .unwrap();
    all
}

/// [SM-280]
#[test]
fn in_any_storm_every_input_has_one_fate_every_row_an_end_and_every_reader_no_gap() {
    let seen = run(4, 2_000, 20);
    eprintln!("{seen:?}");
    assert!(seen.consumed > 1_000 && seen.returned > 250, "{seen:?}");
    assert!(seen.continued > 10 && seen.read_to_the_end > 100, "{seen:?}");
    for status in ["complete", "stopped", "failed"] {
        assert!(seen.statuses.get(status).copied().unwrap_or_default() > 25, "{status}: {seen:?}");
    }
}
