use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use async_trait::async_trait;
use tokio::time::Instant;

use super::lock;
use crate::port::{Acquired, Lease, Ownership, StoreError};
use crate::record::{NodeId, TopicId};

/// Who may write which topic, in memory. Time is tokio's.
///
/// It keeps a number for every topic it has seen, since epochs only count up.
#[derive(Debug, Default)]
pub struct MemoryOwnership {
    topics: Mutex<HashMap<TopicId, Owned>>,
}

#[derive(Debug, Default)]
struct Owned {
    epoch: u64,
    holder: Option<Holder>,
}

#[derive(Debug)]
struct Holder {
    node: NodeId,
    /// Never, if so far ahead that the clock does not reach it.
    expires: Option<Instant>,
}

impl Holder {
    fn new(node: &NodeId, ttl: Duration) -> Self {
        Self { node: node.clone(), expires: Instant::now().checked_add(ttl) }
    }

    fn is_live(&self) -> bool {
        self.expires.is_none_or(|expires| Instant::now() < expires)
    }
}

impl Owned {
    fn live(&self) -> Option<&NodeId> {
        self.holder.as_ref().filter(|holder| holder.is_live()).map(|holder| &holder.node)
    }

    fn is_held_by(&self, lease: &Lease) -> bool {
        self.epoch == lease.epoch && self.live() == Some(&lease.node)
    }
}

impl MemoryOwnership {
    /// Nobody owns anything.
    pub fn new() -> Self {
        Self::default()
    }
}

#[async_trait]
impl Ownership for MemoryOwnership {
    async fn acquire(&self, topic: &TopicId, node: &NodeId, ttl: Duration) -> Result<Acquired, StoreError> {
        let mut topics = lock(&self.topics);
        let owned = topics.entry(topic.clone()).or_default();
        if let Some(other) = owned.live().filter(|holder| *holder != node) {
            return Ok(Acquired::Other(other.clone()));
        }
        owned.epoch += 1;
        owned.holder = Some(Holder::new(node, ttl));
        Ok(Acquired::Held(Lease::new(topic.clone(), node.clone(), owned.epoch)))
    }

    async fn renew(&self, lease: &Lease, ttl: Duration) -> Result<(), StoreError> {
        let mut topics = lock(&self.topics);
        match topics.get_mut(&lease.topic).filter(|owned| owned.is_held_by(lease)) {
            Some(owned) => {
                owned.holder = Some(Holder::new(&lease.node, ttl));
                Ok(())
            }
            None => Err(StoreError::fenced(format!("renewing the lease of topic {}", lease.topic))),
        }
    }

    async fn release(&self, lease: &Lease) -> Result<(), StoreError> {
        let mut topics = lock(&self.topics);
        if let Some(owned) = topics.get_mut(&lease.topic).filter(|owned| owned.is_held_by(lease)) {
            owned.holder = None;
        }
        Ok(())
    }

    async fn owner(&self, topic: &TopicId) -> Result<Option<NodeId>, StoreError> {
        Ok(lock(&self.topics).get(topic).and_then(Owned::live).cloned())
    }
}
