use std::time::Duration;

use rusqlite::{Connection, Transaction};
use stream_manager::port::StoreError;

use crate::error::store_error;
use crate::write::Writing;

/// Which topics are deleted: those that meet every condition that is set; none if none is set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Retention {
    /// They were last written so long ago.
    pub older_than: Option<Duration>,
    /// They are not among so many that were written last.
    pub keep_last: Option<usize>,
}

impl Retention {
    /// Topics that were last written so long ago.
    #[must_use]
    pub fn older_than(mut self, age: Duration) -> Self {
        self.older_than = Some(age);
        self
    }

    /// Topics that are not among so many that were written last.
    #[must_use]
    pub fn keep_last(mut self, count: usize) -> Self {
        self.keep_last = Some(count);
        self
    }
}

/// Nothing of a topic is under way: it can go.
const SETTLED: &str = "live = 1
    AND NOT EXISTS (SELECT 1 FROM rows WHERE rows.topic = topics.key AND status IN ('\"open\"', '\"awaiting_approval\"'))
    AND NOT EXISTS (SELECT 1 FROM inputs WHERE inputs.topic = topics.key AND queued = 1)
    AND NOT EXISTS (SELECT 1 FROM leases WHERE leases.topic = topics.topic AND node IS NOT NULL AND expires_at > ?1)";

/// A topic, and when it was last written.
type Old = (i64, i64);

pub(crate) fn old(
    transaction: &Transaction<'_>,
    retention: &Retention,
    now: i64,
) -> Result<Vec<Old>, StoreError> {
    if *retention == Retention::default() {
        return Ok(Vec::new());
    }
    let count = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
    let age = retention.older_than.map_or(0, |age| i64::try_from(age.as_millis()).unwrap_or(i64::MAX));
    let before = if retention.older_than.is_some() { now.saturating_sub(age) } else { i64::MAX };
    let sql = format!(
        "SELECT key, updated_at FROM topics WHERE updated_at <= ?2 AND {SETTLED}
         AND key NOT IN (SELECT key FROM topics WHERE live = 1 ORDER BY updated_at DESC, topic DESC LIMIT ?3)"
    );
    let values = (now, before, retention.keep_last.map_or(0, count));
    let found = transaction.prepare(&sql).and_then(|mut statement| {
        statement.query_map(values, |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
    });
    found.map_err(|error| store_error("looking for old topics", error))
}

/// Deletes a topic, unless it was written again or taken up meanwhile. Returns how many it deleted.
pub(crate) fn delete(transaction: &Transaction<'_>, (topic, at): Old, now: i64) -> Result<u64, StoreError> {
    let writing = Writing::new(transaction, "deleting an old topic", now);
    let sql = format!("SELECT 1 FROM topics WHERE key = ?2 AND updated_at = ?3 AND {SETTLED}");
    match writing.find(&sql, (now, topic, at), |_| Ok(()))? {
        Some(()) => writing.delete(topic).map(|()| 1),
        None => Ok(0),
    }
}

/// Gives what is free in the file back to the disk.
pub(crate) fn shrink(connection: &Connection) -> Result<(), StoreError> {
    let failed = |error| store_error("giving room back to the disk", error);
    let mut freed = connection.prepare("PRAGMA incremental_vacuum").map_err(failed)?;
    let mut pages = freed.query([]).map_err(failed)?;
    while pages.next().map_err(failed)?.is_some() {}
    Ok(())
}
