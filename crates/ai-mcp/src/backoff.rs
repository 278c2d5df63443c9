//! When a lost server is started again.

use std::time::Duration;

/// The wait before the first new start.
const FIRST: Duration = Duration::from_millis(500);

/// How long a server that was given up rests before a call may have it started once more.
pub(crate) const REST: Duration = Duration::from_secs(30);

/// Failures in a row after which a server is given up: a quarter of a minute of trying, each wait twice the last.
const MOST: u32 = 6;

/// A connection that held so long was a good one: what happens then is a new story.
const STABLE: Duration = Duration::from_secs(60);

/// Counts failures in a row.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Backoff {
    failures: u32,
}

impl Backoff {
    /// A connection ended that held so long, or was never made. Gives the wait until the next start, or nothing if
    /// the server is given up.
    pub(crate) fn failed(&mut self, held: Option<Duration>) -> Option<Duration> {
        if held.is_some_and(|held| held >= STABLE) {
            self.failures = 0;
        }
        self.failures += 1;
        if self.failures >= MOST {
            // One more failure after the rest gives it up again.
            self.failures = MOST - 1;
            return None;
        }
        Some(FIRST.saturating_mul(1 << (self.failures - 1)))
    }
}

#[cfg(test)]
mod tests;
