use std::collections::HashSet;
use std::fmt;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use super::error::{StoreError, StoreErrorKind};
use super::ownership::Lease;
use crate::record::{
    AttemptId, Fate, Input, InputId, Known, ReturnReason, Row, RowContent, RowId, RowStatus, StoredInput,
    TopicId, TurnId,
};

/// Where conversations are kept: the truth about them. Everything else can be lost.
///
/// Each method is one atomic step: all of it is durable when it returns, or none of it. Doing one again after an
/// [`Unavailable`](super::StoreErrorKind::Unavailable) does no harm.
///
/// Methods that take a [`Lease`] are fenced: if the topic has seen a greater epoch, they are refused as
/// [`Fenced`](super::StoreErrorKind::Fenced) and write nothing. The epoch of a write counts as seen, also where the
/// write finds nothing to do.
#[async_trait]
pub trait ConversationStore: fmt::Debug + Send + Sync + 'static {
    /// Writes down an input. Open to every node, owner or not. The first input of a topic creates it.
    ///
    /// # Errors
    /// If the store does not answer or is full.
    async fn accept(&self, topic: &TopicId, input: &Input) -> Result<Accepted, StoreError>;

    /// One input.
    ///
    /// # Errors
    /// If the store does not answer.
    async fn input(&self, topic: &TopicId, id: &InputId) -> Result<Option<StoredInput>, StoreError>;

    /// The inputs that wait, in the order in which they were accepted.
    ///
    /// # Errors
    /// If the store does not answer.
    async fn inbox(&self, topic: &TopicId) -> Result<Vec<StoredInput>, StoreError>;

    /// Consumes inputs and opens the rows that answer them, together.
    ///
    /// # Errors
    /// [`Conflict`](super::StoreErrorKind::Conflict) if an input is not queued, a row exists and
    /// [cannot be opened again](Row::can_reopen), or something is named twice;
    /// [`NotFound`](super::StoreErrorKind::NotFound) if the topic is not there. The same claim again is no error, and
    /// changes nothing.
    async fn claim_and_open(&self, lease: &Lease, claim: &Claim) -> Result<(), StoreError>;

    /// Writes what an open row holds by now. Does nothing if the row is gone, or is not open for this attempt any more.
    ///
    /// # Errors
    /// If it is fenced, or the store does not answer or is full.
    async fn checkpoint(&self, lease: &Lease, checkpoint: &Checkpoint) -> Result<Written, StoreError>;

    /// Ends an attempt: writes its row a last time and returns inputs, together. The row must be open, or wait for
    /// approval, for this attempt: else the inputs alone are returned. It is never created.
    ///
    /// # Errors
    /// If it is fenced, or the store does not answer or is full.
    async fn settle(&self, lease: &Lease, settlement: &Settlement) -> Result<Written, StoreError>;

    /// Returns inputs that wait. Those that do not wait any more are left as they are.
    ///
    /// # Errors
    /// If it is fenced, or the store does not answer.
    async fn return_inputs(
        &self,
        lease: &Lease,
        inputs: &[InputId],
        why: ReturnReason,
    ) -> Result<(), StoreError>;

    /// All rows of a topic, in the order in which they were opened, and its inputs.
    ///
    /// # Errors
    /// If the store does not answer or what is stored cannot be read. A topic that is not there is `None`.
    async fn history(&self, topic: &TopicId) -> Result<Option<Conversation>, StoreError>;

    /// The topics, the latest written first; of those written in the same millisecond, the one with the greatest id.
    ///
    /// # Errors
    /// If the store does not answer.
    async fn list(&self, page: &Page) -> Result<Vec<TopicSummary>, StoreError>;

    /// Deletes a topic with all its rows and inputs. What is written for it later finds no row and is nothing. An input
    /// that is accepted later creates it anew, with its epochs going on. Returns whether it was there.
    ///
    /// # Errors
    /// If it is fenced, or the store does not answer.
    async fn delete(&self, lease: &Lease) -> Result<bool, StoreError>;

    /// Topics that have open rows, and what is open. Whether their owner lives is the asker's to find out.
    ///
    /// # Errors
    /// If the store does not answer.
    async fn orphans(&self) -> Result<Vec<Orphan>, StoreError>;

    /// Topics that have inputs waiting.
    ///
    /// # Errors
    /// If the store does not answer.
    async fn waiting(&self) -> Result<Vec<TopicId>, StoreError>;
}

/// An input is written down.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Accepted {
    /// Its place among the inputs of its topic.
    pub seq: u64,
    /// What has become of it: `Queued`, unless it was sent before.
    pub fate: Known<Fate>,
    /// Whether it was accepted before. The first one counts; this one was not looked at.
    pub duplicate: bool,
}

impl Accepted {
    /// For implementations.
    pub fn new(seq: u64, fate: Known<Fate>, duplicate: bool) -> Self {
        Self { seq, fate, duplicate }
    }
}

/// Inputs to consume and rows to open.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// The turn.
    pub turn: TurnId,
    /// The attempt that consumes the inputs; the first of several side by side.
    pub attempt: AttemptId,
    /// The inputs.
    pub inputs: Vec<InputId>,
    /// Rows to write whole: of the user, complete; of the assistant, open. One that exists is written over, with its
    /// place and `created_at` kept, if it [can be opened again](Row::can_reopen).
    pub rows: Vec<Row>,
}

impl Claim {
    /// What a store must do about this claim, given how each of its inputs and rows stands. For implementations.
    ///
    /// # Errors
    /// [`Conflict`](super::StoreErrorKind::Conflict) if it does not fit.
    pub fn check(
        &self,
        topic: &TopicId,
        mut fate: impl FnMut(&InputId) -> Option<Known<Fate>>,
        mut row: impl FnMut(&RowId) -> Option<Standing>,
    ) -> Result<Claiming, StoreError> {
        let conflict = |what: String| Err(StoreError::new(StoreErrorKind::Conflict, what));
        let partly = || conflict(format!("a part of the claim of attempt {} was made before", self.attempt));
        let mut names = HashSet::new();
        if let Some(twice) = self.inputs.iter().find(|input| !names.insert(input.as_str())) {
            return conflict(format!("input {twice} is claimed twice"));
        }
        names.clear();
        if let Some(twice) = self.rows.iter().find(|row| !names.insert(row.id.as_str())) {
            return conflict(format!("row {} is opened twice", twice.id));
        }
        if let Some(stray) = self.rows.iter().find(|row| row.topic != *topic) {
            return conflict(format!("row {} is of topic {}", stray.id, stray.topic));
        }

        let mine = Known::Is(Fate::Consumed { turn: self.turn, attempt: self.attempt });
        let mut taken = 0;
        for input in &self.inputs {
            match fate(input) {
                Some(Known::Is(Fate::Queued)) => {}
                Some(fate) if fate == mine => taken += 1,
                _ => return conflict(format!("input {input} is not queued")),
            }
        }
        if taken > 0 {
            let whole = taken == self.inputs.len() && self.rows.iter().all(|new| row(&new.id).is_some());
            return if whole { Ok(Claiming::Repeated) } else { partly() };
        }
        let mut written = 0;
        for new in &self.rows {
            match row(&new.id) {
                None => {}
                Some(old) if self.inputs.is_empty() && (old.turn, old.attempt) == (new.turn, new.attempt) => {
                    written += 1;
                }
                Some(old) if old.can_reopen => {}
                Some(_) => return conflict(format!("row {} is there, and over", new.id)),
            }
        }
        match written {
            0 => Ok(Claiming::New),
            _ if written == self.rows.len() => Ok(Claiming::Repeated),
            _ => partly(),
        }
    }
}

/// What a store must do about a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claiming {
    /// Write it.
    New,
    /// Nothing: it was written before.
    Repeated,
}

/// How a row stands, as far as a claim asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Its turn.
    pub turn: TurnId,
    /// The attempt that writes, or wrote, it.
    pub attempt: Option<AttemptId>,
    /// Whether it [can be opened again](Row::can_reopen).
    pub can_reopen: bool,
}

impl Standing {
    /// How this row stands.
    pub fn of(row: &Row) -> Self {
        Self { turn: row.turn, attempt: row.attempt, can_reopen: row.can_reopen() }
    }
}

/// What an open row holds by now.
#[derive(Clone, Debug, PartialEq)]
pub struct Checkpoint {
    /// The row.
    pub row: RowId,
    /// The attempt that writes it.
    pub attempt: AttemptId,
    /// What it holds.
    pub content: RowContent,
}

/// The end of an attempt.
#[derive(Clone, Debug, PartialEq)]
pub struct Settlement {
    /// The row.
    pub row: RowId,
    /// The attempt that wrote it.
    pub attempt: AttemptId,
    /// What the row is now; `Open` if another attempt goes on with it.
    pub status: RowStatus,
    /// What it holds.
    pub content: RowContent,
    /// Inputs that go back to their senders, of those that still wait.
    pub returned: Vec<(InputId, ReturnReason)>,
}

/// What came of writing a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Written {
    /// It is written.
    Done,
    /// The row was written before by the same, or belongs to another attempt: nothing was changed.
    Already,
    /// The row is not there: the topic was deleted.
    Gone,
}

/// A conversation, as it is stored.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Conversation {
    /// Its rows, in the order in which they were opened.
    pub rows: Vec<Row>,
    /// Its inputs, in the order in which they were accepted.
    pub inputs: Vec<StoredInput>,
}

impl Conversation {
    /// For implementations.
    pub fn new(rows: Vec<Row>, inputs: Vec<StoredInput>) -> Self {
        Self { rows, inputs }
    }
}

/// Which topics to list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// At most so many.
    pub limit: usize,
    /// Only those behind this one in the order: `updated_at` and the id of the last one of the page before.
    pub after: Option<(u64, TopicId)>,
}

impl Default for Page {
    fn default() -> Self {
        Self { limit: 100, after: None }
    }
}

/// A topic in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct TopicSummary {
    /// The topic.
    pub topic: TopicId,
    /// The beginning of what the user said first: at most 200 characters.
    pub title: String,
    /// How many rows it has.
    pub rows: u64,
    /// When it was created: milliseconds since 1970.
    pub created_at: u64,
    /// When it was last written: milliseconds since 1970.
    pub updated_at: u64,
}

impl TopicSummary {
    /// For implementations.
    pub fn new(topic: TopicId, title: String, rows: u64, created_at: u64, updated_at: u64) -> Self {
        Self { topic, title, rows, created_at, updated_at }
    }
}

/// A topic with open rows.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Orphan {
    /// The topic.
    pub topic: TopicId,
    /// Its open rows.
    pub rows: Vec<Row>,
}

impl Orphan {
    /// For implementations.
    pub fn new(topic: TopicId, rows: Vec<Row>) -> Self {
        Self { topic, rows }
    }
}
