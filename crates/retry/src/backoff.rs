//! How long to wait where the server does not say.

use std::time::{Duration, Instant, SystemTime};

use ai_provider::Hint;
use backon::{BackoffBuilder, ExponentialBuilder};

/// A series of waits that grow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Backoff {
    pub(crate) base: Duration,
    pub(crate) factor: f32,
    pub(crate) ceiling: Duration,
    pub(crate) jitter: bool,
}

impl Backoff {
    /// The wait before the `nth` retry, counted from 1: the base first.
    pub(crate) fn wait(&self, nth: u32, dice: &mut Dice) -> Duration {
        let series = ExponentialBuilder::default()
            .with_min_delay(self.base)
            .with_factor(self.factor)
            .with_max_delay(self.ceiling)
            .without_max_times()
            .build();
        // From some point on the series does not grow any more.
        const ENOUGH: usize = 512;
        let nth = usize::try_from(nth.saturating_sub(1)).unwrap_or(ENOUGH).min(ENOUGH);
        let wait = series.into_iter().nth(nth).unwrap_or(self.ceiling).min(self.ceiling);
        if self.jitter { dice.share_of(wait) } else { wait }
    }
}

/// Randomness with a seed (SplitMix64), so that a test can repeat it.
#[derive(Clone, Debug)]
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Full jitter: any share of it but none, since no wait at all would be a hot loop.
    fn share_of(&mut self, whole: Duration) -> Duration {
        let shares = u128::from(self.next() >> 11) + 1;
        // What nanoseconds cannot count in 64 bits (five centuries) is nothing anybody waits for.
        let whole = u64::try_from(whole.as_nanos()).unwrap_or(u64::MAX);
        let nanos = (u128::from(whole) * shares) >> 53;
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX)).max(Duration::from_millis(1))
    }
}

/// The wait a hint asks for; nothing where it asks for none.
pub(crate) fn hinted(hint: Option<Hint>, now: SystemTime) -> Option<Duration> {
    let wait = match hint? {
        Hint::After(wait) => wait,
        Hint::At(time) => time.duration_since(now).ok()?,
        _ => return None,
    };
    (!wait.is_zero()).then_some(wait)
}

/// The end of a wait. What lies beyond the clock's reach is as good as never.
pub(crate) fn end_of(wait: Duration, now: Instant) -> Instant {
    const FOR_GOOD: Duration = Duration::from_secs(30 * 365 * 86_400);
    now.checked_add(wait).unwrap_or(now + FOR_GOOD)
}
