//! What to do after a failure: data in, data out.

use std::time::{Duration, Instant, SystemTime};

use ai_provider::{DelaySource, ErrorClass, GaveUp, ModelError};

use crate::backoff::{Backoff, Dice, hinted};
use crate::keys::{KeyFault, KeyRing};

/// The least time a call is given: a wait that leaves less is not worth it.
pub(crate) const LEAST_CALL: Duration = Duration::from_millis(500);

/// What is known when an attempt has failed.
#[derive(Debug)]
pub(crate) struct Failure<'a> {
    pub(crate) error: &'a ModelError,
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

/// Decides, and keeps in ring and effort what follows from it.
pub(crate) fn decide(
    failure: &Failure<'_>,
    ring: &mut KeyRing,
    effort: &mut Effort,
    backoff: &Backoff,
    dice: &mut Dice,
) -> Move {
    let error = failure.error;
    let hint = hinted(error.hint(), failure.calendar);
    match KeyFault::of(error.class()) {
        KeyFault::Gone => ring.drop_key(),
        KeyFault::Limited => {
            let again = ring.limited_again();
            let (wait, source) = match hint {
                Some(hint) => (hint, DelaySource::Hint),
                None => (backoff.wait(again, dice), DelaySource::Backoff),
            };
            ring.cool(failure.now, wait, source);
        }
        KeyFault::None => {
            return after_a_fault_of_the_server(failure, ring.at(), effort, backoff, dice, hint);
        }
    }
    next_key(failure, ring, effort, backoff.ceiling)
}

/// Where a call goes on whose key is of no use now.
pub(crate) fn next_key(
    failure: &Failure<'_>,
    ring: &KeyRing,
    effort: &mut Effort,
    ceiling: Duration,
) -> Move {
    let again = failure.error.retryable() && effort.left();
    if let Some(key) = ring.usable(failure.now).find(|key| again || !effort.has_tried(*key)) {
        effort.used += u32::from(effort.has_tried(key));
        return Move::Again { key, wait: None };
    }
    // With several keys all of them limited, another target answers sooner.
    let rather_elsewhere = failure.elsewhere && ring.len() > 1;
    let cooling = ring.first_to_cool().filter(|_| again && !rather_elsewhere);
    let Some(cooling) = cooling else { return leave(failure, GaveUp::Exhausted) };
    let delay = cooling.until.saturating_duration_since(failure.now);
    wait(failure, cooling.key, Wait { delay, source: cooling.source }, effort, ceiling)
}

fn after_a_fault_of_the_server(
    failure: &Failure<'_>,
    key: usize,
    effort: &mut Effort,
    backoff: &Backoff,
    dice: &mut Dice,
    hint: Option<Duration>,
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
    if !effort.left() || (failure.no_output && failure.elsewhere) {
        return leave(failure, GaveUp::Exhausted);
    }
    let next = match hint {
        Some(delay) => Wait { delay, source: DelaySource::Hint },
        None => Wait { delay: backoff.wait(effort.used + 1, dice), source: DelaySource::Backoff },
    };
    wait(failure, key, next, effort, backoff.ceiling)
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

fn leave(failure: &Failure<'_>, why: GaveUp) -> Move {
    if failure.elsewhere { Move::Elsewhere } else { Move::GiveUp(why) }
}
