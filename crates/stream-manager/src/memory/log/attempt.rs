use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};

use agent_loop::UiMessage;

use super::super::lock;
use super::Limits;
use super::wakers::Wakers;
use super::window::Window;
use crate::fold::Fold;
use crate::port::{LogBody, LogRecord, Read, Snapshot};
use crate::record::{RowId, Terminal};

/// The log of one attempt.
#[derive(Debug)]
pub(super) struct AttemptLog {
    row: RowId,
    state: Mutex<State>,
}

#[derive(Debug)]
pub(super) struct State {
    pub(super) window: Window,
    pub(super) fold: Fold,
    pub(super) terminal: Option<Terminal>,
    pub(super) wakers: Wakers,
    /// Whether its writer is there and may write.
    pub(super) is_written: bool,
    /// Whether it can still be found, and sealed.
    is_known: bool,
}

/// Where a reader is.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) waker: usize,
    pub(super) after: u64,
    /// Whether it was told that the writer is gone.
    told: bool,
}

impl AttemptLog {
    pub(super) fn new(limits: Limits, seed: UiMessage) -> Self {
        Self {
            row: RowId::from(seed.id.as_str()),
            state: Mutex::new(State {
                window: Window::new(limits),
                fold: Fold::new(seed),
                terminal: None,
                wakers: Wakers::default(),
                is_written: true,
                is_known: true,
            }),
        }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// Its writer is gone, or may not write any more.
    pub(super) fn fence(&self) {
        self.change(|state, _| state.is_written = false);
    }

    /// Ends it in the place of its writer, if it has no end.
    pub(super) fn seal_orphan(&self, terminal: Terminal) {
        self.change(|state, wake| {
            state.is_written = false;
            if state.terminal.is_none() {
                state.add(LogBody::Terminal(terminal), wake);
            }
        });
    }

    /// Nobody will find it any more.
    pub(super) fn forget(&self) {
        self.change(|state, _| state.is_known = false);
    }

    fn change(&self, change: impl FnOnce(&mut State, &mut Vec<Waker>)) {
        let mut wake = Vec::new();
        let mut state = self.lock();
        change(&mut state, &mut wake);
        state.wakers.take(&mut wake);
        drop(state);
        wake.drain(..).for_each(Waker::wake);
    }

    pub(super) fn join(&self, after: u64) -> Place {
        Place { waker: self.lock().wakers.join(), after, told: false }
    }

    pub(super) fn read(
        &self,
        place: &mut Place,
        cx: &mut Context<'_>,
        most: usize,
        out: &mut Vec<Arc<LogRecord>>,
    ) -> Poll<Read> {
        let mut state = self.lock();
        let length = out.len();
        let records = state.window.behind(place.after, most.max(1));
        if records.map(|records| out.extend(records.cloned())).is_none() {
            return Poll::Ready(Read::Rebase(Box::new(self.snapshot(&mut state, place))));
        }
        if out.len() > length {
            place.after = out.last().map_or(place.after, |record| record.seq);
            return Poll::Ready(Read::Records);
        }
        if state.terminal.is_some() {
            return Poll::Ready(Read::End);
        }
        if !state.is_written {
            if !std::mem::replace(&mut place.told, true) {
                return Poll::Ready(Read::Abandoned);
            }
            if !state.is_known {
                return Poll::Ready(Read::End);
            }
        }
        state.wakers.wait(place.waker, cx.waker());
        Poll::Pending
    }

    fn snapshot(&self, state: &mut State, place: &mut Place) -> Snapshot {
        // The last record is no part of the message: it is read by itself.
        place.after = state.window.last() - u64::from(state.terminal.is_some());
        Snapshot::new(self.row.clone(), place.after, state.fold.chunks())
    }
}

impl State {
    pub(super) fn add(&mut self, body: LogBody, wake: &mut Vec<Waker>) {
        match &body {
            LogBody::Chunk(chunk) => self.fold.push(chunk),
            LogBody::Terminal(terminal) => self.terminal = Some(terminal.clone()),
        }
        self.window.push(body);
        self.wakers.take(wake);
    }
}
