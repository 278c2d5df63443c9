use ai_core::Decision;
use ai_provider::{Id, Message, UserPart};

use super::effect::Effect;
use super::fact::{NotAccepted, StopWhy, Ticket};
use super::inbox::{Accepting, Start, row_of};
use super::topic::{Admission, Phase, Reaction, Topic};
use super::turn::{ParkedRow, SlotPhase};
use crate::port::{Accepted, Refusal, Reply, StoreErrorKind, WhenLive};
use crate::record::{
    Fate, Input, InputBody, InputId, Known, Queue, ReturnReason, RowId, StoredInput, TurnId,
};
use crate::source::CallAnswer;

/// How many inputs may wait on one topic: a person types a few; a program that does not look at receipts is stopped
/// before it fills the memory.
const QUEUE_LIMIT: usize = 256;

impl Topic {
    pub(super) fn submitted(
        &mut self,
        ticket: Ticket,
        input: Input,
        when_live: WhenLive,
        turn: Option<TurnId>,
        out: &mut Reaction,
    ) {
        if let Err(why) = self.admit(&input, when_live, turn) {
            out.refuse(ticket, why);
            return;
        }
        let accepting = Accepting { ticket, input, when_live };
        if self.inbox.accepting.is_empty() {
            out.effects.push(Effect::Accept { ticket, input: accepting.input.clone() });
        }
        self.inbox.accepting.push_back(accepting);
    }

    fn admit(&self, input: &Input, when_live: WhenLive, turn: Option<TurnId>) -> Result<(), Refusal> {
        if self.admission == Admission::Closed || self.deleting.is_some() {
            return Err(Refusal::NotAdmitting);
        }
        if self.inbox.len() + self.inbox.accepting.len() >= QUEUE_LIMIT {
            return Err(Refusal::QueueFull);
        }
        let mut models: Vec<_> = input.models.iter().collect();
        models.sort_unstable();
        if models.windows(2).any(|pair| matches!(pair, [a, b] if a == b)) {
            return Err(Refusal::DuplicateModel);
        }
        if let Some(turn) = turn {
            let current = match &self.phase {
                Phase::Parked(rows) => rows.first().map(|parked| parked.turn),
                _ => self.live().map(|turn| turn.id),
            };
            match current {
                None => return Err(Refusal::NotLive),
                Some(current) if current != turn => return Err(Refusal::StaleTurn),
                Some(_) => {}
            }
        }
        match input.body.known().ok_or(Refusal::EmptyInput)? {
            InputBody::Message { message, .. } => {
                if !says_something(message) {
                    return Err(Refusal::EmptyInput);
                }
                let free = match &self.phase {
                    Phase::Idle => true,
                    Phase::Parked(rows) => rows.iter().all(|parked| parked.client),
                    Phase::Live(_) | Phase::Lost => false,
                };
                let idle = free && self.inbox.len() == 0;
                let busy = !idle || !self.inbox.accepting.is_empty();
                if when_live == WhenLive::Reject && busy { Err(Refusal::TopicBusy) } else { Ok(()) }
            }
            InputBody::Regenerate { row } | InputBody::Append { beside: row } => match &self.phase {
                Phase::Idle => Ok(()),
                Phase::Live(_) => self.may_join(input, row),
                _ => Err(Refusal::TopicBusy),
            },
            body @ (InputBody::Approval { .. } | InputBody::ToolResult { .. }) => self.may_answer(body),
        }
    }

    /// Whether a model may be added to the running turn, or put in the place of one.
    fn may_join(&self, input: &Input, row: &RowId) -> Result<(), Refusal> {
        let Some(turn) = self.live().filter(|turn| turn.stop.is_none()) else {
            return Err(Refusal::TopicBusy);
        };
        let Some(slot) = turn.slots.iter().find(|slot| slot.row == *row) else {
            return Err(Refusal::TopicBusy);
        };
        let append = matches!(input.body.known(), Some(InputBody::Append { .. }));
        let mut others = turn.slots.iter().filter(|other| append || other.row != *row);
        match input.models.as_slice() {
            [model] if others.any(|other| other.model.as_ref() == Some(model)) => {
                return Err(Refusal::DuplicateModel);
            }
            [_] => {}
            [] if !append => {}
            _ => return Err(Refusal::NoSuchModel),
        }
        match &slot.phase {
            _ if append => Ok(()),
            // A row that is still written, or waits, is stopped before it is answered anew.
            SlotPhase::Settled(ending) if ending.waits.is_none() => Ok(()),
            _ => Err(Refusal::TopicBusy),
        }
    }

    fn may_answer(&self, body: &InputBody) -> Result<(), Refusal> {
        let (row, call, answer) = answer_of(body).ok_or(Refusal::NoSuchCall)?;
        let Phase::Parked(rows) = &self.phase else { return Err(Refusal::NoSuchCall) };
        let parked = rows.iter().find(|parked| parked.row == row).ok_or(Refusal::NoSuchCall)?;
        let (_, known) = parked.calls.iter().find(|(id, _)| *id == call).ok_or(Refusal::NoSuchCall)?;
        let is_result = matches!(answer, CallAnswer::Result(_));
        if parked.client != is_result {
            return Err(Refusal::NoSuchCall);
        }
        let coming = self.inbox.accepting.iter().filter_map(|other| answer_of(other.input.body.known()?));
        let coming = coming.filter(|(r, c, _)| *r == row && *c == call).map(|(_, _, answer)| answer);
        let mut others = known.iter().map(|(_, answer)| answer.clone()).chain(coming);
        if others.any(|other| other != answer) { Err(Refusal::AlreadyDecided) } else { Ok(()) }
    }

    pub(super) fn accepted(
        &mut self,
        ticket: Ticket,
        result: Result<Accepted, NotAccepted>,
        now: u64,
        out: &mut Reaction,
    ) {
        if self.inbox.accepting.front().is_none_or(|head| head.ticket != ticket) {
            self.drop_stale();
            return;
        }
        let Some(head) = self.inbox.accepting.pop_front() else { return };
        if let Some(next) = self.inbox.accepting.front() {
            out.effects.push(Effect::Accept { ticket: next.ticket, input: next.input.clone() });
        }
        match result {
            Err(NotAccepted::Refused(why)) => out.refuse(ticket, why),
            Err(NotAccepted::Store(kind)) => out.refuse(ticket, refusal_of(kind)),
            Ok(accepted) if accepted.duplicate && !self.is_forgotten(&accepted, &head.input.id) => {
                let turn = match accepted.fate {
                    Known::Is(Fate::Consumed { turn, .. }) => Some(turn),
                    _ => self.live().map(|turn| turn.id),
                };
                out.reply(ticket, Reply::Accepted { seq: accepted.seq, turn, duplicate: true });
            }
            Ok(accepted) => {
                let stored = StoredInput::queued(accepted.seq, head.input, now);
                self.take_in(ticket, stored, head.when_live, out);
            }
        }
        if matches!(self.phase, Phase::Idle) {
            self.delete_if_asked(out);
        }
    }

    /// Whether an input was written down without this topic having heard of it: the answer of the store was lost.
    fn is_forgotten(&self, accepted: &Accepted, id: &InputId) -> bool {
        accepted.fate == Known::Is(Fate::Queued) && !self.knows(id) && !self.inbox.gave_back(id)
    }

    /// Whether an input waits here, or is on its way into the conversation.
    fn knows(&self, id: &InputId) -> bool {
        let slots = self.live().into_iter().flat_map(|turn| &turn.slots);
        let returning =
            self.live().into_iter().flat_map(|turn| &turn.returning).any(|(known, _)| known == id);
        let parked = match &self.phase {
            Phase::Parked(rows) => rows.as_slice(),
            _ => &[],
        };
        self.inbox.has(id)
            || returning
            || slots.into_iter().any(|slot| slot.holds(id))
            || parked.iter().any(|row| row.holds(id))
    }

    fn take_in(&mut self, ticket: Ticket, stored: StoredInput, when_live: WhenLive, out: &mut Reaction) {
        if self.deleting.is_some() {
            // It goes with the topic.
            self.tell_returned(&[stored.input.id], ReturnReason::Deleted, out);
            out.refuse(ticket, Refusal::NotAdmitting);
            return;
        }
        if self.admission == Admission::Closed {
            self.return_now(std::slice::from_ref(&stored), ReturnReason::ShutDown, out);
            out.refuse(ticket, Refusal::NotAdmitting);
            return;
        }
        let Some(body) = stored.input.body.known().cloned() else { return };
        match body {
            InputBody::Message { queue, .. } => self.take_message(ticket, stored, queue, when_live, out),
            InputBody::Regenerate { .. } | InputBody::Append { .. } => {
                let row = row_of(&body).cloned();
                match (&self.phase, row) {
                    (Phase::Live(_), Some(row)) => match self.may_join(&stored.input, &row) {
                        Ok(()) => self.join(ticket, stored, &row, out),
                        Err(why) => self.give_back(ticket, &stored, why, out),
                    },
                    (Phase::Idle, _) => self.start_with(ticket, stored, out),
                    _ => self.give_back(ticket, &stored, Refusal::TopicBusy, out),
                }
            }
            InputBody::Approval { .. } | InputBody::ToolResult { .. } => {
                self.take_answer(ticket, stored, &body, out);
            }
        }
    }

    fn take_message(
        &mut self,
        ticket: Ticket,
        stored: StoredInput,
        queue: Queue,
        when_live: WhenLive,
        out: &mut Reaction,
    ) {
        let seq = stored.seq;
        match &self.phase {
            Phase::Live(turn) if turn.stop.is_none() && when_live == WhenLive::Interrupt => {
                self.begin_stop(StopWhy::Replaced, out);
                self.start_with(ticket, stored, out);
            }
            Phase::Live(turn) if turn.stop.is_none() && queue == Queue::Steer => {
                let turn = turn.id;
                out.reply(ticket, Reply::Accepted { seq, turn: Some(turn), duplicate: false });
                self.steer(stored, out);
            }
            Phase::Parked(_) if when_live == WhenLive::Interrupt => {
                self.stop_parked(StopWhy::Replaced, None, out);
                self.start_with(ticket, stored, out);
            }
            Phase::Parked(rows) if rows.iter().all(|parked| parked.client) => {
                self.inbox.starts.push_back(Start { inputs: vec![stored], ticket: Some(ticket) });
                self.close_parked(out);
            }
            _ => self.start_with(ticket, stored, out),
        }
        self.reply_to_queued(out);
    }

    /// What the user says while a turn runs.
    fn steer(&mut self, stored: StoredInput, out: &mut Reaction) {
        let asked = !self.inbox.steers.is_empty();
        self.inbox.steers.push_back(stored);
        // What waits behind others waits for them: it is handed over after them, or they have asked to yield already.
        if !asked {
            self.say_what_waits(out);
        }
    }

    pub(super) fn ask_to_yield(&self, out: &mut Reaction) {
        if self.inbox.steers.is_empty() || self.admission != Admission::Open {
            return;
        }
        let running = self.live().into_iter().flat_map(|turn| &turn.slots);
        let running = running.filter(|slot| matches!(slot.phase, SlotPhase::Running));
        out.effects.extend(running.map(|slot| Effect::Yield { attempt: slot.attempt }));
    }

    fn start_with(&mut self, ticket: Ticket, stored: StoredInput, out: &mut Reaction) {
        self.inbox.starts.push_back(Start { inputs: vec![stored], ticket: Some(ticket) });
        self.try_start(out);
        self.reply_to_queued(out);
    }

    /// Those whose input waits for a turn to come hear so now.
    fn reply_to_queued(&mut self, out: &mut Reaction) {
        for start in &mut self.inbox.starts {
            let seq = start.inputs.first().map_or(0, |stored| stored.seq);
            if let Some(ticket) = start.ticket.take() {
                out.reply(ticket, Reply::Accepted { seq, turn: None, duplicate: false });
            }
        }
    }

    fn take_answer(&mut self, ticket: Ticket, stored: StoredInput, body: &InputBody, out: &mut Reaction) {
        let seq = stored.seq;
        let answer = self.may_answer(body).ok().and_then(|()| answer_of(body));
        let (Some((row, call, answer)), Phase::Parked(rows)) = (answer, &mut self.phase) else {
            self.give_back(ticket, &stored, Refusal::NoSuchCall, out);
            return;
        };
        let Some(at) = rows.iter().position(|parked| parked.row == row) else { return };
        let Some(parked) = rows.get_mut(at) else { return };
        let turn = parked.turn;
        let mut repeated = false;
        if let Some((_, known)) = parked.calls.iter_mut().find(|(id, _)| *id == call) {
            repeated = known.is_some();
            known.get_or_insert((stored.input.id.clone(), answer));
        }
        if repeated {
            // The same again under another id: what it says is taken already.
            self.return_now(std::slice::from_ref(&stored), ReturnReason::Stale, out);
        }
        out.reply(ticket, Reply::Accepted { seq, turn: Some(turn), duplicate: repeated });
        self.resume_answered(out);
    }

    /// Rows that have all their answers go on.
    pub(super) fn resume_answered(&mut self, out: &mut Reaction) {
        if self.admission != Admission::Open {
            return;
        }
        let Phase::Parked(rows) = &mut self.phase else { return };
        if rows.is_empty() || !rows.iter().all(ParkedRow::is_answered) {
            return;
        }
        let rows = std::mem::take(rows);
        self.begin_resumed(rows, out);
    }

    fn give_back(&mut self, ticket: Ticket, stored: &StoredInput, why: Refusal, out: &mut Reaction) {
        self.return_now(std::slice::from_ref(stored), ReturnReason::Stale, out);
        out.refuse(ticket, why);
    }
}

fn answer_of(body: &InputBody) -> Option<(RowId, Id, CallAnswer)> {
    match body {
        InputBody::Approval { row, call_id, approved, reason } => {
            let decision = Decision { approved: *approved, reason: reason.clone() };
            Some((row.clone(), call_id.clone(), CallAnswer::Decided(decision)))
        }
        InputBody::ToolResult { row, call_id, output } => {
            Some((row.clone(), call_id.clone(), CallAnswer::Result(output.clone())))
        }
        _ => None,
    }
}

fn refusal_of(kind: StoreErrorKind) -> Refusal {
    match kind {
        StoreErrorKind::NotFound => Refusal::NoSuchRow,
        StoreErrorKind::Fenced => Refusal::NotAdmitting,
        _ => Refusal::StoreBlocked,
    }
}

/// A message of the user with anything in it but white space.
fn says_something(message: &Message) -> bool {
    match message {
        Message::User(user) => user.parts.iter().any(|part| match part {
            UserPart::Text(text) => !text.text.trim().is_empty(),
            _ => true,
        }),
        _ => false,
    }
}
