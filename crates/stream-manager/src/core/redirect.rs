use super::effect::Effect;
use super::stop::reason_of_stop;
use super::topic::{Reaction, Topic};
use super::turn::{Slot, SlotPhase, Turn};
use crate::record::{AttemptId, Fate, InputId};

impl Topic {
    pub(super) fn redirected(&mut self, attempt: AttemptId, inputs: &[InputId], out: &mut Reaction) {
        let Some(turn) = self.live_mut() else { return self.drop_stale() };
        let id = turn.id;
        if turn.slot(attempt).is_none() {
            return self.drop_stale();
        }
        // One that was to go back with the end of the attempt is used all the same: the claim came first.
        let mut used = Vec::new();
        for input in inputs {
            let handed = self.inbox.take_handed_as(attempt, input).is_some();
            let claimed = self.live_mut().is_some_and(|turn| unreturn(turn, input));
            if handed || claimed {
                used.push(input.clone());
            }
        }
        if used.is_empty() {
            return self.drop_stale();
        }
        out.fates(&used, &Fate::Consumed { turn: id, attempt });
        self.say_what_waits(out);
    }

    pub(super) fn not_redirected(&mut self, attempt: AttemptId, inputs: &[InputId], out: &mut Reaction) {
        if self.live_mut().and_then(|turn| turn.slot(attempt)).is_none() {
            return self.drop_stale();
        }
        let refused =
            self.inbox.redirecting.as_ref().is_some_and(|(_, stored)| inputs.contains(&stored.input.id));
        if !refused {
            return self.drop_stale();
        }
        self.resolve_handed(attempt);
        self.ask_to_yield(out);
    }

    /// What was handed to an attempt, and not taken up, waits as before, or goes back if the turn is being stopped.
    pub(super) fn resolve_handed(&mut self, attempt: AttemptId) {
        let Some(stored) = self.inbox.take_handed(attempt) else { return };
        match self.live_mut() {
            Some(Turn { stop: Some(why), returned, returning, .. }) => {
                returning.push((stored.input.id.clone(), reason_of_stop(*why)));
                // It was said before all that was given back when the stop came.
                returned.insert(0, stored.input);
            }
            _ => self.inbox.steers.push_front(stored),
        }
    }

    /// Hands the next steer to the driver, if there is one that takes input up; else asks to yield to it.
    pub(super) fn say_what_waits(&mut self, out: &mut Reaction) {
        match self.live().and_then(driven) {
            Some(attempt) => {
                // One at a time: the next goes once the fate of this one is known, in the order in which they came.
                if self.inbox.redirecting.is_none()
                    && let Some(input) = self.inbox.steers.pop_front()
                {
                    self.inbox.redirecting = Some((attempt, input.clone()));
                    out.effects.push(Effect::Redirect { attempt, input });
                }
            }
            None => self.ask_to_yield(out),
        }
    }
}

/// The only attempt of a turn, if it runs and its driver takes input up.
fn driven(turn: &Turn) -> Option<AttemptId> {
    match turn.slots.as_slice() {
        [Slot { redirects: true, phase: SlotPhase::Running, stop: None, attempt, .. }] => Some(*attempt),
        _ => None,
    }
}

/// Takes an input out of what goes back. Whether it was there.
fn unreturn(turn: &mut Turn, input: &InputId) -> bool {
    let endings = turn.slots.iter_mut().filter_map(|slot| match &mut slot.phase {
        SlotPhase::Settling(ending) | SlotPhase::Blocked(ending) => Some(&mut ending.returned),
        _ => None,
    });
    let mut found = false;
    for returned in endings.chain([&mut turn.returning]) {
        let before = returned.len();
        returned.retain(|(known, _)| known != input);
        found |= returned.len() < before;
    }
    turn.returned.retain(|returned| !found || returned.id != *input);
    found
}
