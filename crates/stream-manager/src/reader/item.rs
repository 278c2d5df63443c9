use std::sync::Arc;

use agent_loop::UiChunk;

use super::cursor::Cursor;
use crate::port::{LogBody, LogRecord, Snapshot};
use crate::record::{AttemptId, RowId, Terminal, TurnId};

/// Something a reader of a topic gets.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ReaderItem {
    /// The turn.
    pub turn: TurnId,
    /// The row it is about.
    pub row: RowId,
    /// The model that writes it.
    pub model: Option<Arc<str>>,
    /// The attempt.
    pub attempt: AttemptId,
    /// The number of the first record it stands for.
    pub first: u64,
    /// The number of the last.
    pub last: u64,
    /// What it holds.
    pub body: ReaderBody,
}

/// What a reader of a topic gets.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ReaderBody {
    /// A record of the log.
    Record(Arc<LogRecord>),
    /// Several deltas in one.
    Merged(UiChunk),
    /// The records behind the reader's place are gone: it drops what it has of the row and begins anew with this.
    Rebase(Box<Snapshot>),
    /// No more of the row can be read here: its log is gone, or nobody ends it. What became of it, the history knows.
    Lost,
}

impl ReaderItem {
    /// The chunk, if it is one.
    pub fn chunk(&self) -> Option<&UiChunk> {
        match &self.body {
            ReaderBody::Record(record) => match &record.body {
                LogBody::Chunk(chunk) => Some(chunk),
                LogBody::Terminal(_) => None,
            },
            ReaderBody::Merged(chunk) => Some(chunk),
            ReaderBody::Rebase(_) | ReaderBody::Lost => None,
        }
    }

    /// The end of the attempt, if it is that.
    pub fn terminal(&self) -> Option<&Terminal> {
        match &self.body {
            ReaderBody::Record(record) => match &record.body {
                LogBody::Terminal(terminal) => Some(terminal),
                LogBody::Chunk(_) => None,
            },
            _ => None,
        }
    }

    /// Where a reader is that has it.
    pub fn cursor(&self) -> Cursor {
        Cursor { attempt: self.attempt, seq: self.last }
    }
}
