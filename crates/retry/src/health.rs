use std::collections::HashMap;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use ai_provider::{ErrorClass, KeyLabel, TargetId};

/// What is known of endpoints and their keys, shared between runs: a circuit breaker for each.
///
/// A key that was refused, is used up or limited is closed to other runs too; so is one whose endpoint failed several
/// times in a row. When the time is over, one call may probe it: if that is answered it is open to all again, else it
/// is closed for twice as long. The last target a call has is tried all the same.
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
    /// Until when somebody is finding out.
    probed_until: Option<Instant>,
}

/// How long a probe may take before another call probes too: its caller may be gone.
const PROBE: Duration = Duration::from_secs(60);

/// More endpoints with keys than any program has; beyond it the board forgets those that are well.
const MOST_ENTRIES: usize = 4096;

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
    pub(crate) fn admits(&self, target: &TargetId, key: Option<&KeyLabel>, now: Instant) -> bool {
        let mut entries = self.entries();
        let Some(entry) = entries.get_mut(&Place::of(target, key)) else { return true };
        match entry.until {
            None => true,
            Some(until) if now < until => false,
            Some(_) if entry.probed_until.is_some_and(|probed| now < probed) => false,
            Some(_) => {
                entry.probed_until = now.checked_add(PROBE);
                true
            }
        }
    }

    pub(crate) fn answered(&self, target: &TargetId, key: Option<&KeyLabel>) {
        self.entries().remove(&Place::of(target, key));
    }

    /// A call failed; `hint` is the wait the server asked for.
    pub(crate) fn failed(
        &self,
        target: &TargetId,
        key: Option<&KeyLabel>,
        class: ErrorClass,
        hint: Option<Duration>,
        now: Instant,
    ) {
        let at_once = matches!(class, ErrorClass::Auth | ErrorClass::Quota | ErrorClass::RateLimit);
        let counts = at_once
            || matches!(
                class,
                ErrorClass::Overloaded | ErrorClass::Server | ErrorClass::Transport | ErrorClass::Timeout
            );
        if !counts {
            // It may have been the probe: it says nothing, so the next may find out.
            if let Some(entry) = self.entries().get_mut(&Place::of(target, key)) {
                entry.probed_until = None;
            }
            return;
        }
        let mut entries = self.entries();
        if entries.len() >= MOST_ENTRIES {
            entries.retain(|_, entry| entry.until.is_some_and(|until| now < until));
        }
        let entry = entries.entry(Place::of(target, key)).or_default();
        entry.failures = entry.failures.saturating_add(1);
        let was_probe = entry.probed_until.take().is_some();
        if at_once || was_probe || entry.failures >= self.threshold {
            let doubled = 1_u32.checked_shl(entry.closed.min(16)).unwrap_or(u32::MAX);
            let own = self.cooldown.saturating_mul(doubled).min(self.most);
            let wait = own.max(hint.unwrap_or_default());
            entry.closed = entry.closed.saturating_add(1);
            entry.until = now.checked_add(wait).or(entry.until);
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
