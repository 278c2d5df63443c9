//! The keys of one target during one run.

use std::time::{Duration, Instant};

use ai_provider::{DelaySource, ErrorClass};

use crate::backoff::end_of;

/// Which keys may be used, and which one is. An endpoint without keys has one that has no name.
#[derive(Clone, Debug)]
pub(crate) struct KeyRing {
    keys: Vec<Key>,
    at: usize,
}

#[derive(Clone, Copy, Debug, Default)]
struct Key {
    state: State,
    /// How often in a row it was limited.
    limited: u32,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Usable,
    Cooling {
        until: Instant,
        source: DelaySource,
    },
    /// Refused or used up: not in this run any more.
    Out,
}

/// A key that cools down, and when it can be used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cooling {
    pub(crate) key: usize,
    pub(crate) until: Instant,
    pub(crate) source: DelaySource,
}

impl KeyRing {
    /// A ring of as many keys, at this one.
    pub(crate) fn new(count: usize, start: usize) -> Self {
        let count = count.max(1);
        Self { keys: vec![Key::default(); count], at: start % count }
    }

    pub(crate) fn len(&self) -> usize {
        self.keys.len()
    }

    pub(crate) fn at(&self) -> usize {
        self.at
    }

    pub(crate) fn use_key(&mut self, key: usize) {
        self.at = key;
    }

    /// How often in a row this key has been limited, this time included.
    pub(crate) fn limited_again(&mut self, key: usize) -> u32 {
        self.change(key, |key| {
            key.limited = key.limited.saturating_add(1);
            key.limited
        })
    }

    /// This key is limited for this long.
    pub(crate) fn cool(&mut self, key: usize, now: Instant, wait: Duration, source: DelaySource) {
        let state = State::Cooling { until: end_of(wait, now), source };
        // Of calls at once one may have found it refused already.
        self.change(key, |key| key.state = if key.state == State::Out { State::Out } else { state });
    }

    /// This key is refused or used up.
    pub(crate) fn drop_key(&mut self, key: usize) {
        self.change(key, |key| key.state = State::Out);
    }

    /// This key has answered; whether it can still be used, since other calls may have found it limited meanwhile.
    pub(crate) fn worked(&mut self, key: usize, now: Instant) -> bool {
        let usable = self.is_usable(key, now);
        if usable {
            self.at = key;
            self.change(key, |key| *key = Key::default());
        }
        usable
    }

    fn change<T: Default>(&mut self, key: usize, change: impl FnOnce(&mut Key) -> T) -> T {
        self.keys.get_mut(key).map(change).unwrap_or_default()
    }

    /// The keys from one on, once around.
    fn around(&self, from: usize) -> impl Iterator<Item = usize> + use<> {
        let count = self.keys.len();
        (0..count).map(move |nth| (from + nth) % count)
    }

    pub(crate) fn is_usable(&self, key: usize, now: Instant) -> bool {
        self.keys.get(key).is_some_and(|key| match key.state {
            State::Usable => true,
            State::Cooling { until, .. } => until <= now,
            State::Out => false,
        })
    }

    /// The keys that can be used now, the one in use first.
    pub(crate) fn usable(&self, now: Instant) -> impl Iterator<Item = usize> + '_ {
        self.around(self.at).filter(move |key| self.is_usable(*key, now))
    }

    /// The key that can be used first, of those that cool down; of several the next one.
    pub(crate) fn first_to_cool(&self) -> Option<Cooling> {
        let cooling = self.around(self.at + 1).filter_map(|key| match self.keys.get(key)?.state {
            State::Cooling { until, source } => Some(Cooling { key, until, source }),
            _ => None,
        });
        cooling.min_by_key(|cooling| cooling.until)
    }
}

/// What a failure says about the key it happened with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyFault {
    /// Refused or used up.
    Gone,
    /// Limited for now.
    Limited,
    /// Nothing.
    None,
}

impl KeyFault {
    pub(crate) fn of(class: ErrorClass) -> Self {
        match class {
            ErrorClass::Auth | ErrorClass::Quota => Self::Gone,
            ErrorClass::RateLimit => Self::Limited,
            _ => Self::None,
        }
    }
}
