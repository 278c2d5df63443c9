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
    /// The run is over.
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

    pub(super) fn ask(&self, call_id: Id) {
        self.state().asked.entry(call_id).or_default();
    }

    pub(super) fn close(&self) {
        self.state().closed = true;
    }

    pub(super) fn poll(&self, cx: &mut Context<'_>) -> Poll<(Id, Decision)> {
        let mut state = self.state();
        if let Some(decision) = state.fresh.pop() {
            return Poll::Ready(decision);
        }
        state.waker = Some(cx.waker().clone());
        Poll::Pending
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
