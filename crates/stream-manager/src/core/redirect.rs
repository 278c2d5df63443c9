use super::effect::Effect;
use super::topic::{Reaction, Topic};
use super::turn::SlotPhase;
use crate::record::{AttemptId, Fate, InputId};

impl Topic {
    pub(super) fn redirected(&mut self, attempt: AttemptId, inputs: &[InputId], out: &mut Reaction) {
        let Some(turn) = self.live_mut() else { return self.drop_stale() };
        let id = turn.id;
        if turn.slot(attempt).is_none() {
            return self.drop_stale();
        }
        self.inbox.redirecting.retain(|stored| !inputs.contains(&stored.input.id));
        out.fates(inputs, &Fate::Consumed { turn: id, attempt });
        self.redirect_next(attempt, out);
    }

    pub(super) fn not_redirected(&mut self, attempt: AttemptId, inputs: &[InputId], out: &mut Reaction) {
        if self.live_mut().and_then(|turn| turn.slot(attempt)).is_none() {
            return self.drop_stale();
        }
        let mut back = Vec::new();
        let mut at = 0;
        while let Some(stored) = self.inbox.redirecting.get(at) {
            if inputs.contains(&stored.input.id) {
                back.push(self.inbox.redirecting.remove(at));
            } else {
                at += 1;
            }
        }
        for stored in back.into_iter().rev() {
            self.inbox.steers.push_front(stored);
        }
        self.ask_to_yield(out);
    }

    fn redirect_next(&mut self, attempt: AttemptId, out: &mut Reaction) {
        let running = self.live_mut().and_then(|turn| turn.slot(attempt)).is_some_and(|slot| {
            slot.redirects && matches!(slot.phase, SlotPhase::Running) && slot.stop.is_none()
        });
        if running
            && self.inbox.redirecting.is_empty()
            && let Some(input) = self.inbox.steers.pop_front()
        {
            self.inbox.redirecting.push(input.clone());
            out.effects.push(Effect::Redirect { attempt, input });
        }
    }
}
