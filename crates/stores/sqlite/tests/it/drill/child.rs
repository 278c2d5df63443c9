//! The process that is killed.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use agent_loop::UiChunk;
use ai_provider::{Id, Message};
use async_trait::async_trait;
use futures_util::{StreamExt, stream};
use stream_manager::record::TopicId;
use stream_manager::{
    LeftBehind, OpenError, Send, Settings, StreamManager, TurnEnd, TurnEnding, TurnEvent, TurnRequest,
    TurnRun, TurnSource,
};
use stream_store_sqlite::{Durability, SqliteSettings, SqliteStore};

use super::marks::Marking;

/// Where the file is, which round it is, and behind which call the store does not come back: `KIND:NUMBER`.
pub(super) const FILE: &str = "DRILL_FILE";
pub(super) const ROUND: &str = "DRILL_ROUND";
pub(super) const STOP: &str = "DRILL_STOP";

/// Topics that are written at once.
const TOPICS: usize = 6;
/// So many inputs are sent to each in one round.
const INPUTS: usize = 12;
/// So many rounds go on with the same topics: so that they do not become long.
const ROUNDS: usize = 10;

/// Answers in steps, and yields to what the user says between them.
struct Steps;

#[async_trait]
impl TurnSource for Steps {
    async fn open(&self, request: TurnRequest) -> Result<TurnRun, OpenError> {
        let attempt = request.attempt;
        let waits = request.input_waits.clone();
        let message = move |step: usize| Arc::new(Message::assistant(format!("step {step} of {attempt}")));
        let events = stream::iter(1..=3).scan(false, move |over, step| {
            let event = (!*over).then(|| {
                *over = step == 3 || waits.get();
                let done = (1..=step).map(message).collect::<Vec<_>>();
                let text = format!("step {step} of {attempt}");
                let id = Id::from(format!("text-{attempt}-{step}"));
                let mut events = vec![
                    TurnEvent::Chunk(UiChunk::TextStart { id: id.clone(), provider_metadata: None }),
                    TurnEvent::Chunk(UiChunk::TextDelta {
                        id: id.clone(),
                        delta: text,
                        provider_metadata: None,
                    }),
                    TurnEvent::Chunk(UiChunk::TextEnd { id, citations: None, provider_metadata: None }),
                    TurnEvent::Step(done.clone()),
                ];
                if *over {
                    let finish = UiChunk::Finish { finish_reason: None, message_metadata: None };
                    events.push(TurnEvent::Chunk(finish));
                    let ending = TurnEnding::new(TurnEnd::Complete).with_messages(done);
                    events.push(TurnEvent::End(Box::new(ending)));
                }
                stream::iter(events)
            });
            std::future::ready(event)
        });
        // As a model takes its time: what is done is written meanwhile.
        let events = events.then(|step| async {
            tokio::time::sleep(Duration::from_millis(3)).await;
            step
        });
        Ok(TurnRun::new(events.flatten()))
    }
}

async fn manager(path: &Path, round: usize, stop: Option<(String, usize)>) -> StreamManager {
    let mut settings = SqliteSettings::default();
    if round.is_multiple_of(2) {
        settings.durability = Durability::Process;
    }
    let store = SqliteStore::open(path, settings).await.unwrap();
    let mut settings = Settings::default();
    settings.left_behind = if round.is_multiple_of(3) { LeftBehind::Return } else { LeftBehind::Answer };
    let builder = StreamManager::builder(Steps).with_node("node").with_settings(settings);
    let builder = builder.with_ownership(Arc::new(store.clone()));
    builder.with_store(Arc::new(Marking::new(store, stop))).build().await.unwrap()
}

/// Does what is left of all, and ends.
pub(super) async fn recover(path: &Path) {
    let manager = manager(path, 1, None).await;
    manager.recover().await.unwrap();
    assert!(manager.drain(Duration::from_secs(60)).await, "everything comes to its end");
    assert!(manager.shut_down(Duration::from_secs(60)).await, "everything is written");
}

/// [ST-50] What the process that is killed does; nothing, where it is not told of a file.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn works_until_it_is_killed() {
    let Ok(path) = std::env::var(FILE) else { return };
    let round: usize = std::env::var(ROUND).unwrap().parse().unwrap();
    let stop = std::env::var(STOP).ok().map(|stop| {
        let (kind, number) = stop.split_once(':').unwrap();
        (kind.to_owned(), number.parse().unwrap())
    });
    let manager = manager(Path::new(&path), round, stop).await;
    // Where a call does not come back, what else there is goes on all the same.
    let recovering = manager.clone();
    tokio::spawn(async move { recovering.recover().await.unwrap() });
    let mut senders = tokio::task::JoinSet::new();
    for topic in 0..TOPICS {
        let manager = manager.clone();
        senders.spawn(async move {
            let topic = TopicId::from(format!("chat-{}-{topic}", round / ROUNDS));
            for number in 0..INPUTS {
                let id = format!("{round}-{topic}-{number}");
                manager
                    .send(&topic, Send::text(format!("About {number}.")).with_id(id.as_str()))
                    .await
                    .unwrap();
                while number % 3 == 2 && manager.status(&topic).await.unwrap().state.is_live() {
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
            }
        });
    }
    while let Some(sent) = senders.join_next().await {
        sent.unwrap();
    }
    // The one that kills it must not wait for ever; it takes what ends by itself for a fault.
    tokio::time::sleep(Duration::from_secs(60)).await;
}
