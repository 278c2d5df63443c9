use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use futures_core::stream::BoxStream;
use futures_util::{StreamExt, stream};
use tokio::sync::watch;

use super::lock;
use crate::port::{StatusBus, StoreError};
use crate::record::{TopicId, TopicStatus};

/// How topics stand, in memory.
///
/// A watcher is a place in the order of the changes: it costs what publishes nothing, and of each topic it finds the
/// latest state only.
#[derive(Debug)]
pub struct MemoryStatus {
    board: Arc<Mutex<Board>>,
    /// Wakes the watchers; they end when it goes.
    changed: watch::Sender<()>,
}

#[derive(Debug, Default)]
struct Board {
    /// How many changes there were.
    changes: u64,
    topics: HashMap<TopicId, (u64, TopicStatus)>,
    /// The topics by their last change.
    order: BTreeMap<u64, TopicId>,
    /// Those who watch one topic, by topic.
    watched: HashMap<TopicId, watch::Sender<Option<TopicStatus>>>,
}

impl Board {
    /// Whether it was news.
    fn put(&mut self, status: TopicStatus) -> bool {
        let before = self.topics.get(&status.topic);
        if before.is_some_and(|(_, before)| !status.supersedes(before)) {
            return false;
        }
        if let Some((change, _)) = before {
            self.order.remove(change);
        }
        if let Some(watchers) = self.watched.get(&status.topic) {
            if watchers.is_closed() {
                self.watched.remove(&status.topic);
            } else {
                watchers.send_replace(Some(status.clone()));
            }
        }
        self.changes += 1;
        self.order.insert(self.changes, status.topic.clone());
        self.topics.insert(status.topic.clone(), (self.changes, status));
        true
    }

    fn next(&self, after: u64) -> Option<(u64, TopicStatus)> {
        let (_, topic) = self.order.range((Bound::Excluded(after), Bound::Unbounded)).next()?;
        self.topics.get(topic).cloned()
    }
}

/// Watches one topic. The last one to leave it takes the topic's place with it: anybody may ask for any name.
struct Watching {
    place: Option<watch::Receiver<Option<TopicStatus>>>,
    board: Arc<Mutex<Board>>,
    topic: TopicId,
}

impl Drop for Watching {
    fn drop(&mut self) {
        let mut board = lock(&self.board);
        self.place = None;
        if board.watched.get(&self.topic).is_some_and(watch::Sender::is_closed) {
            board.watched.remove(&self.topic);
        }
    }
}

impl Default for MemoryStatus {
    fn default() -> Self {
        Self { board: Arc::default(), changed: watch::Sender::new(()) }
    }
}

impl MemoryStatus {
    /// Nothing is known of any topic.
    pub fn new() -> Self {
        Self::default()
    }
}

#[async_trait]
impl StatusBus for MemoryStatus {
    async fn publish(&self, status: TopicStatus) -> Result<(), StoreError> {
        if lock(&self.board).put(status) {
            self.changed.send_replace(());
        }
        Ok(())
    }

    async fn status(&self, topic: &TopicId) -> Result<Option<TopicStatus>, StoreError> {
        Ok(lock(&self.board).topics.get(topic).map(|(_, status)| status.clone()))
    }

    async fn watch(&self) -> Result<BoxStream<'static, TopicStatus>, StoreError> {
        let place = (Arc::clone(&self.board), self.changed.subscribe(), 0);
        Ok(stream::unfold(place, |(board, mut changed, after)| async move {
            loop {
                // Before looking: a change in between is seen, or wakes.
                changed.mark_unchanged();
                let next = lock(&board).next(after);
                if let Some((change, status)) = next {
                    return Some((status, (board, changed, change)));
                }
                changed.changed().await.ok()?;
            }
        })
        .boxed())
    }

    async fn watch_topic(&self, topic: &TopicId) -> Result<BoxStream<'static, TopicStatus>, StoreError> {
        let mut board = lock(&self.board);
        let now = board.topics.get(topic).map(|(_, status)| status.clone());
        let watchers = board.watched.entry(topic.clone()).or_insert_with(|| watch::Sender::new(now));
        let mut place = watchers.subscribe();
        place.mark_changed();
        let watching = Watching { place: Some(place), board: Arc::clone(&self.board), topic: topic.clone() };
        Ok(stream::unfold(watching, |mut watching| async move {
            let place = watching.place.as_mut()?;
            loop {
                place.changed().await.ok()?;
                let status = place.borrow_and_update().clone();
                if let Some(status) = status {
                    return Some((status, watching));
                }
            }
        })
        .boxed())
    }

    async fn forget(&self, topic: &TopicId) -> Result<(), StoreError> {
        let mut board = lock(&self.board);
        if let Some((change, _)) = board.topics.remove(topic) {
            board.order.remove(&change);
        }
        if board.watched.get(topic).is_some_and(watch::Sender::is_closed) {
            board.watched.remove(topic);
        }
        Ok(())
    }
}
