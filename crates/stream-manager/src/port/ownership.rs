use std::fmt;
use std::time::Duration;

use async_trait::async_trait;

use super::error::StoreError;
use crate::record::{NodeId, TopicId};

/// The right to write a topic: of one node at a time, for a time.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Lease {
    /// The topic.
    pub topic: TopicId,
    /// Who holds it.
    pub node: NodeId,
    /// Counts the ownerships of the topic, from 1. Every write carries it, and a store refuses one that is less than the
    /// greatest it has seen for the topic.
    pub epoch: u64,
}

impl Lease {
    /// A lease, for implementations of [`Ownership`].
    pub fn new(topic: TopicId, node: NodeId, epoch: u64) -> Self {
        Self { topic, node, epoch }
    }
}

/// What came of asking for a lease.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Acquired {
    /// It is held now. A node that held it before gets it anew, with a greater epoch.
    Held(Lease),
    /// Another node holds it, and has renewed it in time.
    Other(NodeId),
}

/// Who may write which topic.
#[async_trait]
pub trait Ownership: fmt::Debug + Send + Sync + 'static {
    /// Asks for the lease of a topic, for `ttl` from now. Atomic: of several that ask at once, one gets it.
    ///
    /// # Errors
    /// If the store does not answer.
    async fn acquire(&self, topic: &TopicId, node: &NodeId, ttl: Duration) -> Result<Acquired, StoreError>;

    /// Keeps a lease for `ttl` from now.
    ///
    /// # Errors
    /// [`Fenced`](super::StoreErrorKind::Fenced) if it ran out or was taken over: its holder stops writing.
    async fn renew(&self, lease: &Lease, ttl: Duration) -> Result<(), StoreError>;

    /// Gives a lease back. One that was taken over is no error.
    ///
    /// # Errors
    /// If the store does not answer; the lease runs out by itself then.
    async fn release(&self, lease: &Lease) -> Result<(), StoreError>;

    /// Who holds the lease of a topic now.
    ///
    /// # Errors
    /// If the store does not answer.
    async fn owner(&self, topic: &TopicId) -> Result<Option<NodeId>, StoreError>;
}
