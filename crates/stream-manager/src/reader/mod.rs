//! Reading what topics say: from attempt to attempt, several models at once, from any place.

mod cursor;
mod item;
mod row;
mod sse;

use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_core::stream::BoxStream;
use futures_util::{StreamExt, stream};
use tokio::time::timeout;

pub use cursor::{Cursor, CursorError};
pub use item::{ReaderBody, ReaderItem};
use row::{RowReader, Step};
pub use sse::{SseBody, SseSettings};

use crate::manager::Reading;
use crate::port::{ReplayLog, StatusBus, StoreError};
use crate::record::{ActiveAttempt, RowId, TopicId, TopicStatus, TurnId};

/// What a reader wants of a topic: unless set, all rows of the live turn from their beginnings, until the turn is over.
#[derive(Clone, Debug)]
#[must_use]
pub struct Attach {
    cursors: Vec<Cursor>,
    turn: Option<TurnId>,
    row: Option<RowId>,
    snapshot: bool,
    follow: bool,
    patience: Duration,
}

impl Default for Attach {
    fn default() -> Self {
        Self {
            cursors: Vec::new(),
            turn: None,
            row: None,
            snapshot: false,
            follow: false,
            patience: PATIENCE,
        }
    }
}

/// A row whose task died is ended by its topic's owner as soon as the store has it, or by the next owner once a lease of
/// the usual length has run out. What is not ended by then is not worth a connection.
const PATIENCE: Duration = Duration::from_secs(60);

impl Attach {
    /// All rows of the live turn.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads the row of this attempt behind what the reader has. Once for each row; others are read from the beginning.
    pub fn with_cursor(mut self, cursor: Cursor) -> Self {
        self.cursors.push(cursor);
        self
    }

    /// Reads this turn, live or just over; waits for it if the topic has not come to it yet, as long as the
    /// [patience](Self::with_patience) lasts.
    pub fn with_turn(mut self, turn: TurnId) -> Self {
        self.turn = Some(turn);
        self
    }

    /// Reads this row alone, until it ends.
    pub fn with_row(mut self, row: RowId) -> Self {
        self.row = Some(row);
        self
    }

    /// Begins each row without a cursor with the message as it stands, not with its first record: for a reader that has
    /// not read the history, or wants to see all that there is at once.
    pub fn with_snapshot(mut self) -> Self {
        self.snapshot = true;
        self
    }

    /// Stays for the turns to come. A turn that begins and ends while the reader is busy is passed over; its rows are in
    /// the history.
    pub fn following(mut self) -> Self {
        self.follow = true;
        self
    }

    /// Sets how long to wait for a turn to come, and for the end of a row whose writer is gone: 60 s unless set.
    pub fn with_patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }
}

/// Why a reader was not attached.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AttachError {
    /// There is nothing to read here: no turn is live, it is another one, or the attempt of the cursor is not kept any
    /// more. The history has what there is.
    #[error("there is no such stream")]
    NotFound,
    /// The bus or the log did not answer.
    #[error("the stream cannot be read")]
    Store(#[from] StoreError),
}

/// Reads a topic. It costs the topic nothing, and may be dropped at any time.
pub struct TopicReader {
    topic: TopicId,
    log: Arc<dyn ReplayLog>,
    changes: Option<BoxStream<'static, TopicStatus>>,
    status: TopicStatus,
    wants: Attach,
    turn: TurnId,
    rows: Vec<RowReader>,
    /// The row to be asked first: each in its turn.
    first: usize,
    is_turn_over: bool,
    failed: bool,
    /// Says to the topic's owner that somebody reads.
    _reading: Option<Reading>,
}

impl std::fmt::Debug for TopicReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TopicReader")
            .field("topic", &self.topic)
            .field("rows", &self.rows)
            .finish_non_exhaustive()
    }
}

enum Event {
    Row(usize, Step),
    Status(Option<TopicStatus>),
    Over,
}

impl TopicReader {
    /// Attaches a reader. It registers for the changes of the topic before it looks how the topic stands, so that none is
    /// missed.
    ///
    /// # Errors
    /// [`AttachError::NotFound`] if there is nothing to read; else if the bus or the log does not answer.
    pub async fn attach(
        topic: TopicId,
        log: Arc<dyn ReplayLog>,
        bus: &dyn StatusBus,
        wants: Attach,
    ) -> Result<Self, AttachError> {
        let mut changes = bus.watch_topic(&topic).await?;
        let mut status = bus.status(&topic).await?.unwrap_or_else(|| TopicStatus::idle(topic.clone()));
        let comes = async {
            while wants.turn.is_some() && status.turn < wants.turn {
                status = changes.next().await?;
            }
            Some(())
        };
        timeout(wants.patience, comes).await.ok().flatten().ok_or(AttachError::NotFound)?;
        let mut reader = Self {
            topic,
            log,
            changes: Some(changes),
            turn: status.turn.unwrap_or(TurnId { epoch: 0, number: 0 }),
            status,
            wants,
            rows: Vec::new(),
            first: 0,
            is_turn_over: false,
            failed: false,
            _reading: None,
        };
        reader.begin()?;
        Ok(reader)
    }

    /// Counts as a reader of its topic.
    pub(crate) fn counted(mut self, reading: Reading) -> Self {
        self._reading = Some(reading);
        self
    }

    fn begin(&mut self) -> Result<(), AttachError> {
        let (status, wants) = (&self.status, &self.wants);
        if let Some(turn) = wants.turn
            && status.turn != Some(turn)
        {
            return Err(AttachError::NotFound);
        }
        let is_there = |cursor: &Cursor| status.attempts.iter().any(|active| is_of(active, cursor));
        if !wants.cursors.iter().all(is_there) {
            return Err(AttachError::NotFound);
        }
        if status.state.is_live() || wants.turn.is_some() || !wants.cursors.is_empty() {
            self.add_rows();
        }
        let may_come = self.status.state.is_live() && self.wants.row.is_none();
        if self.rows.is_empty() && !may_come && !self.wants.follow {
            return Err(AttachError::NotFound);
        }
        self.is_turn_over = !self.status.state.is_live();
        Ok(())
    }

    /// Takes in the rows of the turn that are new, or go on.
    fn add_rows(&mut self) {
        let wants = &self.wants;
        for active in &self.status.attempts {
            if wants.row.as_ref().is_some_and(|row| *row != active.row) {
                continue;
            }
            if let Some(row) = self.rows.iter_mut().find(|row| row.row == active.row && row.turn == self.turn)
            {
                row.resume(active);
                continue;
            }
            let cursor = wants.cursors.iter().copied().find(|cursor| is_of(active, cursor));
            self.rows.extend(RowReader::new(self.turn, active, cursor, wants.snapshot, wants.patience));
        }
    }

    /// What comes next. `None` at the end. Dropping the future loses nothing.
    ///
    /// # Errors
    /// If the log does not answer. The reader ends with it; what was read stands, and its last
    /// [cursor](ReaderItem::cursor) leads back.
    pub async fn next(&mut self) -> Option<Result<ReaderItem, StoreError>> {
        loop {
            if self.failed {
                return None;
            }
            match poll_fn(|cx| self.poll(cx)).await {
                Event::Row(_, Step::Item(item)) => {
                    self.is_turn_over |= item.terminal().is_some_and(|terminal| terminal.ends_turn);
                    return Some(Ok(item));
                }
                Event::Row(at, Step::Open(attempt, after)) => {
                    let opened = self.log.read(&self.topic, attempt, after).await;
                    let may_come = self.status.state.is_live()
                        && self.status.attempts.iter().any(|active| active.attempt == attempt);
                    match (self.rows.get_mut(at), opened) {
                        (Some(row), Ok(Some(reader))) => row.opened(reader),
                        (Some(row), Ok(None)) => {
                            if let Some(lost) = row.missing(may_come) {
                                return Some(Ok(lost));
                            }
                        }
                        (_, Err(error)) => return Some(Err(self.fail(error))),
                        (None, _) => {}
                    }
                }
                Event::Row(_, Step::Failed(error)) => return Some(Err(self.fail(error))),
                Event::Row(_, Step::Over) => {}
                Event::Status(Some(status)) => self.learn(status),
                Event::Status(None) => self.changes = None,
                Event::Over => return None,
            }
        }
    }

    /// The items as a stream.
    pub fn into_stream(self) -> BoxStream<'static, Result<ReaderItem, StoreError>> {
        stream::unfold(self, |mut reader| async move { Some((reader.next().await?, reader)) }).boxed()
    }

    fn fail(&mut self, error: StoreError) -> StoreError {
        self.failed = true;
        error
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Event> {
        for turn in 0..self.rows.len() {
            let at = (self.first + turn) % self.rows.len();
            let Some(row) = self.rows.get_mut(at).filter(|row| !row.is_over()) else { continue };
            if let Poll::Ready(step) = row.poll(cx) {
                self.first = at + 1;
                return Poll::Ready(Event::Row(at, step));
            }
        }
        if let Some(changes) = &mut self.changes
            && let Poll::Ready(status) = changes.poll_next_unpin(cx)
        {
            return Poll::Ready(Event::Status(status));
        }
        let is_over =
            self.rows.iter().all(RowReader::is_over) && (self.is_turn_over || self.wants.row.is_some());
        if is_over && !self.wants.follow
            || self.changes.is_none() && self.rows.iter().all(RowReader::is_stuck)
        {
            return Poll::Ready(Event::Over);
        }
        Poll::Pending
    }

    fn learn(&mut self, status: TopicStatus) {
        if self.status.supersedes(&status) {
            return;
        }
        self.status = status;
        let is_live = self.status.state.is_live();
        let is_mine = self.status.turn.is_none_or(|turn| turn == self.turn);
        if self.wants.follow && is_live {
            self.is_turn_over = false;
            if let Some(turn) = self.status.turn.filter(|_| !is_mine) {
                self.turn = turn;
                self.wants.cursors.clear();
                self.rows.retain(|row| !row.is_over());
            }
        } else {
            self.is_turn_over |= !is_mine || !is_live;
        }
        if self.status.turn == Some(self.turn) {
            self.add_rows();
        }
        self.rows.iter_mut().for_each(RowReader::retry);
    }
}

fn is_of(active: &ActiveAttempt, cursor: &Cursor) -> bool {
    active.attempt == cursor.attempt || active.earlier.contains(&cursor.attempt)
}

#[cfg(test)]
mod tests;
#[cfg(test)]
pub(crate) mod world;
