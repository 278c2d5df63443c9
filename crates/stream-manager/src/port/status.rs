use std::fmt;

use async_trait::async_trait;
use futures_core::stream::BoxStream;

use super::error::StoreError;
use crate::record::{TopicId, TopicStatus};

/// Tells many watchers how topics stand, without their chunks.
#[async_trait]
pub trait StatusBus: fmt::Debug + Send + Sync + 'static {
    /// Tells how a topic stands. What is out of date is dropped: a status is kept only if it
    /// [supersedes](TopicStatus::supersedes) the one before.
    ///
    /// # Errors
    /// If the bus does not answer. Never fails a turn.
    async fn publish(&self, status: TopicStatus) -> Result<(), StoreError>;

    /// How a topic stands. `None` if the bus has not heard of it.
    ///
    /// # Errors
    /// If the bus does not answer.
    async fn status(&self, topic: &TopicId) -> Result<Option<TopicStatus>, StoreError>;

    /// How all topics stand, and then each change. A watcher that is slow misses states in between, never the last one
    /// of a topic.
    ///
    /// # Errors
    /// If the bus does not answer.
    async fn watch(&self) -> Result<BoxStream<'static, TopicStatus>, StoreError>;

    /// Forgets a topic.
    ///
    /// # Errors
    /// If the bus does not answer.
    async fn forget(&self, topic: &TopicId) -> Result<(), StoreError>;
}
