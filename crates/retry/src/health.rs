use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use ai_provider::{ErrorClass, KeyLabel, TargetId};

use crate::backoff::end_of;

/// What is known of endpoints and their keys, shared between runs: a circuit breaker for each.
///
/// A key that was refused, is used up or limited is closed to other runs too; so is one whose endpoint failed several
/// times in a row. When the time is over, one call may probe it: if that is answered it is open to all again, else it
/// is closed for twice as long; a probe that is cancelled leaves it to the next. Failures of calls that were under way
/// when it was closed change nothing. The last target a call has is tried all the same.
///
/// Keys are told apart by endpoint and label: where several policies share a board, give keys that differ labels that
/// differ.
///
/// ```
/// use std::sync::Arc;
/// use retry::{HealthBoard, RetryPolicy};
/// let board = Arc::new(HealthBoard::new().with_threshold(5));
/// let one = RetryPolicy::new().with_health_board(Arc::clone(&board));
/// let other = RetryPolicy::new().with_health_board(board);
/// # let _ = (one, other);
/// ```
pub struct HealthBoard {
    threshold: u32,
    cooldown: Duration,
    most: Duration,
    entries: Mutex<HashMap<Place, Entry>>,
}

/// An endpoint with one of its keys.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Place {
    endpoint: String,
    key: Option<KeyLabel>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    failures: u32,
    /// How often in a row it was closed.
    closed: u32,
    until: Option<Instant>,
    /// When it was closed last.
    closed_at: Option<Instant>,
    /// Until when somebody is finding out.
    probed_until: Option<Instant>,
}

/// How long a probe may take before another call probes too: its caller may be gone.
const PROBE: Duration = Duration::from_secs(60);

/// More endpoints with keys than any program has; beyond it the board forgets those that are well, and learns of no
/// others while none is.
const MOST_ENTRIES: usize = 4096;

/// Whether a call may use a key of an endpoint.
pub(crate) enum Admission {
    Closed,
    Open,
    /// It may, to find out.
    Probe(Probe),
}

/// The right to find out whether an endpoint is well again; dropped without an outcome it goes to the next call.
pub(crate) struct Probe {
    board: Arc<HealthBoard>,
    place: Place,
    until: Instant,
}

impl Drop for Probe {
    fn drop(&mut self) {
        if let Some(entry) = self.board.entries().get_mut(&self.place)
            && entry.probed_until == Some(self.until)
        {
            entry.probed_until = None;
        }
    }
}

impl HealthBoard {
    /// Closes an endpoint after 3 failures in a row, for 30 s at first and 10 minutes at most.
    pub fn new() -> Self {
        Self {
            threshold: 3,
            cooldown: Duration::from_secs(30),
            most: Duration::from_secs(600),
            entries: Mutex::default(),
        }
    }

    /// Sets after how many failures in a row an endpoint is closed; at least 1. Failures that are the key's alone
    /// close it at once.
    #[must_use]
    pub fn with_threshold(mut self, failures: u32) -> Self {
        self.threshold = failures.max(1);
        self
    }

    /// Sets for how long it is closed at first, where the server does not say longer.
    #[must_use]
    pub fn with_cooldown(mut self, cooldown: Duration) -> Self {
        self.cooldown = cooldown;
        self
    }

    /// Sets for how long it is closed at most, where the server does not say longer.
    #[must_use]
    pub fn with_longest_cooldown(mut self, most: Duration) -> Self {
        self.most = most;
        self
    }

    fn entries(&self) -> MutexGuard<'_, HashMap<Place, Entry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a call may use it now. Of those that ask when its time is over, one may: that call is the probe.
    pub(crate) fn admits(
        self: &Arc<Self>,
        target: &TargetId,
        key: Option<&KeyLabel>,
        now: Instant,
    ) -> Admission {
        let place = Place::of(target, key);
        let mut entries = self.entries();
        let Some(entry) = entries.get_mut(&place) else { return Admission::Open };
        match entry.until {
            None => Admission::Open,
            Some(until) if now < until => Admission::Closed,
            Some(_) if entry.probed_until.is_some_and(|probed| now < probed) => Admission::Closed,
            Some(_) => {
                let until = now + PROBE;
                entry.probed_until = Some(until);
                Admission::Probe(Probe { board: Arc::clone(self), place, until })
            }
        }
    }

    /// Whether other calls have found it wanting, and its time is not over.
    pub(crate) fn is_closed(&self, target: &TargetId, key: Option<&KeyLabel>, now: Instant) -> bool {
        let entries = self.entries();
        entries.get(&Place::of(target, key)).and_then(|entry| entry.until).is_some_and(|until| now < until)
    }

    /// A call that began at this time was answered.
    pub(crate) fn answered(&self, target: &TargetId, key: Option<&KeyLabel>, began: Instant) {
        let (place, mut entries) = (Place::of(target, key), self.entries());
        // An answer to a call from before says nothing of what closed it since.
        let closed_since =
            entries.get(&place).and_then(|entry| entry.closed_at).is_some_and(|closed| began < closed);
        if !closed_since {
            entries.remove(&place);
        }
    }

    /// A call that began at this time failed; `hint` is the wait the server asked for.
    pub(crate) fn failed(
        &self,
        target: &TargetId,
        key: Option<&KeyLabel>,
        class: ErrorClass,
        hint: Option<Duration>,
        (began, now): (Instant, Instant),
    ) {
        let at_once = matches!(class, ErrorClass::Auth | ErrorClass::Quota | ErrorClass::RateLimit);
        let counts = at_once
            || matches!(
                class,
                ErrorClass::Overloaded | ErrorClass::Server | ErrorClass::Transport | ErrorClass::Timeout
            );
        if !counts {
            return;
        }
        let (place, mut entries) = (Place::of(target, key), self.entries());
        if entries.len() >= MOST_ENTRIES && !entries.contains_key(&place) {
            entries.retain(|_, entry| entry.until.is_some_and(|until| now < until));
            if entries.len() >= MOST_ENTRIES {
                return;
            }
        }
        let entry = entries.entry(place).or_default();
        // A call that was under way when it was closed tells nothing new, unless the server asks for more patience.
        if entry.until.is_some_and(|until| began < until) {
            entry.until = entry.until.max(hint.map(|hint| end_of(hint, now)));
            return;
        }
        entry.failures = entry.failures.saturating_add(1);
        if at_once || entry.closed > 0 || entry.failures >= self.threshold {
            let doubled = 1_u32.checked_shl(entry.closed.min(16)).unwrap_or(u32::MAX);
            let own = self.cooldown.saturating_mul(doubled).min(self.most);
            entry.closed = entry.closed.saturating_add(1);
            entry.until = Some(end_of(own.max(hint.unwrap_or_default()), now));
            entry.closed_at = Some(now);
            entry.probed_until = None;
        }
    }
}

impl Place {
    fn of(target: &TargetId, key: Option<&KeyLabel>) -> Self {
        Self { endpoint: target.endpoint.clone(), key: key.cloned() }
    }
}

impl Default for HealthBoard {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for HealthBoard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HealthBoard").field("known", &self.entries().len()).finish_non_exhaustive()
    }
}
