//! What the outcome of an answer says to the calls to come: of this run, and of others.

use std::sync::Arc;
use std::time::{Instant, SystemTime};

use ai_provider::ModelError;

use super::{Present, now};
use crate::backoff::{Backoff, Dice, hinted};
use crate::decide::blame;
use crate::model::Shared;
use crate::run::{RunState, Target};

/// What an answer proves when it is whole.
pub(crate) struct Served {
    pub(super) shared: Arc<Shared>,
    pub(super) run: Arc<RunState>,
    pub(super) present: Present,
    pub(super) limit: Option<Instant>,
    pub(super) backoff: Backoff,
    pub(super) dice: Dice,
}

impl Served {
    /// The target worked: the run stays with it.
    pub(crate) fn worked(&self) {
        let Present { at, key, began, .. } = &self.present;
        let mut targets = self.run.lock();
        targets.current = *at;
        let Some(target) = targets.get(*at) else { return };
        if target.ring.worked(*key, now()) {
            target.last_error = None;
        }
        if let Some(board) = &self.shared.policy.health {
            board.answered(target.model.target(), target.model.keys().get(*key), *began);
        }
    }

    /// The answer broke off after it had begun. What that says of the key holds for the calls to come.
    pub(crate) fn broke(&mut self, error: &ModelError) {
        self.shared.tell_board(&self.present, error, self.limit);
        if !error.is_key_related() {
            return;
        }
        let mut targets = self.run.lock();
        let Some(target) = targets.get(self.present.at) else { return };
        target.last_error = Some(error.clone());
        let clocks = (now(), SystemTime::now());
        blame((error, self.present.key), clocks, &mut target.ring, &self.backoff, &mut self.dice);
    }
}

impl Shared {
    /// `limit` is when the call must be over: impatience of the caller's is no fault of the endpoint.
    pub(super) fn tell_board(&self, present: &Present, error: &ModelError, limit: Option<Instant>) {
        if error.is_timeout() && limit.is_some_and(|limit| limit <= now()) {
            return;
        }
        if let Some(board) = &self.policy.health {
            let key = present.model.keys().get(present.key);
            let hint = hinted(error.hint(), SystemTime::now());
            board.failed(present.model.target(), key, error.class(), hint, (present.began, now()));
        }
    }

    /// Which keys of a target other runs would leave alone now.
    pub(super) fn wanting(&self, target: &Target, now: Instant) -> impl Fn(usize) -> bool + use<> {
        let board = self.policy.health.clone();
        let model = Arc::clone(&target.model);
        move |key| {
            board.as_ref().is_some_and(|board| board.is_closed(model.target(), model.keys().get(key), now))
        }
    }
}
