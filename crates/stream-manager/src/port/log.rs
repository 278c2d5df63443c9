use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll};

use agent_loop::{UiChunk, UiMessage};
use async_trait::async_trait;

use super::error::StoreError;
use super::ownership::Lease;
use crate::record::{AttemptId, RowId, Terminal, TopicId};

/// Where the chunks of running attempts can be read, from any place, by any number of readers. It is a cache: the
/// conversation store has the truth, and an attempt that is not here any more is read from there.
#[async_trait]
pub trait ReplayLog: fmt::Debug + Send + Sync + 'static {
    /// Begins the log of an attempt. `seed` is what the row shows already: what a reader behind the window gets stands
    /// on it.
    ///
    /// A greater epoch than before fences the writers of the topic.
    ///
    /// # Errors
    /// If it is fenced, or the log does not answer; [`Conflict`](super::StoreErrorKind::Conflict) if the attempt has a log.
    async fn create(
        &self,
        lease: &Lease,
        attempt: AttemptId,
        seed: UiMessage,
    ) -> Result<Box<dyn LogWriter>, StoreError>;

    /// Reads the log of an attempt, behind `after`, the last sequence number the reader has; from the beginning if
    /// absent. `None` if the log is not there.
    ///
    /// # Errors
    /// If the log does not answer.
    async fn read(
        &self,
        topic: &TopicId,
        attempt: AttemptId,
        after: Option<u64>,
    ) -> Result<Option<Box<dyn LogReader>>, StoreError>;

    /// Ends the log of an attempt whose writer is gone, under the lease of whoever owns the topic now: readers that
    /// follow it get this as the last record, and nothing its writer may still append is seen. A log that is not there,
    /// or has its last record, is left as it is.
    ///
    /// # Errors
    /// If it is fenced, or the log does not answer.
    async fn seal_orphan(
        &self,
        lease: &Lease,
        attempt: AttemptId,
        terminal: Terminal,
    ) -> Result<(), StoreError>;

    /// Forgets the log of an attempt. Readers it has get what is left, and what its writer still adds.
    ///
    /// # Errors
    /// If the log does not answer; it goes by its own age then.
    async fn forget(&self, topic: &TopicId, attempt: AttemptId) -> Result<(), StoreError>;
}

/// Writes the log of one attempt. It belongs to the task that runs the attempt. Dropped before the last record, it leaves
/// the log [abandoned](Read::Abandoned).
#[async_trait]
pub trait LogWriter: fmt::Debug + Send + 'static {
    /// Adds a chunk and gives it the next sequence number, from 1. Never waits for a reader.
    fn append(&mut self, chunk: UiChunk) -> u64;

    /// The message that the chunks give so far.
    fn message(&mut self) -> UiMessage;

    /// Whether the log can still be written. It cannot once another owner has taken over: nobody reads what is appended
    /// then.
    fn is_fenced(&self) -> bool;

    /// Waits until what was appended can be read by everybody.
    ///
    /// # Errors
    /// If it is fenced, or the log does not answer.
    async fn flush(&mut self) -> Result<(), StoreError>;

    /// Adds the last record. Nothing can follow it: what is appended then is dropped. The same one again is no error.
    ///
    /// # Errors
    /// If it is fenced, or the log does not answer. Readers then learn of the end from the conversation store.
    /// [`Conflict`](super::StoreErrorKind::Conflict) if the log has another last record.
    async fn seal(&mut self, terminal: Terminal) -> Result<(), StoreError>;
}

/// Reads the log of one attempt. A reader is a place in the log: it costs the writer nothing, however slow it is.
pub trait LogReader: fmt::Debug + Send + 'static {
    /// Adds what comes next to `out`, at least one record, at most about `most`. Pending while there is nothing.
    fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        most: usize,
        out: &mut Vec<Arc<LogRecord>>,
    ) -> Poll<Result<Read, StoreError>>;
}

/// What a reader got.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Read {
    /// Records, each one number behind the one before.
    Records,
    /// The records behind the reader's place are gone, or never were. It drops what it has of the row and begins anew
    /// with this; what follows comes behind it.
    Rebase(Box<Snapshot>),
    /// The last record was read before.
    End,
    /// All was read, and nobody writes the log any more, though it has no last record: its task died, or somebody else
    /// took the topic over. Said once. The reader may read on, for the topic's owner may seal the log; how the row ended,
    /// the conversation store knows sooner or later. A log that cannot tell is silent instead.
    Abandoned,
}

/// What a row shows at a place in the log of its attempt.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Snapshot {
    /// The row.
    pub row: RowId,
    /// The sequence number of the last record that is in it.
    pub through: u64,
    /// Chunks that give the message as it stands, with what is open in it left open.
    pub chunks: Vec<UiChunk>,
}

impl Snapshot {
    /// For implementations.
    pub fn new(row: RowId, through: u64, chunks: Vec<UiChunk>) -> Self {
        Self { row, through, chunks }
    }
}

/// A record of a log.
#[derive(Clone, Debug, PartialEq)]
pub struct LogRecord {
    /// Its number: from 1, without gaps.
    pub seq: u64,
    /// What it holds.
    pub body: LogBody,
}

/// What a record holds.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum LogBody {
    /// A chunk.
    Chunk(UiChunk),
    /// The end of the attempt. The last record.
    Terminal(Terminal),
}
