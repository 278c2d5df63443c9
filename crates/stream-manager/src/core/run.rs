use super::effect::{Begin, BeginKind, Effect, Planned, Settle};
use super::fact::{End, NotBegun, StopWhy, Ticket};
use super::inbox::Start;
use super::topic::{Admission, Event, LastTurn, Phase, Reaction, Topic, active};
use super::turn::{Ending, ParkedRow, Slot, SlotPhase, Starting, Turn, Waits};
use crate::port::Reply;
use crate::record::{
    AttemptId, Fate, InputBody, InputId, ReturnReason, RowId, RowStatus, StoredInput, Terminal, TopicState,
};

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
            let mut slots = Vec::new();
            for model in start.models() {
                let attempt = self.next_attempt();
                slots.push(Slot::new(row_for(attempt), model, attempt, Starting::default()));
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
        let starting =
            Starting { ticket: Some((ticket, stored.seq)), inputs: vec![stored], ..Starting::default() };
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
            let starting = Starting { parked: Some(parked), ..Starting::default() };
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
        let Some(first) = turn
            .slots
            .iter()
            .position(|slot| slot.attempt == attempt && matches!(slot.phase, SlotPhase::Beginning(_)))
        else {
            return self.drop_stale();
        };
        // Those begun together: all of a new turn, else the one alone.
        let together = if turn.slots.iter().all(|slot| matches!(slot.phase, SlotPhase::Beginning(_)))
            && turn.slots.iter().all(|slot| slot.earlier.is_empty())
            && turn.slots.get(first).is_some_and(|slot| !has_parked(slot))
        {
            turn.slots.len()
        } else {
            1
        };
        let mut consumed = Vec::new();
        for slot in turn.slots.iter_mut().skip(first).take(together) {
            slot.redirects = redirects;
            let SlotPhase::Beginning(starting) = std::mem::replace(&mut slot.phase, SlotPhase::Running)
            else {
                continue;
            };
            consumed.extend(starting.inputs.iter().map(|stored| stored.input.id.clone()));
            consumed.extend(starting.parked.iter().flat_map(inputs_of));
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
        self.ask_to_yield(out);
    }

    pub(super) fn not_begun(&mut self, attempt: AttemptId, why: NotBegun, now: u64, out: &mut Reaction) {
        let Some(turn) = self.live_mut() else { return self.drop_stale() };
        let Some(at) = turn
            .slots
            .iter()
            .position(|slot| slot.attempt == attempt && matches!(slot.phase, SlotPhase::Beginning(_)))
        else {
            return self.drop_stale();
        };
        let whole = turn.slots.iter().all(|slot| {
            matches!(&slot.phase, SlotPhase::Beginning(starting) if starting.parked.is_none() && starting.continues.is_none())
        });
        let Some(slot) = turn.slots.get_mut(at) else { return };
        let SlotPhase::Beginning(starting) = &mut slot.phase else { return };
        let starting = std::mem::take(&mut **starting);
        let back = if slot.stop.is_some() { ReturnReason::Stopped } else { ReturnReason::LaunchFailed };
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
            let stopped = slot.stop;
            let status = status_of_stop(stopped).unwrap_or(RowStatus::Failed);
            let claimed = starting.inputs.into_iter().map(|stored| (stored.input.id, back));
            let returned: Vec<_> = claimed.collect();
            self.settle_slot(from, status, None, returned, out);
            return;
        }
        let inputs: Vec<_> = starting.inputs;
        if let Some(parked) = &starting.parked {
            let ids: Vec<_> = inputs_of(parked).collect();
            out.fates(&ids, &Fate::Returned { why: back });
            out.effects.push(Effect::Return { inputs: ids, why: back });
        }
        self.return_now(&inputs, back, out);
        let Some(turn) = self.live_mut() else { return };
        if whole {
            turn.slots.clear();
        } else if let Some(replaced) = starting.replaces {
            if let Some(place) = turn.slots.get_mut(at) {
                *place = *replaced;
            }
        } else if let Some(parked) = starting.parked {
            // It waits as before, for other answers.
            if let Some(place) = turn.slots.get_mut(at) {
                place.attempt = parked.attempt;
                let mut ending = Ending::new(RowStatus::AwaitingApproval);
                let calls = parked.calls.into_iter().map(|(call, _)| call).collect();
                ending.waits = Some(Waits { calls, client: parked.client });
                place.phase = SlotPhase::Settled(ending);
            }
        } else {
            turn.slots.remove(at);
        }
        self.finish_if_settled(now, out);
    }

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
        let limited = matches!(end, End::Limited);
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
    fn go_on(&mut self, attempt: AttemptId, turn_id: crate::record::TurnId, out: &mut Reaction) {
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
        let starting = Starting { inputs: inputs.clone(), continues: Some(attempt), ..Starting::default() };
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
        // They wait in the store until it can be written again.
        for (input, why) in returned {
            out.fates([&input], &Fate::Returned { why });
            out.effects.push(Effect::Return { inputs: vec![input], why });
        }
        self.seal(attempt, out);
        self.finish_if_settled(now, out);
    }

    /// The task of an attempt is gone without an end: its row is settled from what the store has of it.
    pub(super) fn died(&mut self, attempt: AttemptId, out: &mut Reaction) {
        let Some(slot) = self.live_mut().and_then(|turn| turn.slot(attempt)) else {
            return self.drop_stale();
        };
        match slot.phase {
            SlotPhase::Running => {
                if let Some(settle) = self.ending(attempt, RowStatus::Failed, None, Vec::new()) {
                    out.effects.push(Effect::SettleStored(settle));
                }
            }
            SlotPhase::Settling(_) | SlotPhase::Blocked(_) => {
                let status = RowStatus::Failed;
                if let Some(settle) = self.ending(attempt, status, None, Vec::new()) {
                    out.effects.push(Effect::SettleStored(settle));
                }
            }
            SlotPhase::Beginning(_) | SlotPhase::Settled(_) => self.drop_stale(),
        }
    }

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

    /// Ends the turn once every attempt of it is settled.
    pub(super) fn finish_if_settled(&mut self, now: u64, out: &mut Reaction) {
        let Some(turn) = self.live() else { return };
        if !turn.is_settled() {
            return;
        }
        let Phase::Live(turn) = std::mem::replace(&mut self.phase, Phase::Idle) else { return };
        let parked: Vec<_> = turn.slots.iter().filter_map(|slot| parked_row(slot, turn.id)).collect();
        let state = match turn.stop {
            Some(_) => TopicState::Stopped,
            None if turn.has_failed() || turn.slots.is_empty() => TopicState::Failed,
            None if !parked.is_empty() => TopicState::AwaitingApproval,
            None if turn.slots.iter().all(|slot| slot.stop.is_some()) => TopicState::Stopped,
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
            if self.inbox.starts.iter().any(|_| true) {
                self.close_parked_if_clients(out);
            }
            return;
        }
        self.inbox.steers_to_start();
        self.delete_if_asked(out);
        self.try_start(out);
    }
}

fn has_parked(slot: &Slot) -> bool {
    matches!(&slot.phase, SlotPhase::Beginning(starting) if starting.parked.is_some())
}

fn inputs_of(parked: &ParkedRow) -> impl Iterator<Item = InputId> {
    parked.calls.iter().filter_map(|(_, answer)| answer.as_ref().map(|(input, _)| input.clone()))
}

fn parked_row(slot: &Slot, turn: crate::record::TurnId) -> Option<ParkedRow> {
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

/// The row a new answer is written to: unique in its topic as its first attempt is.
fn row_for(attempt: AttemptId) -> RowId {
    RowId::from(format!("msg-{attempt}"))
}

fn planned(slots: &[Slot], from: usize) -> Vec<Planned> {
    let plan = |(at, slot): (usize, &Slot)| Planned {
        attempt: slot.attempt,
        row: slot.row.clone(),
        model: slot.model.clone(),
        slot: u32::try_from(at + from).unwrap_or(u32::MAX),
    };
    slots.iter().enumerate().map(plan).collect()
}

/// What a row becomes that was cut.
pub(super) fn status_of_stop(stop: Option<StopWhy>) -> Option<RowStatus> {
    Some(match stop? {
        StopWhy::ShutDown => RowStatus::Interrupted,
        _ => RowStatus::Stopped,
    })
}
