//! Figures of the manager that no mock server is needed for: many topics at once, and a reader that comes late.
//!
//! Prints one line each: topics, chunks read, chunks lost, seconds, memory for each topic; and how long it takes to have
//! all of a long turn.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Instant;

use agent_loop::UiChunk;
use ai_provider::Id;
use bench_peer::Result;
use futures::Stream;
use stream_manager::reader::Attach;
use stream_manager::record::TopicId;
use stream_manager::{
    OpenError, Send, StreamManager, TurnEnd, TurnEnding, TurnEvent, TurnRequest, TurnRun, TurnSource,
};
use tokio::task::JoinSet;

const TOPICS: usize = 1_000;
const DELTAS: usize = 200;
const READERS: usize = 3;
const LONG: usize = 20_000;

/// Says so many words, then nothing until it is let go on.
struct Words {
    deltas: usize,
    go: tokio::sync::watch::Receiver<bool>,
}

struct Speech {
    id: Id,
    left: usize,
    place: usize,
    go: Pin<Box<dyn Stream<Item = bool> + std::marker::Send>>,
    waiting: bool,
}

#[async_trait::async_trait]
impl TurnSource for Words {
    async fn open(&self, _: TurnRequest) -> std::result::Result<TurnRun, OpenError> {
        let go = self.go.clone();
        let go = Box::pin(futures::stream::unfold(go, |mut go| async move {
            go.wait_for(|go| *go).await.ok()?;
            Some((true, go))
        }));
        Ok(TurnRun::new(Speech { id: Id::from("1"), left: self.deltas, place: 0, go, waiting: true }))
    }
}

impl Stream for Speech {
    type Item = TurnEvent;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<TurnEvent>> {
        self.place += 1;
        let id = self.id.clone();
        if self.place == 1 {
            return Poll::Ready(Some(TurnEvent::Chunk(UiChunk::TextStart { id, provider_metadata: None })));
        }
        if self.waiting && self.left == 1 {
            if self.go.as_mut().poll_next(cx).is_pending() {
                return Poll::Pending;
            }
            self.waiting = false;
        }
        if self.left == 0 {
            return Poll::Ready(Some(TurnEvent::End(Box::new(TurnEnding::new(TurnEnd::Complete)))));
        }
        self.left -= 1;
        let delta = "word ".to_owned();
        Poll::Ready(Some(TurnEvent::Chunk(UiChunk::TextDelta { id, delta, provider_metadata: None })))
    }
}

async fn read(manager: StreamManager, topic: TopicId, turn: stream_manager::record::TurnId) -> Result<usize> {
    let mut reader = manager.attach(&topic, Attach::new().with_turn(turn)).await?;
    let mut deltas = 0;
    while let Some(item) = reader.next().await {
        deltas += usize::from(item?.chunk().and_then(agent_loop::visible_text).is_some());
    }
    Ok(deltas)
}

async fn many_topics() -> Result<()> {
    let (go, waits) = tokio::sync::watch::channel(false);
    let manager = StreamManager::builder(Words { deltas: DELTAS, go: waits }).build().await?;
    let before = resident();
    let started = Instant::now();
    let mut readers = JoinSet::new();
    for number in 0..TOPICS {
        let topic = TopicId::from(format!("t{number}"));
        let turn = manager.send(&topic, Send::text("Go.")).await?.turn.ok_or("no turn")?;
        for _ in 0..READERS {
            readers.spawn(read(manager.clone(), topic.clone(), turn));
        }
    }
    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    let each = resident().saturating_sub(before) / TOPICS;
    go.send(true)?;
    let mut read = 0;
    while let Some(deltas) = readers.join_next().await {
        read += deltas??;
    }
    let (seconds, lost) = (started.elapsed().as_secs_f64() - 1.0, TOPICS * DELTAS * READERS - read);
    println!("topics={TOPICS} read={read} lost={lost} seconds={seconds:.2} bytes_each={each}");
    Ok(())
}

async fn late_reader() -> Result<()> {
    let (go, waits) = tokio::sync::watch::channel(false);
    let manager = StreamManager::builder(Words { deltas: LONG, go: waits }).build().await?;
    let topic = TopicId::from("long");
    let turn = manager.send(&topic, Send::text("Go.")).await?.turn.ok_or("no turn")?;
    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    let started = Instant::now();
    let mut reader = manager.attach(&topic, Attach::new().with_turn(turn)).await?;
    let first = reader.next().await.ok_or("nothing")??;
    let snapshot = started.elapsed();
    go.send(true)?;
    while reader.next().await.transpose()?.is_some() {}
    println!("attach_deltas={LONG} first={:?} milliseconds={:.2}", first.last, snapshot.as_secs_f64() * 1e3);
    Ok(())
}

/// Bytes of memory this process has, as Linux says.
fn resident() -> usize {
    let pages = std::fs::read_to_string("/proc/self/statm").ok();
    let pages = pages.and_then(|line| line.split(' ').nth(1)?.parse::<usize>().ok());
    pages.unwrap_or_default() * 4096
}

#[tokio::main]
async fn main() -> Result<()> {
    many_topics().await?;
    late_reader().await
}
