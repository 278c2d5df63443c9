use std::sync::Arc;
use std::time::Duration;

use stream_manager::port::{Acquired, Lease, Ownership, StoreErrorKind::Fenced};
use stream_manager::record::{NodeId, TopicId};

use super::kit::{Checked, Unmet, at_once, fails, same};

type Leases = Arc<dyn Ownership>;

/// Longer than any check takes.
const LONG: Duration = Duration::from_secs(600);
/// Longer than a few calls take on a busy machine.
const SHORT: Duration = Duration::from_secs(2);

async fn held(leases: &Leases, topic: &TopicId, node: &NodeId, ttl: Duration) -> Checked<Lease> {
    match leases.acquire(topic, node, ttl).await? {
        Acquired::Held(lease) => {
            same("whose the lease is", (&lease.topic, &lease.node), (topic, node))?;
            Ok(lease)
        }
        other => Err(Unmet(format!("{node} should get the lease, but gets {other:?}"))),
    }
}

fn names() -> (TopicId, NodeId, NodeId) {
    ("t".into(), "one".into(), "other".into())
}

/// Of eight nodes that ask at once one gets the lease, and the others learn its name.
pub(super) async fn exclusive(leases: Leases) -> Checked {
    for round in 0..10 {
        let topic = TopicId::from(format!("t-{round}"));
        let tasks = (0..8).map(|number| (leases.clone(), topic.clone(), NodeId::from(format!("n-{number}"))));
        let results = at_once(
            tasks.map(|(leases, topic, node)| async move { leases.acquire(&topic, &node, LONG).await }),
        )
        .await?;
        let (mut holders, mut named) = (Vec::new(), Vec::new());
        for result in results {
            match result? {
                Acquired::Held(lease) => holders.push(lease.node),
                Acquired::Other(node) => named.push(node),
                other => return Err(Unmet(format!("{other:?} is no answer"))),
            }
        }
        let [holder] = &holders[..] else {
            return Err(Unmet(format!("of eight nodes one should hold the lease, but {holders:?} do")));
        };
        same("whom the others are told of", named, vec![holder.clone(); 7])?;
        same("the owner", leases.owner(&topic).await?.as_ref(), Some(holder))?;
    }
    Ok(())
}

/// Each ownership of a topic has a greater epoch than the one before; they begin at 1.
pub(super) async fn epochs(leases: Leases) -> Checked {
    let (topic, one, other) = names();
    let first = held(&leases, &topic, &one, LONG).await?;
    same("the first epoch", first.epoch, 1)?;
    let anew = held(&leases, &topic, &one, LONG).await?;
    same("the epoch of the same node anew", anew.epoch, 2)?;
    fails("the lease before it", leases.renew(&first, LONG).await, Fenced)?;
    leases.renew(&anew, LONG).await?;
    leases.release(&anew).await?;
    let third = held(&leases, &topic, &other, LONG).await?;
    same("the epoch of the next node, after a release", third.epoch, 3)?;
    let apart = held(&leases, &"another".into(), &one, LONG).await?;
    same("the first epoch of another topic", apart.epoch, 1)?;
    same("the owner", leases.owner(&topic).await?, Some(other))
}

/// A lease is renewed by its holder alone.
pub(super) async fn renew(leases: Leases) -> Checked {
    let (topic, one, other) = names();
    let nobody = Lease::new(topic.clone(), one.clone(), 1);
    fails("a lease that nobody gave", leases.renew(&nobody, LONG).await, Fenced)?;
    let lease = held(&leases, &topic, &one, LONG).await?;
    for _ in 0..3 {
        leases.renew(&lease, LONG).await?;
    }
    let forged = Lease::new(topic.clone(), other.clone(), lease.epoch);
    fails("the lease of another node", leases.renew(&forged, LONG).await, Fenced)?;
    let ahead = Lease::new(topic.clone(), one.clone(), lease.epoch + 1);
    fails("a lease of an epoch to come", leases.renew(&ahead, LONG).await, Fenced)?;
    match leases.acquire(&topic, &other, LONG).await? {
        Acquired::Other(node) => same("who holds the lease", node, one)?,
        held => {
            return Err(Unmet(format!("a lease that is held should stay, but another node gets {held:?}")));
        }
    }
    leases.release(&lease).await?;
    fails("a lease that was given back", leases.renew(&lease, LONG).await, Fenced)?;
    held(&leases, &topic, &other, LONG).await?;
    fails("a lease that was taken over", leases.renew(&lease, LONG).await, Fenced)
}

/// A lease that is given back is free at once; giving back again, or what is another's, does nothing.
pub(super) async fn release(leases: Leases) -> Checked {
    let (topic, one, other) = names();
    leases.release(&Lease::new(topic.clone(), one.clone(), 1)).await?;
    let first = held(&leases, &topic, &one, LONG).await?;
    leases.release(&first).await?;
    leases.release(&first).await?;
    same("the owner after a release", leases.owner(&topic).await?, None)?;
    let second = held(&leases, &topic, &other, LONG).await?;
    leases.release(&first).await?;
    same(
        "the owner after a late release of the one before",
        leases.owner(&topic).await?,
        Some(other.clone()),
    )?;
    leases.renew(&second, LONG).await?;
    let forged = Lease::new(topic.clone(), one, second.epoch);
    leases.release(&forged).await?;
    same("the owner after a release by another node", leases.owner(&topic).await?, Some(other))
}

/// The owner is told, of each topic its own.
pub(super) async fn owner(leases: Leases) -> Checked {
    let (topic, one, other) = names();
    same("the owner of a topic that nobody asked for", leases.owner(&topic).await?, None)?;
    held(&leases, &topic, &one, LONG).await?;
    held(&leases, &"a:b".into(), &other, LONG).await?;
    same("the owner", leases.owner(&topic).await?, Some(one))?;
    same("the owner of another topic", leases.owner(&"a:b".into()).await?, Some(other))?;
    same("the owner of a topic with a name like it", leases.owner(&"a".into()).await?, None)
}

/// A lease that is not renewed runs out: it is renewed no more, and another node gets it. One that is renewed is kept.
pub(super) async fn expiry(leases: Leases) -> Checked {
    let (topic, one, other) = names();
    let kept = held(&leases, &"kept".into(), &one, SHORT).await?;
    leases.renew(&kept, LONG).await?;
    let forever = held(&leases, &"forever".into(), &one, Duration::MAX).await?;
    let lost = held(&leases, &topic, &one, SHORT).await?;
    let idle = held(&leases, &"idle".into(), &one, SHORT).await?;
    let none = held(&leases, &"none".into(), &one, Duration::ZERO).await?;
    same("the owner for no time", leases.owner(&none.topic).await?, None)?;

    tokio::time::sleep(SHORT + Duration::from_millis(200)).await;
    same("the owner after its time", leases.owner(&topic).await?, None)?;
    fails("a lease that ran out", leases.renew(&lost, LONG).await, Fenced)?;
    let next = held(&leases, &topic, &other, LONG).await?;
    same("the epoch of a lease after one that ran out", next.epoch, lost.epoch + 1)?;
    leases.release(&lost).await?;
    same("the owner after a release of the one before", leases.owner(&topic).await?, Some(other))?;
    let anew = held(&leases, &idle.topic, &one, LONG).await?;
    same("the epoch of the same node anew", anew.epoch, idle.epoch + 1)?;
    leases.renew(&kept, LONG).await?;
    leases.renew(&forever, Duration::MAX).await?;
    same("the owner of a lease that was renewed", leases.owner(&kept.topic).await?, Some(one))
}
