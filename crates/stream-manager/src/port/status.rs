use std::fmt;
use std::future::ready;

use async_trait::async_trait;
use futures_core::stream::BoxStream;
use futures_util::StreamExt;

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

    /// How one topic stands, if the bus has heard of it, and then each change of it, as [`watch`](Self::watch) tells it.
    /// Unless a bus knows better, by passing over all others.
    ///
    /// # Errors
    /// If the bus does not answer.
    async fn watch_topic(&self, topic: &TopicId) -> Result<BoxStream<'static, TopicStatus>, StoreError> {
        let topic = topic.clone();
        let all = self.watch().await?;
        Ok(all.filter(move |status| ready(status.topic == topic)).boxed())
    }

    /// Forgets a topic.
    ///
    /// # Errors
    /// If the bus does not answer.
    async fn forget(&self, topic: &TopicId) -> Result<(), StoreError>;
}
