use std::time::Duration;

use async_trait::async_trait;
use stream_manager::port::{Acquired, Lease, Ownership, StoreError};
use stream_manager::record::{NodeId, TopicId};

use crate::error::{from_sql, to_sql};
use crate::store::{SqliteStore, now};
use crate::write::Writing;

/// A lease that a loss of power takes back was never followed by a write that was kept: the log goes in order. So that
/// these writes need not wait for the disk.
#[async_trait]
impl Ownership for SqliteStore {
    async fn acquire(&self, topic: &TopicId, node: &NodeId, ttl: Duration) -> Result<Acquired, StoreError> {
        let what = "acquiring a lease";
        let (topic, node) = (topic.clone(), node.clone());
        self.write_lightly(what, move |transaction| {
            let now = now();
            let writing = Writing::new(transaction, what, now);
            let sql = "SELECT node FROM leases WHERE topic = ?1 AND node IS NOT NULL AND node <> ?2 AND expires_at > ?3";
            let other = writing.find(sql, (topic.as_str(), node.as_str(), now), |row| row.get::<_, String>(0))?;
            if let Some(other) = other {
                return Ok(Acquired::Other(other.into()));
            }
            // Above what the topic has seen of any keeper of leases, so that one whose epochs are lost can be replaced.
            let sql = "INSERT INTO leases (topic, epoch, node, expires_at)
                       VALUES (?1, 1 + coalesce((SELECT epoch FROM topics WHERE topic = ?1), 0), ?2, ?3)
                       ON CONFLICT (topic) DO UPDATE SET epoch = max(excluded.epoch, leases.epoch + 1),
                       node = excluded.node, expires_at = excluded.expires_at
                       RETURNING epoch";
            let values = (topic.as_str(), node.as_str(), end(now, ttl));
            let epoch = writing.find(sql, values, |row| row.get::<_, i64>(0))?.unwrap_or_default();
            Ok(Acquired::Held(Lease::new(topic, node, from_sql(epoch)?)))
        })
        .await
    }

    async fn renew(&self, lease: &Lease, ttl: Duration) -> Result<(), StoreError> {
        let what = "renewing a lease";
        let (lease, epoch) = (lease.clone(), to_sql(lease.epoch)?);
        self.write_lightly(what, move |transaction| {
            let now = now();
            let sql = "UPDATE leases SET expires_at = ?4
                       WHERE topic = ?1 AND node = ?2 AND epoch = ?3 AND expires_at > ?5";
            let values = (lease.topic.as_str(), lease.node.as_str(), epoch, end(now, ttl), now);
            match Writing::new(transaction, what, now).run(sql, values)? {
                0 => Err(StoreError::fenced(format!("renewing the lease of topic {}", lease.topic))),
                _ => Ok(()),
            }
        })
        .await
    }

    async fn release(&self, lease: &Lease) -> Result<(), StoreError> {
        let what = "releasing a lease";
        let (lease, epoch) = (lease.clone(), to_sql(lease.epoch)?);
        self.write_lightly(what, move |transaction| {
            let sql = "UPDATE leases SET node = NULL WHERE topic = ?1 AND node = ?2 AND epoch = ?3";
            let values = (lease.topic.as_str(), lease.node.as_str(), epoch);
            Writing::new(transaction, what, now()).run(sql, values).map(drop)
        })
        .await
    }

    async fn owner(&self, topic: &TopicId) -> Result<Option<NodeId>, StoreError> {
        let what = "reading a lease";
        let topic = topic.clone();
        self.read(what, move |transaction| {
            let now = now();
            let sql = "SELECT node FROM leases WHERE topic = ?1 AND node IS NOT NULL AND expires_at > ?2";
            let found = Writing::new(transaction, what, now)
                .find(sql, (topic.as_str(), now), |row| row.get::<_, String>(0))?;
            Ok(found.map(NodeId::from))
        })
        .await
    }
}

/// When a lease ends: never, if the time is too long to be told. A lease of no time is over.
fn end(now: i64, ttl: Duration) -> i64 {
    now.saturating_add(i64::try_from(ttl.as_millis()).unwrap_or(i64::MAX))
}
