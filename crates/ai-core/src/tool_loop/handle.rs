use std::collections::HashMap;
use std::error::Error;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

use ai_provider::{CancellationToken, Id};

/// Reaches into a run from any task.
#[derive(Clone, Debug)]
pub struct RunHandle {
    cancel: CancellationToken,
    decisions: Arc<Decisions>,
}

/// A person's decision about a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// Yes or no.
    pub approved: bool,
    /// Why.
    pub reason: Option<String>,
}

impl Decision {
    /// Yes.
    pub fn approve() -> Self {
        Self { approved: true, reason: None }
    }

    /// No, and why.
    pub fn deny(reason: impl Into<String>) -> Self {
        Self { approved: false, reason: Some(reason.into()) }
    }
}

/// Why a decision was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DecideError {
    /// No such call waits, or ever waited, in this run.
    Unknown,
    /// It was decided otherwise before.
    AlreadyDecided,
    /// The run is over, or has ended to wait in its stored form: feed the decision to that.
    Closed,
}

impl fmt::Display for DecideError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unknown => "no such call waits for approval",
            Self::AlreadyDecided => "the call was decided otherwise before",
            Self::Closed => "the run is over",
        })
    }
}

impl Error for DecideError {}

impl RunHandle {
    pub(super) fn new(cancel: CancellationToken) -> (Self, Arc<Decisions>) {
        let decisions = Arc::new(Decisions::default());
        (Self { cancel, decisions: Arc::clone(&decisions) }, decisions)
    }

    /// Cancels the run: it ends cleanly, with what it has.
    pub fn cancel(&self) {
        self.cancel.cancel();
    }

    /// Decides about a call that waits. The same decision again is fine.
    ///
    /// # Errors
    /// See [`DecideError`].
    pub fn decide(&self, call_id: &Id, decision: Decision) -> Result<(), DecideError> {
        self.decisions.decide(call_id, decision)
    }
}

/// Decisions on their way from a handle to the run.
#[derive(Debug, Default)]
pub(super) struct Decisions(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    asked: HashMap<Id, Option<Decision>>,
    fresh: Vec<(Id, Decision)>,
    waker: Option<Waker>,
    closed: bool,
}

impl Decisions {
    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A question is asked. An earlier one about a call of the same id is over.
    pub(super) fn ask(&self, call_id: Id) {
        self.state().asked.insert(call_id, None);
    }

    /// A question stands that was asked before: by this run, or before it was stored.
    pub(super) fn expect(&self, call_id: Id) {
        self.state().asked.entry(call_id).or_default();
    }

    /// A decision that has come already.
    pub(super) fn take(&self) -> Option<(Id, Decision)> {
        let mut state = self.state();
        (!state.fresh.is_empty()).then(|| state.fresh.remove(0))
    }

    /// A decision that has come already; without one, none is taken any more. In one look, so that no decision is
    /// accepted in between and then lost.
    pub(super) fn take_or_close(&self) -> Option<(Id, Decision)> {
        let mut state = self.state();
        state.closed = state.fresh.is_empty();
        (!state.closed).then(|| state.fresh.remove(0))
    }

    pub(super) fn close(&self) {
        self.state().closed = true;
    }

    pub(super) fn poll(&self, cx: &mut Context<'_>) -> Poll<(Id, Decision)> {
        if let Some(decision) = self.take() {
            return Poll::Ready(decision);
        }
        let mut state = self.state();
        state.waker = Some(cx.waker().clone());
        // One may have come between the two looks.
        if state.fresh.is_empty() { Poll::Pending } else { Poll::Ready(state.fresh.remove(0)) }
    }

    fn decide(&self, call_id: &Id, decision: Decision) -> Result<(), DecideError> {
        let mut state = self.state();
        let closed = state.closed;
        match state.asked.get_mut(call_id) {
            Some(Some(earlier)) if *earlier == decision => return Ok(()),
            Some(Some(_)) => return Err(DecideError::AlreadyDecided),
            _ if closed => return Err(DecideError::Closed),
            None => return Err(DecideError::Unknown),
            Some(open) => *open = Some(decision.clone()),
        }
        state.fresh.push((call_id.clone(), decision));
        let waker = state.waker.take();
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
