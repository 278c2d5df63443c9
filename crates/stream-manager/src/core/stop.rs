use super::effect::{Effect, Settle};
use super::fact::{Fact, StopWhy, Ticket};
use super::settle::status_of_stop;
use super::topic::{Admission, Phase, Reaction, Topic};
use super::turn::{Ending, ParkedRow, Slot, SlotPhase, Starting, Turn};
use crate::port::{Refusal, Reply};
use crate::record::{InputId, ReturnReason, RowId, RowStatus, TurnId};

impl Topic {
    pub(super) fn stop(&mut self, ticket: Ticket, turn: TurnId, out: &mut Reaction) {
        match &self.phase {
            Phase::Live(live) if live.id == turn => {
                self.begin_stop(StopWhy::User, out);
                if let Some(live) = self.live_mut() {
                    live.waiting.push(ticket);
                }
            }
            Phase::Parked(rows) if rows.first().is_some_and(|parked| parked.turn == turn) => {
                self.stop_parked(StopWhy::User, Some(ticket), out);
            }
            _ if self.last.as_ref().is_some_and(|last| last.id == turn) => {
                out.refuse(ticket, Refusal::NotLive)
            }
            _ => out.refuse(ticket, Refusal::StaleTurn),
        }
    }

    /// Stops the running turn: nothing it still says is shown, and what waits goes back.
    pub(super) fn begin_stop(&mut self, why: StopWhy, out: &mut Reaction) {
        if self.live().is_none_or(|turn| turn.stop.is_some()) {
            return;
        }
        let back = reason_of_stop(why);
        let drained = self.inbox.drain();
        let Some(turn) = self.live_mut() else { return };
        turn.stop = Some(why);
        for slot in &mut turn.slots {
            match slot.phase {
                SlotPhase::Beginning(_) | SlotPhase::Running => {
                    out.effects.push(Effect::Cancel { attempt: slot.attempt, why });
                }
                SlotPhase::Blocked(_) => out.effects.push(Effect::LastTry { attempt: slot.attempt }),
                SlotPhase::Settling(_) | SlotPhase::Settled(_) => {}
            }
        }
        let later = !turn.is_silent();
        turn.returned.extend(drained.iter().map(|stored| stored.input.clone()));
        if later {
            turn.returning.extend(drained.into_iter().map(|stored| (stored.input.id, back)));
        } else {
            self.return_now(&drained, back, out);
        }
    }

    pub(super) fn stop_row(&mut self, ticket: Ticket, row: &RowId, out: &mut Reaction) {
        let single = self.live().is_some_and(|turn| turn.slots.len() == 1);
        let Some(turn) = self.live_mut() else { return out.refuse(ticket, Refusal::NotLive) };
        let id = turn.id;
        match turn.slots.iter_mut().find(|slot| slot.row == *row) {
            None => out.refuse(ticket, Refusal::NoSuchRow),
            Some(slot) if !slot.is_running() && !slot.yields() => out.refuse(ticket, Refusal::NotLive),
            Some(_) if single => self.stop(ticket, id, out),
            Some(slot) => {
                slot.stop = Some(StopWhy::User);
                out.effects.push(Effect::Cancel { attempt: slot.attempt, why: StopWhy::User });
                out.reply(ticket, Reply::Done);
            }
        }
    }

    pub(super) fn expired(&mut self, why: StopWhy, out: &mut Reaction) {
        match (&self.phase, why) {
            (Phase::Parked(_), StopWhy::ApprovalIdle) => self.stop_parked(why, None, out),
            (Phase::Live(_), StopWhy::NoReaders) => self.begin_stop(why, out),
            _ => self.drop_stale(),
        }
    }

    /// Ends rows that wait, as stopped.
    pub(super) fn stop_parked(&mut self, why: StopWhy, ticket: Option<Ticket>, out: &mut Reaction) {
        let status = status_of_stop(Some(why)).unwrap_or(RowStatus::Stopped);
        let drained = self.inbox.drain();
        self.unpark(status, Some(why), out);
        if let Some(turn) = self.live_mut() {
            turn.waiting.extend(ticket);
            turn.returned.extend(drained.iter().map(|stored| stored.input.clone()));
        }
        self.return_now(&drained, ReturnReason::Stopped, out);
    }

    /// Ends rows that wait for the client, as complete: it says something else instead.
    pub(super) fn close_parked(&mut self, out: &mut Reaction) {
        self.unpark(RowStatus::Complete, None, out);
    }

    /// Rows wait from now on, unless it is for the client, and the user has said something else meanwhile.
    pub(super) fn await_decision(&mut self, out: &mut Reaction) {
        let Phase::Parked(rows) = &self.phase else { return };
        if !self.inbox.starts.is_empty() && rows.iter().all(|parked| parked.client) {
            self.close_parked(out);
        } else {
            out.effects.push(Effect::AwaitDecision);
        }
    }

    fn unpark(&mut self, status: RowStatus, stop: Option<StopWhy>, out: &mut Reaction) {
        let Phase::Parked(rows) = std::mem::replace(&mut self.phase, Phase::Idle) else { return };
        let Some(id) = rows.first().map(|parked| parked.turn) else { return };
        let mut turn = Turn::new(id, Vec::new());
        turn.stop = stop;
        let mut answers: Vec<InputId> = Vec::new();
        for parked in rows {
            answers.extend(answers_of(&parked));
            let settle = Settle {
                attempt: parked.attempt,
                row: parked.row.clone(),
                status,
                stop,
                returned: Vec::new(),
            };
            let starting = Starting::new(parked.attempt);
            let mut slot = Slot::new(parked.row, parked.model, parked.attempt, starting);
            slot.spoke = true;
            slot.sealed = true;
            slot.phase = SlotPhase::Settling(Ending::new(status));
            turn.slots.push(slot);
            out.effects.push(Effect::SettleStored(settle));
        }
        self.return_ids(answers, ReturnReason::Stale, out);
        self.phase = Phase::Live(turn);
    }

    /// A stop that comes when a row of the turn waits for answers already ends that row too.
    pub(super) fn stop_waiting_slots(&mut self, out: &mut Reaction) -> bool {
        let Some(turn) = self.live_mut() else { return false };
        let stop = turn.stop;
        let status = status_of_stop(stop).unwrap_or(RowStatus::Stopped);
        let mut any = false;
        for slot in &mut turn.slots {
            if slot.ending().is_some_and(|ending| ending.waits.is_some()) {
                any = true;
                slot.phase = SlotPhase::Settling(Ending::new(status));
                let (attempt, row) = (slot.attempt, slot.row.clone());
                out.effects.push(Effect::SettleStored(Settle {
                    attempt,
                    row,
                    status,
                    stop,
                    returned: Vec::new(),
                }));
            }
        }
        any
    }

    pub(super) fn withdraw(&mut self, ticket: Ticket, input: &InputId, out: &mut Reaction) {
        match self.inbox.remove(input) {
            Some(stored) => {
                self.return_now(std::slice::from_ref(&stored), ReturnReason::Withdrawn, out);
                out.reply(ticket, Reply::Done);
            }
            None => out.refuse(ticket, Refusal::NoSuchInput),
        }
    }

    pub(super) fn delete(&mut self, ticket: Ticket, out: &mut Reaction) {
        if self.deleting.is_some() {
            out.refuse(ticket, Refusal::NotAdmitting);
            return;
        }
        self.deleting = Some(Some(ticket));
        // The first is being written: written after the topic is gone, it would be the first of a new one.
        let unwritten = self.inbox.accepting.len().min(1);
        for accepting in self.inbox.accepting.drain(unwritten..) {
            out.refuse(accepting.ticket, Refusal::NotAdmitting);
        }
        match &mut self.phase {
            Phase::Live(_) => self.begin_stop(StopWhy::Deleted, out),
            Phase::Parked(rows) => {
                let answers: Vec<_> = rows.iter().flat_map(answers_of).collect();
                self.tell_returned(&answers, ReturnReason::Deleted, out);
                self.phase = Phase::Idle;
                self.delete_if_asked(out);
            }
            _ => self.delete_if_asked(out),
        }
    }

    /// Nothing runs and nothing is being written any more: the topic goes, with all that waits, if it shall.
    pub(super) fn delete_if_asked(&mut self, out: &mut Reaction) {
        if self.deleting.is_none() || !self.inbox.accepting.is_empty() {
            return;
        }
        let waiting: Vec<_> = self.inbox.drain().into_iter().map(|stored| stored.input.id).collect();
        self.tell_returned(&waiting, ReturnReason::Deleted, out);
        if let Some(ticket) = self.deleting.take() {
            out.effects.push(Effect::Delete { ticket });
            self.phase = Phase::Lost;
        }
    }

    pub(super) fn pause(&mut self) {
        if self.admission == Admission::Open {
            self.admission = Admission::Paused;
        }
    }

    pub(super) fn resume(&mut self, out: &mut Reaction) {
        if self.admission == Admission::Paused {
            self.admission = Admission::Open;
            self.ask_to_yield(out);
            self.resume_answered(out);
            self.try_start(out);
        }
    }

    pub(super) fn shut_down(&mut self, out: &mut Reaction) {
        self.admission = Admission::Closed;
        self.begin_stop(StopWhy::ShutDown, out);
        let waiting = self.inbox.drain();
        self.return_now(&waiting, ReturnReason::ShutDown, out);
    }

    /// Somebody else owns the topic: nothing more is written, and nobody waits in vain.
    pub(super) fn lose(&mut self, out: &mut Reaction) {
        let phase = std::mem::replace(&mut self.phase, Phase::Lost);
        if let Phase::Live(turn) = phase {
            for slot in turn.slots {
                if let SlotPhase::Beginning(starting) = &slot.phase
                    && let Some((ticket, _)) = starting.ticket
                {
                    out.reply(ticket, Reply::NotOwner);
                }
                if !slot.sealed {
                    out.effects.push(Effect::Cancel { attempt: slot.attempt, why: StopWhy::ShutDown });
                }
            }
            for ticket in turn.waiting {
                out.reply(ticket, Reply::NotOwner);
            }
        }
        for accepting in self.inbox.accepting.drain(..) {
            out.reply(accepting.ticket, Reply::NotOwner);
        }
        for start in self.inbox.starts.drain(..) {
            if let Some(ticket) = start.ticket {
                out.reply(ticket, Reply::NotOwner);
            }
        }
        if let Some(Some(ticket)) = self.deleting.take() {
            out.reply(ticket, Reply::NotOwner);
        }
        self.inbox.steers.clear();
        self.inbox.redirecting = None;
    }

    /// Questions that come when the topic is lost are answered; the rest is out of date.
    pub(super) fn after_loss(&mut self, fact: Fact, out: &mut Reaction) {
        match fact {
            Fact::Submitted { ticket, .. }
            | Fact::Stop { ticket, .. }
            | Fact::StopRow { ticket, .. }
            | Fact::Withdraw { ticket, .. }
            | Fact::Delete { ticket } => out.reply(ticket, Reply::NotOwner),
            _ => self.drop_stale(),
        }
    }
}

/// What was said in answer to the calls of a row.
pub(super) fn answers_of(parked: &ParkedRow) -> impl Iterator<Item = InputId> {
    parked.calls.iter().filter_map(|(_, answer)| answer.as_ref().map(|(input, _)| input.clone()))
}

/// Why what waited for a stopped turn goes back.
pub(super) fn reason_of_stop(why: StopWhy) -> ReturnReason {
    match why {
        StopWhy::ShutDown => ReturnReason::ShutDown,
        StopWhy::Deleted => ReturnReason::Deleted,
        _ => ReturnReason::Stopped,
    }
}
