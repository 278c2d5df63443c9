//! Lease keepers and buses with one fault each.

use std::time::Duration;

use async_trait::async_trait;
use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use stream_manager::memory::{MemoryOwnership, MemoryStatus};
use stream_manager::port::{Acquired, Lease};
use stream_manager::record::{NodeId, TopicId, TopicStatus};

use super::*;

#[derive(Debug)]
struct BentLeases {
    inner: MemoryOwnership,
    fault: &'static str,
}

#[async_trait]
impl Ownership for BentLeases {
    async fn acquire(&self, topic: &TopicId, node: &NodeId, ttl: Duration) -> Result<Acquired, StoreError> {
        let ttl = if self.fault == "leases never run out" { Duration::MAX } else { ttl };
        match (self.fault, self.inner.acquire(topic, node, ttl).await?) {
            ("everybody holds it", Acquired::Other(_)) => {
                Ok(Acquired::Held(Lease::new(topic.clone(), node.clone(), 1)))
            }
            ("the name is wrong", Acquired::Other(_)) => Ok(Acquired::Other(node.clone())),
            ("epochs begin at 0", Acquired::Held(lease)) => {
                Ok(Acquired::Held(Lease::new(lease.topic, lease.node, lease.epoch - 1)))
            }
            ("epochs stay", Acquired::Held(lease)) => {
                Ok(Acquired::Held(Lease::new(lease.topic, lease.node, 1)))
            }
            (_, acquired) => Ok(acquired),
        }
    }

    async fn renew(&self, lease: &Lease, ttl: Duration) -> Result<(), StoreError> {
        let renewed = self.inner.renew(lease, ttl).await;
        match self.fault {
            "anybody renews" => Ok(()),
            "renewing is not kept" if renewed.is_ok() => {
                self.inner.release(lease).await?;
                Ok(())
            }
            _ => renewed,
        }
    }

    async fn release(&self, lease: &Lease) -> Result<(), StoreError> {
        if self.fault == "anybody releases" {
            for epoch in 1..=lease.epoch + 2 {
                for node in ["one", "other"] {
                    self.inner.release(&Lease::new(lease.topic.clone(), node.into(), epoch)).await?;
                }
            }
        }
        if self.fault == "a release is late" {
            return Ok(());
        }
        self.inner.release(lease).await
    }

    async fn owner(&self, topic: &TopicId) -> Result<Option<NodeId>, StoreError> {
        let topic =
            if self.fault == "names are cut" && topic.as_str() == "a" { &"a:b".into() } else { topic };
        self.inner.owner(topic).await
    }
}

const LEASE_FAULTS: &[(&str, &str)] = &[
    ("everybody holds it", "exclusive"),
    ("the name is wrong", "exclusive"),
    ("epochs begin at 0", "epochs"),
    ("epochs stay", "epochs"),
    ("anybody renews", "renew"),
    ("renewing is not kept", "renew"),
    ("anybody releases", "release"),
    ("a release is late", "release"),
    ("names are cut", "owner"),
    ("leases never run out", "expiry"),
];

#[tokio::test(start_paused = true)]
async fn a_lease_keeper_with_a_fault_fails_the_check_that_is_there_for_it() {
    for (fault, check) in LEASE_FAULTS {
        let suite = StoreConformance::new().ownership(move || async move {
            Ok(Arc::new(BentLeases { inner: MemoryOwnership::new(), fault }))
        });
        assert_found(&suite.only([*check]).run().await, fault, check);
    }
    for (name, _) in OWNERSHIP {
        assert!(LEASE_FAULTS.iter().any(|(_, check)| check == name), "no fault proves `{name}`");
    }
}

#[derive(Debug)]
struct BentBus {
    inner: MemoryStatus,
    fault: &'static str,
}

#[async_trait]
impl StatusBus for BentBus {
    async fn publish(&self, mut status: TopicStatus) -> Result<(), StoreError> {
        match self.fault {
            "attempts are lost" => status.attempts.clear(),
            "the last to come counts" => self.inner.forget(&status.topic).await?,
            "epochs do not count" => status.epoch = 0,
            _ => {}
        }
        self.inner.publish(status).await
    }

    async fn status(&self, topic: &TopicId) -> Result<Option<TopicStatus>, StoreError> {
        self.inner.status(topic).await
    }

    async fn watch(&self) -> Result<BoxStream<'static, TopicStatus>, StoreError> {
        let watch = self.inner.watch().await?;
        Ok(match self.fault {
            "watchers see it twice" => {
                watch.flat_map(|it| futures_util::stream::iter([it.clone(), it])).boxed()
            }
            "watches end" => watch.take(2).boxed(),
            "a slow watcher loses the last" => {
                watch.filter(|it| std::future::ready(it.revision < 500)).boxed()
            }
            _ => watch,
        })
    }

    async fn forget(&self, topic: &TopicId) -> Result<(), StoreError> {
        if self.fault == "nothing is forgotten" { Ok(()) } else { self.inner.forget(topic).await }
    }
}

const BUS_FAULTS: &[(&str, &str)] = &[
    ("attempts are lost", "status-kept"),
    ("the last to come counts", "status-order"),
    ("epochs do not count", "status-order"),
    ("watchers see it twice", "status-watch"),
    ("watches end", "status-watch"),
    ("a slow watcher loses the last", "status-slow"),
    ("nothing is forgotten", "status-forget"),
];

#[tokio::test(start_paused = true)]
async fn a_bus_with_a_fault_fails_the_check_that_is_there_for_it() {
    for (fault, check) in BUS_FAULTS {
        let suite = StoreConformance::new()
            .status(move || async move { Ok(Arc::new(BentBus { inner: MemoryStatus::new(), fault })) });
        assert_found(&suite.only([*check]).run().await, fault, check);
    }
    for (name, _) in STATUS {
        assert!(BUS_FAULTS.iter().any(|(_, check)| check == name), "no fault proves `{name}`");
    }
}
