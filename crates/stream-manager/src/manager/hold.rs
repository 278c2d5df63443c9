use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::registry::Registry;
use crate::actor::Mail;

/// How many holds there are.
#[derive(Debug, Default)]
pub(super) struct Holds(AtomicUsize);

/// Keeps turns from beginning, until it is dropped.
#[derive(Debug)]
#[must_use = "turns begin again once it is dropped"]
pub struct Hold {
    holds: Arc<Holds>,
    registry: Arc<Registry>,
}

impl Holds {
    pub(super) fn is_paused(&self) -> bool {
        self.0.load(Ordering::SeqCst) > 0
    }

    pub(super) fn hold(holds: &Arc<Self>, registry: &Arc<Registry>) -> Hold {
        if holds.0.fetch_add(1, Ordering::SeqCst) == 0 {
            registry.tell_later(|| Mail::Pause);
        }
        Hold { holds: Arc::clone(holds), registry: Arc::clone(registry) }
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        if self.holds.0.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.registry.tell_later(|| Mail::Resume);
        }
    }
}
