use super::begin::planned;
use super::effect::{Begin, BeginKind, Effect, Settle};
use super::fact::{End, StopWhy};
use super::topic::{Admission, Event, LastTurn, Phase, Reaction, Topic, active};
use super::turn::{Ending, ParkedRow, Slot, SlotPhase, Starting, Waits};
use crate::port::Reply;
use crate::record::{AttemptId, Fate, InputId, ReturnReason, RowStatus, Terminal, TopicState, TurnId};

impl Topic {
    pub(super) fn spoke(&mut self, attempt: AttemptId, _out: &mut Reaction) {
        match self.live_mut().and_then(|turn| turn.slot(attempt)) {
            Some(slot) => slot.spoke = true,
            None => self.drop_stale(),
        }
    }

    pub(super) fn ended(&mut self, attempt: AttemptId, end: End, out: &mut Reaction) {
        let admission = self.admission;
        let waiting = self.inbox.redirecting.drain(..).collect::<Vec<_>>();
        for stored in waiting.into_iter().rev() {
            self.inbox.steers.push_front(stored);
        }
        let steered = !self.inbox.steers.is_empty();
        let Some(turn) = self.live_mut() else { return self.drop_stale() };
        let single = turn.slots.len() == 1;
        let stop = turn.stop;
        let Some(slot) = turn.slot(attempt).filter(|slot| matches!(slot.phase, SlotPhase::Running)) else {
            return self.drop_stale();
        };
        let stop = stop.or(slot.stop);
        let goes_on = steered && single && stop.is_none() && admission == Admission::Open;
        let limited = end == End::Limited;
        let (status, waits) = match end {
            End::Complete if goes_on => (RowStatus::Open, None),
            End::Complete => (RowStatus::Complete, None),
            End::Awaiting { calls } if stop.is_none() => {
                (RowStatus::AwaitingApproval, Some(Waits { calls, client: false }))
            }
            End::HandedOver { calls } if stop.is_none() => {
                (RowStatus::AwaitingApproval, Some(Waits { calls, client: true }))
            }
            End::Awaiting { .. } | End::HandedOver { .. } | End::Stopped => {
                (status_of_stop(stop).unwrap_or(RowStatus::Stopped), None)
            }
            End::Limited | End::Failed => (RowStatus::Failed, None),
        };
        self.settle_slot(attempt, status, waits, Vec::new(), out);
        if limited {
            self.blame_limit(out);
        }
    }

    /// What went back because the turn failed went back because of a limit.
    fn blame_limit(&mut self, out: &mut Reaction) {
        for effect in &mut out.effects {
            if let Effect::Settle(settle) = effect {
                for (_, why) in &mut settle.returned {
                    if *why == ReturnReason::Failed {
                        *why = ReturnReason::StopCondition;
                    }
                }
                let returned = settle.returned.clone();
                let attempt = settle.attempt;
                if let Some(slot) = self.live_mut().and_then(|turn| turn.slot(attempt))
                    && let SlotPhase::Settling(ending) = &mut slot.phase
                {
                    ending.returned = returned;
                }
            }
        }
    }

    /// Chooses the end of an attempt, once, and has it written.
    pub(super) fn settle_slot(
        &mut self,
        attempt: AttemptId,
        status: RowStatus,
        waits: Option<Waits>,
        returned: Vec<(InputId, ReturnReason)>,
        out: &mut Reaction,
    ) {
        let Some(settle) = self.ending(attempt, status, waits, returned) else { return };
        out.effects.push(Effect::Settle(settle));
    }

    pub(super) fn ending(
        &mut self,
        attempt: AttemptId,
        status: RowStatus,
        waits: Option<Waits>,
        mut returned: Vec<(InputId, ReturnReason)>,
    ) -> Option<Settle> {
        let turn = self.live_mut()?;
        let stop = turn.stop;
        returned.append(&mut turn.returning);
        let slot = turn.slot(attempt)?;
        let slot_stop = slot.stop;
        slot.phase = SlotPhase::Settling(Ending { status, waits, returned: Vec::new() });
        let row = slot.row.clone();
        let stopped =
            stop.or(slot_stop).filter(|_| matches!(status, RowStatus::Stopped | RowStatus::Interrupted));
        if turn.is_silent() && turn.has_failed() && stop.is_none() {
            let back = self.inbox.drain().into_iter().map(|stored| (stored.input.id, ReturnReason::Failed));
            returned.extend(back);
        }
        let slot = self.live_mut()?.slot(attempt)?;
        if let SlotPhase::Settling(ending) = &mut slot.phase {
            ending.returned.clone_from(&returned);
        }
        Some(Settle { attempt, row, status, stop: stopped, returned })
    }

    pub(super) fn persisted(&mut self, attempt: AttemptId, now: u64, out: &mut Reaction) {
        let Some(turn) = self.live_mut() else { return self.drop_stale() };
        let turn_id = turn.id;
        let Some(slot) = turn.slot(attempt) else { return self.drop_stale() };
        let ending = match &slot.phase {
            SlotPhase::Settling(ending) | SlotPhase::Blocked(ending) => ending.clone(),
            _ => return self.drop_stale(),
        };
        for (input, why) in &ending.returned {
            out.fates([input], &Fate::Returned { why: *why });
        }
        if ending.status == RowStatus::Open {
            self.go_on(attempt, turn_id, out);
            return;
        }
        slot.phase = SlotPhase::Settled(ending);
        self.seal(attempt, out);
        self.finish_if_settled(now, out);
    }

    /// The row goes on with what the user said, if that still waits.
    fn go_on(&mut self, attempt: AttemptId, turn_id: TurnId, out: &mut Reaction) {
        let stop = self.live().and_then(|turn| turn.stop);
        if stop.is_some() || self.inbox.steers.is_empty() || self.admission != Admission::Open {
            let status = status_of_stop(stop).unwrap_or(RowStatus::Complete);
            self.settle_slot(attempt, status, None, Vec::new(), out);
            return;
        }
        let inputs: Vec<_> = self.inbox.steers.drain(..).collect();
        let next = self.next_attempt();
        let Some(slot) = self.live_mut().and_then(|turn| turn.slot(attempt)) else { return };
        slot.earlier.push(attempt);
        slot.attempt = next;
        let mut starting = Starting::new(next);
        starting.inputs.clone_from(&inputs);
        starting.continues = Some(attempt);
        slot.phase = SlotPhase::Beginning(Box::new(starting));
        let attempts = planned(std::slice::from_ref(slot), 0);
        let kind = BeginKind::Continue { inputs, from: attempt };
        out.effects.push(Effect::Begin(Begin { turn: turn_id, attempts, kind }));
    }

    fn seal(&mut self, attempt: AttemptId, out: &mut Reaction) {
        let Some(turn) = self.live_mut() else { return };
        let ends_turn = turn.is_settled();
        let Some(slot) = turn.slot(attempt) else { return };
        let status = slot.ending().map_or(RowStatus::Failed, |ending| ending.status);
        let terminal = Terminal::new(slot.row.clone(), status, None, ends_turn);
        out.effects.push(Effect::Seal { attempt, terminal });
    }

    pub(super) fn not_persisted(&mut self, attempt: AttemptId, out: &mut Reaction) {
        let Some(turn) = self.live_mut() else { return self.drop_stale() };
        let stopping = turn.stop.is_some();
        let Some(slot) = turn.slot(attempt) else { return self.drop_stale() };
        match &slot.phase {
            SlotPhase::Settling(ending) => {
                slot.phase = SlotPhase::Blocked(ending.clone());
                out.events.push(Event::Blocked { attempt });
                if stopping {
                    out.effects.push(Effect::LastTry { attempt });
                }
            }
            SlotPhase::Blocked(_) => {}
            _ => self.drop_stale(),
        }
    }

    pub(super) fn abandoned(&mut self, attempt: AttemptId, now: u64, out: &mut Reaction) {
        let Some(slot) = self.live_mut().and_then(|turn| turn.slot(attempt)) else {
            return self.drop_stale();
        };
        let returned = match &slot.phase {
            SlotPhase::Settling(ending) | SlotPhase::Blocked(ending) => ending.returned.clone(),
            _ => return self.drop_stale(),
        };
        slot.phase = SlotPhase::Settled(Ending::new(RowStatus::Failed));
        for (input, why) in &returned {
            out.fates([input], &Fate::Returned { why: *why });
        }
        // No row stays open that nobody writes, and no input waits that was told to be returned.
        let (row, status) = (slot.row.clone(), RowStatus::Failed);
        out.effects.push(Effect::Repair(Settle { attempt, row, status, stop: None, returned }));
        self.seal(attempt, out);
        self.finish_if_settled(now, out);
    }

    /// The task of an attempt is gone without an end: its row is settled from what the store has of it.
    pub(super) fn died(&mut self, attempt: AttemptId, out: &mut Reaction) {
        let Some(slot) = self.live_mut().and_then(|turn| turn.slot(attempt)) else {
            return self.drop_stale();
        };
        let returned = match &slot.phase {
            SlotPhase::Running => Vec::new(),
            SlotPhase::Settling(ending) | SlotPhase::Blocked(ending) => ending.returned.clone(),
            SlotPhase::Beginning(_) | SlotPhase::Settled(_) => return self.drop_stale(),
        };
        if let Some(settle) = self.ending(attempt, RowStatus::Failed, None, returned) {
            out.effects.push(Effect::SettleStored(settle));
        }
    }

    /// Ends the turn once every attempt of it is settled.
    pub(super) fn finish_if_settled(&mut self, now: u64, out: &mut Reaction) {
        let Some(turn) = self.live() else { return };
        if !turn.is_settled() {
            return;
        }
        if turn.stop.is_some() && self.stop_waiting_slots(out) {
            return;
        }
        let Phase::Live(turn) = std::mem::replace(&mut self.phase, Phase::Idle) else { return };
        let parked: Vec<_> = turn.slots.iter().filter_map(|slot| parked_row(slot, turn.id)).collect();
        let state = match turn.stop {
            Some(_) => TopicState::Stopped,
            None if turn.has_failed() || turn.slots.is_empty() => TopicState::Failed,
            None if !parked.is_empty() => TopicState::AwaitingApproval,
            None if turn.slots.iter().all(|slot| slot.ending().is_some_and(is_cut)) => TopicState::Stopped,
            None => TopicState::Done,
        };
        if state == TopicState::Done {
            // Strictly later than the one before, so that watchers can tell two turns of one millisecond apart.
            self.last_completed_at = Some(now.max(self.last_completed_at.map_or(0, |at| at + 1)));
        }
        for (input, why) in turn.returning {
            out.fates([&input], &Fate::Returned { why });
            out.effects.push(Effect::Return { inputs: vec![input], why });
        }
        for ticket in turn.waiting {
            out.reply(ticket, Reply::Stopped { returned: turn.returned.clone() });
        }
        out.events.push(Event::TurnEnded { turn: turn.id, state });
        self.last =
            Some(LastTurn { id: turn.id, state, attempts: turn.slots.iter().filter_map(active).collect() });
        if !parked.is_empty() && turn.stop.is_none() {
            self.phase = Phase::Parked(parked);
            out.effects.push(Effect::AwaitDecision);
            if !self.inbox.starts.is_empty() {
                self.close_parked_if_clients(out);
            }
            return;
        }
        self.inbox.steers_to_start();
        self.delete_if_asked(out);
        self.try_start(out);
    }
}

fn parked_row(slot: &Slot, turn: TurnId) -> Option<ParkedRow> {
    let waits = slot.ending()?.waits.clone()?;
    Some(ParkedRow {
        row: slot.row.clone(),
        turn,
        model: slot.model.clone(),
        attempt: slot.attempt,
        client: waits.client,
        calls: waits.calls.into_iter().map(|call| (call, None)).collect(),
    })
}

fn is_cut(ending: &Ending) -> bool {
    matches!(ending.status, RowStatus::Stopped | RowStatus::Interrupted)
}

/// What a row becomes that was cut.
pub(super) fn status_of_stop(stop: Option<StopWhy>) -> Option<RowStatus> {
    Some(match stop? {
        StopWhy::ShutDown => RowStatus::Interrupted,
        _ => RowStatus::Stopped,
    })
}
