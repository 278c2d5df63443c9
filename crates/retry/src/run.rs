//! What lasts for one run.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ai_provider::{LanguageModel, ModelError};
use futures_util::future::{FutureExt, Shared, WeakShared};

use crate::fallback::Resolving;
use crate::keys::KeyRing;

/// The targets of a run: where it is, and what is known of each.
pub(crate) struct RunState(Mutex<Targets>);

pub(crate) struct Targets {
    /// The target that serves the run; later calls begin there.
    pub(crate) current: usize,
    /// By position, the primary first; absent until it was needed.
    known: Vec<Option<Target>>,
    /// By position: what some call is making.
    making: Vec<Option<WeakShared<Resolving>>>,
}

/// A target that has been resolved.
pub(crate) struct Target {
    pub(crate) model: Arc<dyn LanguageModel>,
    pub(crate) ring: KeyRing,
    /// The key its first request went out with.
    pub(crate) first_key: usize,
    /// Why its keys are of no use.
    pub(crate) last_error: Option<ModelError>,
}

impl Target {
    pub(crate) fn new(model: Arc<dyn LanguageModel>, first_key: usize) -> Self {
        let ring = KeyRing::new(model.keys().len(), first_key);
        let first_key = ring.at();
        Self { model, ring, first_key, last_error: None }
    }
}

impl RunState {
    pub(crate) fn new(count: usize, primary: Target) -> Self {
        let mut known: Vec<_> = std::iter::repeat_with(|| None).take(count).collect();
        if let Some(first) = known.first_mut() {
            *first = Some(primary);
        }
        let making = known.iter().map(|_| None).collect();
        Self(Mutex::new(Targets { current: 0, known, making }))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Targets> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Targets {
    pub(crate) fn get(&mut self, at: usize) -> Option<&mut Target> {
        self.known.get_mut(at)?.as_mut()
    }

    /// The making of a target: of calls at once in a run all await the same, and any of them drives it.
    pub(crate) fn making(&mut self, at: usize, make: impl FnOnce() -> Resolving) -> Shared<Resolving> {
        let slot = self.making.get_mut(at);
        let under_way = slot.as_ref().and_then(|slot| slot.as_ref()?.upgrade());
        // One that is over is kept only by calls that have not looked yet.
        if let Some(making) = under_way.filter(|making| making.peek().is_none()) {
            return making;
        }
        let making = make().shared();
        if let Some(slot) = slot {
            *slot = making.downgrade();
        }
        making
    }

    /// Keeps what was resolved; of two that were at once, the first.
    pub(crate) fn keep(&mut self, at: usize, model: Arc<dyn LanguageModel>) {
        if let Some(slot) = self.known.get_mut(at) {
            slot.get_or_insert_with(|| Target::new(model, 0));
        }
    }

    /// Whether one of the targets before this position is the same.
    pub(crate) fn is_repeated(&self, at: usize, model: &dyn LanguageModel) -> bool {
        self.known.iter().take(at).flatten().any(|earlier| earlier.model.target() == model.target())
    }
}
