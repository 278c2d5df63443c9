use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::Sleep;

use super::cursor::Cursor;
use super::item::{ReaderBody, ReaderItem};
use crate::port::{LogBody, LogReader, LogRecord, Read, StoreError};
use crate::record::{ActiveAttempt, AttemptId, RowId, TurnId};

/// How many records are taken from the log at once: the lock of a log is taken once for so many.
const BATCH: usize = 64;

/// Follows one row from attempt to attempt.
#[derive(Debug)]
pub(super) struct RowReader {
    pub(super) turn: TurnId,
    pub(super) row: RowId,
    model: Option<Arc<str>>,
    attempt: AttemptId,
    /// The attempts of the row that are known to come behind it.
    later: Vec<AttemptId>,
    state: State,
    patience: Duration,
    /// What was read and is not given out yet, the next one last.
    records: Vec<Arc<LogRecord>>,
}

#[derive(Debug)]
enum State {
    /// The log of the attempt is to be opened, behind this number.
    Opening(Option<u64>),
    /// It is not there yet.
    Waiting,
    Reading(Box<dyn LogReader>),
    /// Its writer is gone; so long one waits for somebody to end it.
    Abandoned(Box<dyn LogReader>, Pin<Box<Sleep>>),
    Over,
}

/// What happens in a row.
#[derive(Debug)]
pub(super) enum Step {
    Item(ReaderItem),
    /// The log of this attempt is to be opened behind this number.
    Open(AttemptId, Option<u64>),
    Failed(StoreError),
    Over,
}

impl RowReader {
    /// Begins where the row's stream begins, or behind a cursor; `None` if that is of no attempt of the row.
    pub(super) fn new(
        turn: TurnId,
        active: &ActiveAttempt,
        cursor: Option<Cursor>,
        snapshot: bool,
        patience: Duration,
    ) -> Option<Self> {
        let mut attempts: Vec<_> = active.earlier.iter().copied().chain([active.attempt]).collect();
        let (place, after) = match cursor {
            Some(cursor) => (attempts.iter().position(|id| *id == cursor.attempt)?, Some(cursor.seq)),
            None if snapshot => (attempts.len() - 1, Some(u64::MAX)),
            None => (0, None),
        };
        let later = attempts.split_off(place + 1);
        Some(Self {
            turn,
            row: active.row.clone(),
            model: active.model.as_deref().map(Arc::from),
            attempt: attempts.pop()?,
            later,
            state: State::Opening(after),
            patience,
            records: Vec::new(),
        })
    }

    pub(super) fn is_over(&self) -> bool {
        matches!(self.state, State::Over)
    }

    /// Whether nothing more comes of it by itself.
    pub(super) fn is_stuck(&self) -> bool {
        matches!(self.state, State::Over | State::Waiting)
    }

    /// A later attempt goes on in a row that had ended: what it waited for has been answered.
    pub(super) fn resume(&mut self, active: &ActiveAttempt) {
        if self.is_over() && active.attempt > self.attempt {
            let attempts = active.earlier.iter().copied().chain([active.attempt]);
            self.later = attempts.filter(|attempt| *attempt > self.attempt).collect();
            self.next_attempt(None);
        }
    }

    /// The log is open.
    pub(super) fn opened(&mut self, reader: Box<dyn LogReader>) {
        self.state = State::Reading(reader);
    }

    /// The log is not there. It may still come, if the attempt has only been planned.
    pub(super) fn missing(&mut self, may_come: bool) -> Option<ReaderItem> {
        if let Some(last) = self.later.pop() {
            // The last attempt's log holds what those before it wrote.
            self.attempt = last;
            self.later.clear();
            self.state = State::Opening(Some(u64::MAX));
            None
        } else if may_come {
            self.state = State::Waiting;
            None
        } else {
            self.state = State::Over;
            Some(self.item(0, 0, ReaderBody::Lost))
        }
    }

    /// Looks for the log again.
    pub(super) fn retry(&mut self) {
        if matches!(self.state, State::Waiting) {
            self.state = State::Opening(None);
        }
    }

    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Step> {
        loop {
            if let Some(record) = self.records.pop() {
                return Poll::Ready(Step::Item(self.record(record)));
            }
            let (reader, sleep) = match &mut self.state {
                State::Opening(after) => return Poll::Ready(Step::Open(self.attempt, *after)),
                State::Waiting => return Poll::Pending,
                State::Over => return Poll::Ready(Step::Over),
                State::Reading(reader) => (reader, None),
                State::Abandoned(reader, sleep) => (reader, Some(sleep)),
            };
            match reader.poll_read(cx, BATCH, &mut self.records) {
                Poll::Ready(Ok(Read::Records)) => self.records.reverse(),
                Poll::Ready(Ok(Read::Rebase(snapshot))) => {
                    let through = snapshot.through;
                    return Poll::Ready(Step::Item(self.item(
                        through,
                        through,
                        ReaderBody::Rebase(snapshot),
                    )));
                }
                Poll::Ready(Ok(Read::End)) => self.next_attempt(None),
                Poll::Ready(Ok(Read::Abandoned)) => {
                    if let State::Reading(reader) = std::mem::replace(&mut self.state, State::Over) {
                        self.state = State::Abandoned(reader, Box::pin(tokio::time::sleep(self.patience)));
                    }
                }
                Poll::Ready(Err(error)) => return Poll::Ready(Step::Failed(error)),
                Poll::Pending => {
                    if sleep.is_none_or(|sleep| sleep.as_mut().poll(cx).is_pending()) {
                        return Poll::Pending;
                    }
                    self.state = State::Over;
                    return Poll::Ready(Step::Item(self.item(0, 0, ReaderBody::Lost)));
                }
            }
        }
    }

    fn record(&mut self, record: Arc<LogRecord>) -> ReaderItem {
        let item = self.item(record.seq, record.seq, ReaderBody::Record(Arc::clone(&record)));
        if let LogBody::Terminal(terminal) = &record.body {
            match terminal.continues {
                Some(_) => self.next_attempt(terminal.continues),
                None => self.state = State::Over,
            }
        }
        item
    }

    /// Goes on with the attempt that continues this one, if one does.
    fn next_attempt(&mut self, continues: Option<AttemptId>) {
        let next = continues.or_else(|| self.later.first().copied());
        self.later.retain(|later| Some(*later) > next);
        self.state = match next {
            Some(next) => {
                self.attempt = next;
                State::Opening(None)
            }
            None => State::Over,
        };
    }

    fn item(&self, first: u64, last: u64, body: ReaderBody) -> ReaderItem {
        ReaderItem {
            turn: self.turn,
            row: self.row.clone(),
            model: self.model.clone(),
            attempt: self.attempt,
            first,
            last,
            body,
        }
    }
}
