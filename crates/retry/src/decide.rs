//! What to do after a failure: data in, data out.

use std::time::{Duration, Instant, SystemTime};

use ai_provider::{DelaySource, ErrorClass, GaveUp, ModelError, RetryError};

use crate::backoff::{Backoff, Dice, hinted};
use crate::keys::{KeyFault, KeyRing};

/// The least time a call is given: a wait that leaves less is not worth it.
pub(crate) const LEAST_CALL: Duration = Duration::from_millis(500);

/// What is known when an attempt has failed.
#[derive(Debug)]
pub(crate) struct Failure<'a> {
    pub(crate) error: &'a ModelError,
    /// The key it happened with.
    pub(crate) key: usize,
    /// It was this layer that stopped waiting for output.
    pub(crate) no_output: bool,
    pub(crate) now: Instant,
    pub(crate) calendar: SystemTime,
    /// What is left of the time for the call.
    pub(crate) remaining: Option<Duration>,
    /// Whether there is another target, and the policy goes there after such a failure.
    pub(crate) elsewhere: bool,
}

/// What one call has done at its present target.
#[derive(Clone, Debug)]
pub(crate) struct Effort {
    /// How often it may be tried again.
    pub(crate) retries: u32,
    /// How often it was.
    pub(crate) used: u32,
    /// Keys that were tried, each by its index.
    pub(crate) tried: Vec<bool>,
}

impl Effort {
    pub(crate) fn new(retries: u32, keys: usize) -> Self {
        Self { retries, used: 0, tried: vec![false; keys] }
    }

    pub(crate) fn tries(&mut self, key: usize) {
        if let Some(tried) = self.tried.get_mut(key) {
            *tried = true;
        }
    }

    fn has_tried(&self, key: usize) -> bool {
        self.tried.get(key).copied().unwrap_or(false)
    }

    fn left(&self) -> bool {
        self.used < self.retries
    }
}

/// What comes next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Move {
    /// The same target with this key, after a wait.
    Again { key: usize, wait: Option<Wait> },
    /// The next target.
    Elsewhere,
    /// Nothing.
    GiveUp(GaveUp),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wait {
    pub(crate) delay: Duration,
    pub(crate) source: DelaySource,
}

/// What the failure says of its key, and keeps it in the ring.
pub(crate) fn blame(
    (error, key): (&ModelError, usize),
    (now, calendar): (Instant, SystemTime),
    ring: &mut KeyRing,
    backoff: &Backoff,
    dice: &mut Dice,
) -> KeyFault {
    let fault = KeyFault::of(error.class());
    match fault {
        KeyFault::Gone => ring.drop_key(key),
        KeyFault::Limited => {
            let again = ring.limited_again(key);
            let (wait, source) = match hinted(error.hint(), calendar) {
                Some(hint) => (hint, DelaySource::Hint),
                None => (backoff.wait(again, dice), DelaySource::Backoff),
            };
            ring.cool(key, now, wait, source);
        }
        KeyFault::None => {}
    }
    fault
}

/// Decides, and keeps in ring and effort what follows from it.
pub(crate) fn decide(
    failure: &Failure<'_>,
    ring: &mut KeyRing,
    effort: &mut Effort,
    backoff: &Backoff,
    dice: &mut Dice,
    wanting: &dyn Fn(usize) -> bool,
) -> Move {
    let clocks = (failure.now, failure.calendar);
    if blame((failure.error, failure.key), clocks, ring, backoff, dice) == KeyFault::None {
        return after_a_fault_of_the_server(failure, ring, effort, backoff, dice);
    }
    next_key(failure, ring, effort, backoff.ceiling, wanting)
}

/// Where a call goes on whose key is of no use now; `wanting` says which keys other calls would leave alone.
pub(crate) fn next_key(
    failure: &Failure<'_>,
    ring: &KeyRing,
    effort: &mut Effort,
    ceiling: Duration,
    wanting: &dyn Fn(usize) -> bool,
) -> Move {
    // What is not to be tried again of a refused key is that key: it is out anyway.
    let retryable = failure.error.retryable() || KeyFault::of(failure.error.class()) == KeyFault::Gone;
    let again = retryable && effort.left() && !retried_beneath(failure.error);
    let may_use = |key: &usize| again || !effort.has_tried(*key);
    let usable = || ring.usable(failure.now).filter(may_use);
    if let Some(key) = usable().find(|key| !wanting(*key)).or_else(|| usable().next()) {
        effort.used += u32::from(effort.has_tried(key));
        return Move::Again { key, wait: None };
    }
    // With several keys all of them limited, another target answers sooner.
    let rather_elsewhere = failure.elsewhere && ring.len() > 1;
    let Some(cooling) = ring.first_to_cool() else { return leave(failure, GaveUp::Exhausted) };
    let delay = cooling.until.saturating_duration_since(failure.now);
    if !again || rather_elsewhere {
        let hint = (cooling.source == DelaySource::Hint).then_some(delay);
        return leave(failure, spent(hint, ceiling));
    }
    wait(failure, cooling.key, Wait { delay, source: cooling.source }, effort, ceiling)
}

/// Whether another retry layer beneath this one has tried again already: one layer retries, not both.
fn retried_beneath(error: &ModelError) -> bool {
    RetryError::of(error).is_some()
}

fn after_a_fault_of_the_server(
    failure: &Failure<'_>,
    ring: &KeyRing,
    effort: &mut Effort,
    backoff: &Backoff,
    dice: &mut Dice,
) -> Move {
    // Such a failure comes again however often the request is sent, whatever the adapter says.
    let hopeless = matches!(
        failure.error.class(),
        ErrorClass::InvalidRequest
            | ErrorClass::ContentRefused
            | ErrorClass::ContextTooLong
            | ErrorClass::Unsupported
            | ErrorClass::Cancelled
    );
    if hopeless || !failure.error.retryable() {
        return leave(failure, GaveUp::Hopeless);
    }
    let hint = hinted(failure.error.hint(), failure.calendar);
    let no_more = !effort.left() || retried_beneath(failure.error);
    if no_more || (failure.no_output && failure.elsewhere) {
        return leave(failure, spent(hint, backoff.ceiling));
    }
    let next = match hint {
        Some(delay) => Wait { delay, source: DelaySource::Hint },
        None => Wait { delay: backoff.wait(effort.used + 1, dice), source: DelaySource::Backoff },
    };
    // Of calls at once another may have found this key refused.
    let mut usable = ring.usable(failure.now);
    let key = if ring.is_usable(failure.key, failure.now) { Some(failure.key) } else { usable.next() };
    wait(failure, key.unwrap_or(failure.key), next, effort, backoff.ceiling)
}

/// Waits, unless the wait is too long for the policy or for the time that is left.
fn wait(failure: &Failure<'_>, key: usize, wait: Wait, effort: &mut Effort, ceiling: Duration) -> Move {
    if wait.source == DelaySource::Hint && wait.delay > ceiling {
        return leave(failure, GaveUp::WaitTooLong { wait: wait.delay });
    }
    if let Some(remaining) = failure.remaining
        && wait.delay.saturating_add(LEAST_CALL) > remaining
    {
        let why = match wait.source {
            DelaySource::Hint => GaveUp::WaitTooLong { wait: wait.delay },
            _ => GaveUp::OutOfTime { remaining },
        };
        return leave(failure, why);
    }
    effort.used += 1;
    Move::Again { key, wait: Some(wait) }
}

/// Why nothing more is tried where all tries are spent: also then it is said until when a server wants to be left alone.
fn spent(hint: Option<Duration>, ceiling: Duration) -> GaveUp {
    match hint.filter(|hint| *hint > ceiling) {
        Some(wait) => GaveUp::WaitTooLong { wait },
        None => GaveUp::Exhausted,
    }
}

fn leave(failure: &Failure<'_>, why: GaveUp) -> Move {
    if failure.elsewhere { Move::Elsewhere } else { Move::GiveUp(why) }
}
