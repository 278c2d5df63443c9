//! What a transaction that writes does. Times are milliseconds since 1970.

use std::collections::HashMap;

use rusqlite::{OptionalExtension, Params, Transaction};
use stream_manager::port::{Accepted, Claim, Claiming, Lease, Standing, StoreError, Written, decode, encode};
use stream_manager::record::{
    AttemptId, Fate, Input, InputId, Known, ReturnReason, RowId, RowStatus, TopicId,
};

use crate::error::{corrupt, from_sql, store_error, to_sql};
use crate::row::{Columns, Content};

/// The key of a topic in the file.
type Key = i64;

/// A transaction, what it is for, and when.
pub(crate) struct Writing<'a> {
    transaction: &'a Transaction<'a>,
    what: &'static str,
    now: i64,
}

/// An open row, for what may write it.
struct Found {
    attempt: Option<String>,
    status: Known<RowStatus>,
}

impl<'a> Writing<'a> {
    pub(crate) fn new(transaction: &'a Transaction<'a>, what: &'static str, now: i64) -> Self {
        Self { transaction, what, now }
    }

    pub(crate) fn accept(&self, topic: &TopicId, input: &Input, body: &str) -> Result<Accepted, StoreError> {
        let title = input.title().unwrap_or_default();
        let found = self.find("SELECT key, live FROM topics WHERE topic = ?1", [topic.as_str()], |row| {
            Ok((row.get::<_, Key>(0)?, row.get::<_, bool>(1)?))
        })?;
        let key = match found {
            None => {
                let sql = "INSERT INTO topics (topic, live, created_at, updated_at, title) VALUES (?1, 1, ?2, ?2, ?3)";
                self.run(sql, (topic.as_str(), self.now, title))?;
                self.transaction.last_insert_rowid()
            }
            Some((key, false)) => {
                let sql =
                    "UPDATE topics SET live = 1, created_at = ?2, updated_at = ?2, title = ?3 WHERE key = ?1";
                self.run(sql, (key, self.now, title))?;
                key
            }
            Some((key, true)) => {
                let sql = "SELECT seq, fate FROM inputs WHERE topic = ?1 AND input = ?2";
                let before = self.find(sql, (key, input.id.as_str()), |row| {
                    Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?))
                })?;
                if let Some((seq, fate)) = before {
                    return Ok(Accepted::new(from_sql(seq)?, decode(&fate)?, true));
                }
                let sql = "UPDATE topics SET updated_at = max(updated_at, ?2),
                           title = CASE title WHEN '' THEN ?3 ELSE title END WHERE key = ?1";
                self.run(sql, (key, self.now, title))?;
                key
            }
        };
        let sql = "INSERT INTO inputs (topic, input, seq, queued, fate, accepted_at, body)
                   SELECT ?1, ?2, coalesce(max(seq), 0) + 1, 1, ?3, ?4, ?5 FROM inputs WHERE topic = ?1
                   RETURNING seq";
        let fate = encode(&Fate::Queued)?;
        let values = (key, input.id.as_str(), fate, self.now, body);
        let seq = self.find(sql, values, |row| row.get::<_, i64>(0))?;
        let seq = seq.ok_or_else(|| corrupt(self.what))?;
        Ok(Accepted::new(from_sql(seq)?, Known::Is(Fate::Queued), false))
    }

    /// Refuses a lease that is not the latest. Returns the key of its topic, unless that is not there.
    pub(crate) fn fence(&self, lease: &Lease) -> Result<Option<Key>, StoreError> {
        let (topic, epoch) = (lease.topic.as_str(), to_sql(lease.epoch)?);
        let found = self.find("SELECT key, live, epoch FROM topics WHERE topic = ?1", [topic], |row| {
            Ok((row.get::<_, Key>(0)?, row.get::<_, bool>(1)?, row.get::<_, i64>(2)?))
        })?;
        match found {
            None => {
                self.run("INSERT INTO topics (topic, epoch) VALUES (?1, ?2)", (topic, epoch))?;
                Ok(None)
            }
            Some((_, _, seen)) if epoch < seen => {
                Err(StoreError::fenced(format!("{}, of epoch {epoch} of topic {topic}", self.what)))
            }
            Some((key, live, seen)) => {
                if seen < epoch {
                    self.run("UPDATE topics SET epoch = ?2 WHERE key = ?1", (key, epoch))?;
                }
                Ok(live.then_some(key))
            }
        }
    }

    pub(crate) fn claim(
        &self,
        topic: Key,
        lease: &Lease,
        claim: &Claim,
        rows: &[Columns],
    ) -> Result<(), StoreError> {
        let (mut fates, mut standings) = (HashMap::new(), HashMap::new());
        for id in &claim.inputs {
            let sql = "SELECT fate FROM inputs WHERE topic = ?1 AND input = ?2";
            if let Some(fate) = self.find(sql, (topic, id.as_str()), |row| row.get::<_, String>(0))? {
                fates.insert(id.clone(), decode::<Known<Fate>>(&fate)?);
            }
        }
        for row in &claim.rows {
            if let Some(standing) = self.standing(topic, &row.id)? {
                standings.insert(row.id.clone(), standing);
            }
        }
        let fate = |id: &InputId| fates.get(id).cloned();
        let standing = |id: &RowId| standings.get(id).copied();
        if claim.check(&lease.topic, fate, standing)? == Claiming::Repeated {
            return Ok(());
        }
        for id in &claim.inputs {
            self.end(topic, id, &Fate::Consumed { turn: claim.turn, attempt: claim.attempt })?;
        }
        for (row, columns) in claim.rows.iter().zip(rows) {
            self.open(topic, &row.id, columns)?;
        }
        self.touch(topic)
    }

    fn standing(&self, topic: Key, row: &RowId) -> Result<Option<Standing>, StoreError> {
        let sql = "SELECT turn, attempt, status, has_run FROM rows WHERE topic = ?1 AND row = ?2";
        let found = self.find(sql, (topic, row.as_str()), |row| {
            let ids = (row.get::<_, String>(0)?, row.get::<_, Option<String>>(1)?);
            Ok((ids, row.get::<_, String>(2)?, row.get::<_, bool>(3)?))
        })?;
        let Some(((turn, attempt), status, has_run)) = found else { return Ok(None) };
        let unread = |error| corrupt(format!("reading row {row}")).with_source(error);
        let status: Known<RowStatus> = decode(&status)?;
        Ok(Some(Standing {
            turn: turn.parse().map_err(unread)?,
            attempt: attempt.map(|attempt| attempt.parse()).transpose().map_err(unread)?,
            can_reopen: has_run || status.known().is_some_and(|status| status.is_pending()),
        }))
    }

    fn open(&self, topic: Key, row: &RowId, columns: &Columns) -> Result<(), StoreError> {
        let sql = "INSERT INTO rows
                   (topic, row, turn, attempt, status, created_at, updated_at, head, content, has_run)
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
                   ON CONFLICT (topic, row) DO UPDATE SET
                   turn = excluded.turn, attempt = excluded.attempt, status = excluded.status,
                   updated_at = excluded.updated_at, head = excluded.head, content = excluded.content,
                   has_run = excluded.has_run";
        let Columns { turn, attempt, status, created_at, updated_at, head, content } = columns;
        let Content { json, has_run } = content;
        let values =
            (topic, row.as_str(), turn, attempt, status, created_at, updated_at, head, json, has_run);
        self.run(sql, values).map(drop)
    }

    pub(crate) fn checkpoint(
        &self,
        topic: Key,
        row: &RowId,
        attempt: AttemptId,
        content: &Content,
    ) -> Result<Written, StoreError> {
        let Some(found) = self.row(topic, row)? else { return Ok(Written::Gone) };
        if found.attempt != Some(attempt.to_string()) || found.status != Known::Is(RowStatus::Open) {
            return Ok(Written::Already);
        }
        self.put(topic, row, RowStatus::Open, content)
    }

    pub(crate) fn settle(
        &self,
        topic: Key,
        row: &RowId,
        attempt: AttemptId,
        status: RowStatus,
        content: &Content,
    ) -> Result<Written, StoreError> {
        let Some(found) = self.row(topic, row)? else { return Ok(Written::Gone) };
        let pending = found.status.known().is_some_and(|status| status.is_pending());
        if found.attempt != Some(attempt.to_string()) || !pending {
            return Ok(Written::Already);
        }
        self.put(topic, row, status, content)
    }

    fn row(&self, topic: Key, row: &RowId) -> Result<Option<Found>, StoreError> {
        let sql = "SELECT attempt, status FROM rows WHERE topic = ?1 AND row = ?2";
        let found =
            self.find(sql, (topic, row.as_str()), |row| Ok((row.get(0)?, row.get::<_, String>(1)?)))?;
        found.map(|(attempt, status)| Ok(Found { attempt, status: decode(&status)? })).transpose()
    }

    fn put(
        &self,
        topic: Key,
        row: &RowId,
        status: RowStatus,
        content: &Content,
    ) -> Result<Written, StoreError> {
        let sql = "UPDATE rows SET status = ?3, content = ?4, has_run = ?5, updated_at = ?6
                   WHERE topic = ?1 AND row = ?2";
        self.run(sql, (topic, row.as_str(), encode(&status)?, &content.json, content.has_run, self.now))?;
        self.touch(topic)?;
        Ok(Written::Done)
    }

    pub(crate) fn return_input(
        &self,
        topic: Key,
        input: &InputId,
        why: ReturnReason,
    ) -> Result<(), StoreError> {
        if self.end(topic, input, &Fate::Returned { why })? { self.touch(topic) } else { Ok(()) }
    }

    /// Gives an input a fate, if it still waits. Returns whether it did.
    fn end(&self, topic: Key, input: &InputId, fate: &Fate) -> Result<bool, StoreError> {
        let sql = "UPDATE inputs SET queued = 0, fate = ?3 WHERE topic = ?1 AND input = ?2 AND queued = 1";
        Ok(self.run(sql, (topic, input.as_str(), encode(fate)?))? > 0)
    }

    /// Deletes what a topic has. Its epochs go on.
    pub(crate) fn delete(&self, topic: Key) -> Result<(), StoreError> {
        self.run("DELETE FROM rows WHERE topic = ?1", [topic])?;
        self.run("DELETE FROM inputs WHERE topic = ?1", [topic])?;
        let sql = "UPDATE topics SET live = 0, title = '', created_at = 0, updated_at = 0 WHERE key = ?1";
        self.run(sql, [topic]).map(drop)
    }

    fn touch(&self, topic: Key) -> Result<(), StoreError> {
        let sql = "UPDATE topics SET updated_at = max(updated_at, ?2) WHERE key = ?1";
        self.run(sql, (topic, self.now)).map(drop)
    }

    pub(crate) fn run(&self, sql: &str, values: impl Params) -> Result<usize, StoreError> {
        let run = self.transaction.prepare_cached(sql).and_then(|mut statement| statement.execute(values));
        run.map_err(|error| store_error(self.what, error))
    }

    pub(crate) fn find<T>(
        &self,
        sql: &str,
        values: impl Params,
        read: impl FnOnce(&rusqlite::Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>, StoreError> {
        let found =
            self.transaction.prepare_cached(sql).and_then(|mut it| it.query_row(values, read).optional());
        found.map_err(|error| store_error(self.what, error))
    }
}
