use super::effect::{Begin, BeginKind, Effect, Planned};
use super::fact::{NotBegun, Ticket};
use super::inbox::Start;
use super::settle::status_of_stop;
use super::stop::{answers_of, reason_of_stop};
use super::topic::{Admission, Event, Phase, Reaction, Topic};
use super::turn::{Ending, ParkedRow, Slot, SlotPhase, Starting, Turn, Waits};
use crate::port::Reply;
use crate::record::{AttemptId, Fate, InputBody, ReturnReason, RowId, RowStatus, StoredInput, Terminal};

impl Topic {
    /// Begins the next turn that waits, if none runs.
    pub(super) fn try_start(&mut self, out: &mut Reaction) {
        if self.admission != Admission::Open || !matches!(self.phase, Phase::Idle) || self.deleting.is_some()
        {
            return;
        }
        while let Some(start) = self.inbox.starts.pop_front() {
            let Some(kind) = start.kind() else { continue };
            let id = self.next_turn();
            let mut slots: Vec<Slot> = Vec::new();
            for model in start.models() {
                let attempt = self.next_attempt();
                let group = slots.first().map_or(attempt, |first| first.attempt);
                slots.push(Slot::new(row_for(attempt), model, attempt, Starting::new(group)));
            }
            let seq = start.inputs.first().map_or(0, |stored| stored.seq);
            if let Some(SlotPhase::Beginning(starting)) = slots.first_mut().map(|slot| &mut slot.phase) {
                starting.inputs = start.inputs;
                starting.ticket = start.ticket.map(|ticket| (ticket, seq));
            }
            let attempts = planned(&slots, 0);
            self.phase = Phase::Live(Turn::new(id, slots));
            out.events.push(Event::TurnStarted { turn: id });
            out.effects.push(Effect::Begin(Begin { turn: id, attempts, kind }));
            return;
        }
    }

    /// A model joins the running turn: beside the others, or in the place of one.
    pub(super) fn join(&mut self, ticket: Ticket, stored: StoredInput, row: &RowId, out: &mut Reaction) {
        let attempt = self.next_attempt();
        let Some(kind) = (Start { inputs: vec![stored.clone()], ticket: None }).kind() else { return };
        let replaces = matches!(stored.input.body.known(), Some(InputBody::Regenerate { .. }));
        let named = stored.input.models.first().cloned();
        let mut starting = Starting::new(attempt);
        starting.ticket = Some((ticket, stored.seq));
        starting.inputs = vec![stored];
        let Some(turn) = self.live_mut() else { return };
        let Some(at) = turn.slots.iter().position(|slot| slot.row == *row) else { return };
        let mut slot = Slot::new(row_for(attempt), named, attempt, starting);
        let at = if replaces {
            let Some(place) = turn.slots.get_mut(at) else { return };
            if slot.model.is_none() {
                slot.model.clone_from(&place.model);
            }
            let replaced = std::mem::replace(place, slot);
            if let SlotPhase::Beginning(starting) = &mut place.phase {
                starting.replaces = Some(Box::new(replaced));
            }
            at
        } else {
            turn.slots.push(slot);
            turn.slots.len() - 1
        };
        let attempts = planned(turn.slots.get(at..=at).unwrap_or_default(), at);
        out.effects.push(Effect::Begin(Begin { turn: turn.id, attempts, kind }));
    }

    /// Rows that waited go on, in the turn they belong to.
    pub(super) fn begin_resumed(&mut self, rows: Vec<ParkedRow>, out: &mut Reaction) {
        let Some(id) = rows.first().map(|parked| parked.turn) else { return };
        let mut turn = Turn::new(id, Vec::new());
        for (at, parked) in rows.into_iter().enumerate() {
            let attempt = self.next_attempt();
            let (row, model, from) = (parked.row.clone(), parked.model.clone(), parked.attempt);
            let mut inputs = Vec::new();
            let mut answers = Vec::new();
            for (call, answer) in &parked.calls {
                if let Some((input, answer)) = answer {
                    inputs.push(input.clone());
                    answers.push((call.clone(), answer.clone()));
                }
            }
            let mut starting = Starting::new(attempt);
            starting.parked = Some(parked);
            turn.slots.push(Slot::new(row, model, attempt, starting));
            let attempts = planned(turn.slots.get(at..=at).unwrap_or_default(), at);
            let kind = BeginKind::Resume { inputs, from, answers };
            out.effects.push(Effect::Begin(Begin { turn: id, attempts, kind }));
        }
        self.phase = Phase::Live(turn);
    }

    pub(super) fn begun(&mut self, attempt: AttemptId, redirects: bool, out: &mut Reaction) {
        let Some(turn) = self.live_mut() else { return self.drop_stale() };
        let id = turn.id;
        if turn.slots.iter().all(|slot| slot.starting(attempt).is_none()) {
            return self.drop_stale();
        }
        let mut consumed = Vec::new();
        for slot in turn.slots.iter_mut().filter(|slot| slot.starting(attempt).is_some()) {
            slot.redirects = redirects;
            let SlotPhase::Beginning(starting) = std::mem::replace(&mut slot.phase, SlotPhase::Running)
            else {
                continue;
            };
            consumed.extend(starting.inputs.iter().map(|stored| stored.input.id.clone()));
            consumed.extend(starting.parked.iter().flat_map(answers_of));
            if let Some((ticket, seq)) = starting.ticket {
                out.reply(ticket, Reply::Accepted { seq, turn: Some(id), duplicate: false });
            }
            if let Some(from) = starting.continues {
                let terminal = Terminal::new(slot.row.clone(), RowStatus::Open, Some(slot.attempt), false);
                out.effects.push(Effect::Seal { attempt: from, terminal });
            }
            if let Some(why) = slot.stop {
                out.effects.push(Effect::Cancel { attempt: slot.attempt, why });
            }
        }
        out.fates(&consumed, &Fate::Consumed { turn: id, attempt });
        self.say_what_waits(out);
    }

    pub(super) fn not_begun(&mut self, attempt: AttemptId, why: NotBegun, now: u64, out: &mut Reaction) {
        let Some(turn) = self.live_mut() else { return self.drop_stale() };
        let Some(slot) = turn.slots.iter_mut().find(|slot| slot.starting(attempt).is_some()) else {
            return self.drop_stale();
        };
        let stopped = turn.stop.or(slot.stop);
        let SlotPhase::Beginning(starting) = &mut slot.phase else { return };
        let starting = std::mem::replace(&mut **starting, Starting::new(attempt));
        let back = stopped.map_or(ReturnReason::LaunchFailed, reason_of_stop);
        if turn.stop.is_some() {
            // They waited before all that was given back when the stop came.
            turn.returned.splice(0..0, starting.inputs.iter().map(|stored| stored.input.clone()));
        }
        if let Some((ticket, _)) = starting.ticket {
            match why {
                NotBegun::Refused(why) => out.refuse(ticket, why),
                NotBegun::Failed => out.reply(ticket, Reply::NotStarted { why: back }),
            }
        }
        if let Some(from) = starting.continues {
            // What the row has is durable; it ends as failed, with all that waits for it.
            slot.attempt = from;
            slot.earlier.pop();
            let mut ending = Ending::new(status_of_stop(stopped).unwrap_or(RowStatus::Failed));
            ending.returned = starting.inputs.into_iter().map(|stored| (stored.input.id, back)).collect();
            slot.orphaned = starting.orphaned;
            return self.settle_slot(from, ending, out);
        }
        let mut inputs: Vec<_> = starting.inputs.into_iter().map(|stored| stored.input.id).collect();
        inputs.extend(starting.parked.iter().flat_map(answers_of));
        if let Some(parked) = starting.parked {
            // It waits as before, for other answers.
            slot.attempt = parked.attempt;
            slot.sealed = true;
            let mut ending = Ending::new(RowStatus::AwaitingApproval);
            let calls = parked.calls.into_iter().map(|(call, _)| call).collect();
            ending.waits = Some(Waits { calls, client: parked.client });
            slot.phase = SlotPhase::Settled(ending);
        } else if let Some(replaced) = starting.replaces {
            *slot = *replaced;
        } else {
            turn.slots.retain(|slot| slot.starting(attempt).is_none());
        }
        self.return_ids(inputs, back, out);
        self.return_what_waits(out);
        self.finish_if_settled(now, out);
    }
}

/// The row a new answer is written to: unique in its topic as its first attempt is.
fn row_for(attempt: AttemptId) -> RowId {
    RowId::from(format!("msg-{attempt}"))
}

pub(super) fn planned(slots: &[Slot], from: usize) -> Vec<Planned> {
    let plan = |(at, slot): (usize, &Slot)| Planned {
        attempt: slot.attempt,
        row: slot.row.clone(),
        model: slot.model.clone(),
        slot: u32::try_from(at + from).unwrap_or(u32::MAX),
    };
    slots.iter().enumerate().map(plan).collect()
}
