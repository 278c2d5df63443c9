use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::stream::BoxStream;
use futures_util::{FutureExt, StreamExt};
use stream_manager::port::StatusBus;
use stream_manager::record::{ActiveAttempt, TopicId, TopicState, TopicStatus};

use super::kit::{Checked, Unmet, at_once, attempt, ensure, same, turn};

type Bus = Arc<dyn StatusBus>;

fn status(topic: &str, epoch: u64, revision: u64) -> TopicStatus {
    let mut status = TopicStatus::idle(topic.into());
    (status.epoch, status.revision) = (epoch, revision);
    status.state = TopicState::Streaming;
    status
}

/// How far a topic is.
fn place(status: &TopicStatus) -> (u64, u64) {
    (status.epoch, status.revision)
}

/// Reads until every topic is as far as it should be. Fails if one goes back on the way.
async fn until(watch: &mut BoxStream<'static, TopicStatus>, wanted: &[(&str, u64, u64)]) -> Checked<usize> {
    let mut seen: BTreeMap<TopicId, (u64, u64)> = BTreeMap::new();
    let mut count = 0;
    while !wanted
        .iter()
        .all(|(topic, epoch, revision)| seen.get(&TopicId::from(*topic)) == Some(&(*epoch, *revision)))
    {
        let next = watch.next().await;
        let next = next.ok_or_else(|| Unmet(format!("the watch should not end, at {seen:?}")))?;
        count += 1;
        let before = seen.insert(next.topic.clone(), place(&next));
        ensure(before.is_none_or(|before| before < place(&next)), || {
            format!(
                "a watcher should see {} go on, but it goes from {before:?} to {:?}",
                next.topic,
                place(&next)
            )
        })?;
    }
    Ok(count)
}

/// The last status of a topic is told as it was published.
pub(super) async fn kept(bus: Bus) -> Checked {
    same("a topic that the bus has not heard of", bus.status(&"a".into()).await?, None)?;
    let mut full = status("a", 3, 9);
    full.turn = Some(turn(4));
    let mut other = ActiveAttempt::new(attempt(6), "row/2".into());
    other.model = Some("m".to_owned());
    full.attempts = vec![ActiveAttempt::new(attempt(5), "row".into()), other];
    full.awaiting = vec!["x".into(), "y".into()];
    full.queued = 7;
    full.last_completed_at = Some(1_750_000_000_123);
    bus.publish(full.clone()).await?;
    bus.publish(status("b", 1, 1)).await?;
    same("a status", bus.status(&"a".into()).await?, Some(full))?;
    same("another topic", bus.status(&"b".into()).await?, Some(status("b", 1, 1)))
}

/// What is out of date is dropped.
pub(super) async fn order(bus: Bus) -> Checked {
    let mut told = Vec::new();
    for (epoch, revision) in
        [(1, 5), (1, 4), (1, 5), (2, 1), (1, 6), (2, 0), (2, 2), (1, u64::from(u32::MAX))]
    {
        let mut next = status("t", epoch, revision);
        next.queued = u32::try_from(told.len()).unwrap_or(u32::MAX);
        bus.publish(next).await?;
        told.push(bus.status(&"t".into()).await?.map(|status| (place(&status), status.queued)));
    }
    let wanted = [
        ((1, 5), 0),
        ((1, 5), 0),
        ((1, 5), 0),
        ((2, 1), 3),
        ((2, 1), 3),
        ((2, 1), 3),
        ((2, 2), 6),
        ((2, 2), 6),
    ];
    same("the status after each of these", told, wanted.map(Some).to_vec())?;

    let tasks = (1..=64).map(|revision| (bus.clone(), revision));
    for result in
        at_once(tasks.map(|(bus, revision)| async move { bus.publish(status("race", 1, revision)).await }))
            .await?
    {
        result?;
    }
    same("the last of 64 at once", bus.status(&"race".into()).await?, Some(status("race", 1, 64)))
}

/// A watcher learns how all topics stand, and then each change.
pub(super) async fn watch(bus: Bus) -> Checked {
    bus.publish(status("a", 1, 1)).await?;
    bus.publish(status("b", 1, 1)).await?;
    let mut early = bus.watch().await?;
    let mut other = bus.watch().await?;
    until(&mut early, &[("a", 1, 1), ("b", 1, 1)]).await?;
    bus.publish(status("c", 1, 1)).await?;
    until(&mut early, &[("c", 1, 1)]).await?;
    bus.publish(status("a", 1, 2)).await?;
    bus.publish(status("a", 1, 1)).await?;
    until(&mut early, &[("a", 1, 2)]).await?;
    drop(early);
    bus.publish(status("b", 2, 1)).await?;
    until(&mut other, &[("a", 1, 2), ("b", 2, 1), ("c", 1, 1)]).await?;
    let mut late = bus.watch().await?;
    until(&mut late, &[("a", 1, 2), ("b", 2, 1), ("c", 1, 1)]).await?;
    ensure(late.next().now_or_never().is_none(), || "a watch should wait when nothing changes".to_owned())
}

/// A watcher that does not look misses states in between, never the last one of a topic.
pub(super) async fn slow(bus: Bus) -> Checked {
    let mut watch = bus.watch().await?;
    for revision in 1..=500 {
        for topic in ["a", "b", "c"] {
            bus.publish(status(topic, 1, revision)).await?;
        }
    }
    until(&mut watch, &[("a", 1, 500), ("b", 1, 500), ("c", 1, 500)]).await?;
    ensure(watch.next().now_or_never().is_none(), || "nothing should follow the last states".to_owned())
}

/// A topic that was forgotten is not known, and can be told anew.
pub(super) async fn forget(bus: Bus) -> Checked {
    bus.forget(&"a".into()).await?;
    bus.publish(status("a", 5, 5)).await?;
    bus.publish(status("b", 1, 1)).await?;
    bus.forget(&"a".into()).await?;
    same("a topic that was forgotten", bus.status(&"a".into()).await?, None)?;
    let mut watch = bus.watch().await?;
    let first = watch.next().await.map(|status| status.topic);
    same("what a new watcher learns", first, Some("b".into()))?;
    bus.publish(status("a", 1, 1)).await?;
    until(&mut watch, &[("a", 1, 1)]).await.map(drop)
}
