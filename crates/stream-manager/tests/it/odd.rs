//! Ports around those in memory that hang at one of their calls, or panic.

use std::fmt;
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use agent_loop::{UiChunk, UiMessage};
use async_trait::async_trait;
use futures_util::stream::BoxStream;
use stream_manager::Builder;
use stream_manager::memory::{MemoryLog, MemoryOwnership, MemoryStatus};
use stream_manager::port::{
    Acquired, Lease, LogReader, LogWriter, Ownership, ReplayLog, StatusBus, StoreError,
};
use stream_manager::record::{AttemptId, NodeId, Terminal, TopicId, TopicStatus};

/// What does not answer, of the topic `hung`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hangs {
    Acquire,
    Renew,
    Release,
    Create,
    Seal,
    Forget,
    Publish,
    ForgetStatus,
}

pub(crate) const ALL: [Hangs; 8] = [
    Hangs::Acquire,
    Hangs::Renew,
    Hangs::Release,
    Hangs::Create,
    Hangs::Seal,
    Hangs::Forget,
    Hangs::Publish,
    Hangs::ForgetStatus,
];

#[derive(Debug)]
pub(crate) struct Odd<T> {
    inner: T,
    hangs: Option<Hangs>,
    /// The writers panic when they are asked for their message.
    panics: bool,
}

pub(crate) fn hanging(builder: Builder, hangs: Hangs) -> Builder {
    let hangs = Some(hangs);
    builder
        .with_ownership(Arc::new(Odd { inner: MemoryOwnership::new(), hangs, panics: false }))
        .with_log(Arc::new(Odd { inner: MemoryLog::new(), hangs, panics: false }))
        .with_status_bus(Arc::new(Odd { inner: MemoryStatus::new(), hangs, panics: false }))
}

pub(crate) fn panicking_log() -> Arc<dyn ReplayLog> {
    Arc::new(Odd { inner: MemoryLog::new(), hangs: None, panics: true })
}

impl<T> Odd<T> {
    async fn at(&self, call: Hangs, topic: &TopicId) {
        if self.hangs == Some(call) && topic.as_str() == "hung" {
            pending::<()>().await;
        }
    }
}

#[async_trait]
impl Ownership for Odd<MemoryOwnership> {
    async fn acquire(&self, topic: &TopicId, node: &NodeId, ttl: Duration) -> Result<Acquired, StoreError> {
        self.at(Hangs::Acquire, topic).await;
        self.inner.acquire(topic, node, ttl).await
    }

    async fn renew(&self, lease: &Lease, ttl: Duration) -> Result<(), StoreError> {
        self.at(Hangs::Renew, &lease.topic).await;
        self.inner.renew(lease, ttl).await
    }

    async fn release(&self, lease: &Lease) -> Result<(), StoreError> {
        self.at(Hangs::Release, &lease.topic).await;
        self.inner.release(lease).await
    }

    async fn owner(&self, topic: &TopicId) -> Result<Option<NodeId>, StoreError> {
        self.inner.owner(topic).await
    }
}

#[async_trait]
impl ReplayLog for Odd<MemoryLog> {
    async fn create(
        &self,
        lease: &Lease,
        attempt: AttemptId,
        seed: UiMessage,
    ) -> Result<Box<dyn LogWriter>, StoreError> {
        self.at(Hangs::Create, &lease.topic).await;
        let inner = self.inner.create(lease, attempt, seed).await?;
        let hangs = self.hangs == Some(Hangs::Seal) && lease.topic.as_str() == "hung";
        Ok(Box::new(OddWriter { inner, hangs, panics: self.panics }))
    }

    async fn read(
        &self,
        topic: &TopicId,
        attempt: AttemptId,
        after: Option<u64>,
    ) -> Result<Option<Box<dyn LogReader>>, StoreError> {
        self.inner.read(topic, attempt, after).await
    }

    async fn seal_orphan(
        &self,
        lease: &Lease,
        attempt: AttemptId,
        terminal: Terminal,
    ) -> Result<(), StoreError> {
        self.at(Hangs::Seal, &lease.topic).await;
        self.inner.seal_orphan(lease, attempt, terminal).await
    }

    async fn forget(&self, topic: &TopicId, attempt: AttemptId) -> Result<(), StoreError> {
        self.at(Hangs::Forget, topic).await;
        self.inner.forget(topic, attempt).await
    }
}

#[async_trait]
impl StatusBus for Odd<MemoryStatus> {
    async fn publish(&self, status: TopicStatus) -> Result<(), StoreError> {
        self.at(Hangs::Publish, &status.topic).await;
        self.inner.publish(status).await
    }

    async fn status(&self, topic: &TopicId) -> Result<Option<TopicStatus>, StoreError> {
        self.inner.status(topic).await
    }

    async fn watch(&self) -> Result<BoxStream<'static, TopicStatus>, StoreError> {
        self.inner.watch().await
    }

    async fn watch_topic(&self, topic: &TopicId) -> Result<BoxStream<'static, TopicStatus>, StoreError> {
        self.inner.watch_topic(topic).await
    }

    async fn forget(&self, topic: &TopicId) -> Result<(), StoreError> {
        self.at(Hangs::ForgetStatus, topic).await;
        self.inner.forget(topic).await
    }
}

struct OddWriter {
    inner: Box<dyn LogWriter>,
    hangs: bool,
    panics: bool,
}

impl fmt::Debug for OddWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OddWriter").finish_non_exhaustive()
    }
}

#[async_trait]
impl LogWriter for OddWriter {
    fn append(&mut self, chunk: UiChunk) -> u64 {
        self.inner.append(chunk)
    }

    fn message(&mut self) -> UiMessage {
        assert!(!self.panics, "the log panics");
        self.inner.message()
    }

    fn is_fenced(&self) -> bool {
        self.inner.is_fenced()
    }

    async fn flush(&mut self) -> Result<(), StoreError> {
        self.inner.flush().await
    }

    async fn seal(&mut self, terminal: Terminal) -> Result<(), StoreError> {
        if self.hangs {
            pending::<()>().await;
        }
        self.inner.seal(terminal).await
    }
}
