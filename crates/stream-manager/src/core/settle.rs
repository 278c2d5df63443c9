use super::begin::planned;
use super::effect::{Begin, BeginKind, Effect, Settle};
use super::fact::{End, StopWhy};
use super::topic::{Admission, Event, LastTurn, Phase, Reaction, Topic, active};
use super::turn::{Ending, ParkedRow, Slot, SlotPhase, Starting, Turn, Waits};
use crate::port::Reply;
use crate::record::{AttemptId, ReturnReason, RowStatus, Terminal, TopicState, TurnId};

impl Topic {
    pub(super) fn spoke(&mut self, attempt: AttemptId, _out: &mut Reaction) {
        match self.live_mut().and_then(|turn| turn.slot(attempt)) {
            Some(slot) => slot.spoke = true,
            None => self.drop_stale(),
        }
    }

    pub(super) fn ended(&mut self, attempt: AttemptId, end: End, out: &mut Reaction) {
        let steered = !self.inbox.steers.is_empty() || self.inbox.redirecting.is_some();
        let goes_on = steered && self.admission == Admission::Open;
        let Some(turn) = self.live_mut() else { return self.drop_stale() };
        let single = turn.slots.len() == 1;
        let stop = turn.stop;
        let Some(slot) = turn.slot(attempt).filter(|slot| matches!(slot.phase, SlotPhase::Running)) else {
            return self.drop_stale();
        };
        let cut = stop.or(slot.stop);
        if stop.is_some() {
            self.resolve_handed(attempt);
        }
        // What waits for a person does so beyond a shutdown.
        let keeps = cut.is_none_or(|why| why == StopWhy::ShutDown);
        let waiting = |calls, client| {
            let mut ending = Ending::new(RowStatus::AwaitingApproval);
            ending.waits = Some(Waits { calls, client });
            ending
        };
        let ending = match end {
            End::Complete if goes_on && single && cut.is_none() => Ending::new(RowStatus::Open),
            End::Complete => Ending::new(RowStatus::Complete),
            End::Awaiting { calls } if keeps => waiting(calls, false),
            End::HandedOver { calls } if keeps => waiting(calls, true),
            End::Awaiting { .. } | End::HandedOver { .. } | End::Stopped => {
                Ending::new(status_of_stop(cut).unwrap_or(RowStatus::Stopped))
            }
            End::Limited => Ending { limited: true, ..Ending::new(RowStatus::Failed) },
            End::Failed => Ending::new(RowStatus::Failed),
        };
        self.settle_slot(attempt, ending, out);
    }

    /// Chooses the end of an attempt, once, and has it written.
    pub(super) fn settle_slot(&mut self, attempt: AttemptId, ending: Ending, out: &mut Reaction) {
        let orphaned = self.live_mut().and_then(|turn| turn.slot(attempt)).is_some_and(|slot| slot.orphaned);
        let Some(settle) = self.ending(attempt, ending) else { return };
        out.effects.push(if orphaned { Effect::SettleStored(settle) } else { Effect::Settle(settle) });
    }

    /// Chooses the end of an attempt, with what goes back by it.
    fn ending(&mut self, attempt: AttemptId, ending: Ending) -> Option<Settle> {
        let turn = self.live_mut()?;
        let slot = turn.slots.iter_mut().find(|slot| slot.attempt == attempt)?;
        let cut = turn.stop.or(slot.stop);
        let status = ending.status;
        let mut returned = ending.returned.clone();
        slot.phase = SlotPhase::Settling(ending);
        returned.append(&mut turn.returning);
        if let Some(why) = turn.gives_back() {
            let handed = self.inbox.take_handed(attempt);
            let back = handed.into_iter().chain(self.inbox.drain());
            returned.extend(back.map(|stored| (stored.input.id, why)));
        }
        let slot = self.live_mut()?.slot(attempt)?;
        if let SlotPhase::Settling(ending) = &mut slot.phase {
            ending.returned.clone_from(&returned);
        }
        let stop = cut.filter(|_| matches!(status, RowStatus::Stopped | RowStatus::Interrupted));
        Some(Settle { attempt, row: slot.row.clone(), status, stop, returned })
    }

    /// What waits goes back now, if the turn has turned out to be no answer without a settlement to come.
    pub(super) fn return_what_waits(&mut self, out: &mut Reaction) {
        if let Some(why) = self.live().and_then(Turn::gives_back) {
            let waiting = self.inbox.drain();
            self.return_now(&waiting, why, out);
        }
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
            self.tell_returned(std::slice::from_ref(input), *why, out);
        }
        self.resolve_handed(attempt);
        if ending.status == RowStatus::Open {
            self.go_on(attempt, turn_id, out);
            return;
        }
        let Some(slot) = self.live_mut().and_then(|turn| turn.slot(attempt)) else { return };
        slot.phase = SlotPhase::Settled(ending);
        self.seal(attempt, out);
        self.finish_if_settled(now, out);
    }

    /// The row goes on with what the user said, if that still waits.
    fn go_on(&mut self, attempt: AttemptId, turn_id: TurnId, out: &mut Reaction) {
        let Some(turn) = self.live_mut() else { return };
        let stop = turn.stop;
        let stop = stop.or(turn.slot(attempt).and_then(|slot| slot.stop));
        if stop.is_some() || self.inbox.steers.is_empty() || self.admission != Admission::Open {
            let status = status_of_stop(stop).unwrap_or(RowStatus::Complete);
            self.settle_slot(attempt, Ending::new(status), out);
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
        let Some(slot) = turn.slot(attempt).filter(|slot| !slot.sealed) else { return };
        slot.sealed = true;
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
        let (row, status) = (slot.row.clone(), RowStatus::Failed);
        for (input, why) in &returned {
            self.tell_returned(std::slice::from_ref(input), *why, out);
        }
        self.resolve_handed(attempt);
        // No row stays open that nobody writes, and no input waits that was told to be returned.
        out.effects.push(Effect::Repair(Settle { attempt, row, status, stop: None, returned }));
        self.seal(attempt, out);
        self.return_what_waits(out);
        self.finish_if_settled(now, out);
    }

    /// The task of an attempt is gone without an end: its row is settled from what the store has of it.
    pub(super) fn died(&mut self, attempt: AttemptId, out: &mut Reaction) {
        let Some(turn) = self.live_mut() else { return self.drop_stale() };
        let Some(slot) = turn.slot(attempt) else {
            let continued = turn.slots.iter_mut().filter_map(|slot| match &mut slot.phase {
                SlotPhase::Beginning(starting) if starting.continues == Some(attempt) => Some(starting),
                _ => None,
            });
            // If nothing goes on with its row, the row is ended without it.
            match continued.last() {
                Some(starting) => starting.orphaned = true,
                None => self.drop_stale(),
            }
            return;
        };
        let mut ending = Ending::new(RowStatus::Failed);
        match &slot.phase {
            _ if slot.orphaned => return self.drop_stale(),
            SlotPhase::Running => {}
            SlotPhase::Settling(chosen) | SlotPhase::Blocked(chosen) => {
                ending.returned.clone_from(&chosen.returned);
            }
            SlotPhase::Beginning(_) | SlotPhase::Settled(_) => return self.drop_stale(),
        }
        slot.orphaned = true;
        self.resolve_handed(attempt);
        self.settle_slot(attempt, ending, out);
    }

    /// Ends the turn once every attempt of it is settled.
    pub(super) fn finish_if_settled(&mut self, now: u64, out: &mut Reaction) {
        let Some(turn) = self.live() else { return };
        if !turn.is_settled() {
            return;
        }
        if turn.stop.is_some_and(|why| why != StopWhy::ShutDown) && self.stop_waiting_slots(out) {
            return;
        }
        let Phase::Live(turn) = std::mem::replace(&mut self.phase, Phase::Idle) else { return };
        let parked: Vec<_> = turn.slots.iter().filter_map(|slot| parked_row(slot, turn.id)).collect();
        let state = match turn.stop {
            _ if !parked.is_empty() => TopicState::AwaitingApproval,
            Some(_) => TopicState::Stopped,
            None if turn.has_failed() || turn.slots.is_empty() => TopicState::Failed,
            None if turn.is_cut() => TopicState::Stopped,
            None => TopicState::Done,
        };
        if state == TopicState::Done {
            // Strictly later than the one before, so that watchers can tell two turns of one millisecond apart.
            self.last_completed_at = Some(now.max(self.last_completed_at.map_or(0, |at| at + 1)));
        }
        for (input, why) in turn.returning {
            self.return_ids(vec![input], why, out);
        }
        for ticket in turn.waiting {
            out.reply(ticket, Reply::Stopped { returned: turn.returned.clone() });
        }
        out.events.push(Event::TurnEnded { turn: turn.id, state });
        self.last =
            Some(LastTurn { id: turn.id, state, attempts: turn.slots.iter().filter_map(active).collect() });
        if self.admission == Admission::Closed {
            let waiting = self.inbox.drain();
            self.return_now(&waiting, ReturnReason::ShutDown, out);
        }
        if !parked.is_empty() && self.deleting.is_none() {
            self.phase = Phase::Parked(parked);
            self.await_decision(out);
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

/// What a row becomes that was cut.
pub(super) fn status_of_stop(stop: Option<StopWhy>) -> Option<RowStatus> {
    Some(match stop? {
        StopWhy::ShutDown => RowStatus::Interrupted,
        _ => RowStatus::Stopped,
    })
}
