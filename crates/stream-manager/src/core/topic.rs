use super::effect::Effect;
use super::fact::{Fact, Ticket};
use super::inbox::Inbox;
use super::turn::{ParkedRow, Slot, Turn};
use crate::port::{Refusal, Reply};
use crate::record::{
    ActiveAttempt, AttemptId, Fate, InputId, ReturnReason, StoredInput, TopicId, TopicState, TopicStatus,
    TurnId,
};

/// What has happened to a topic, as far as it matters for what happens next.
#[derive(Clone, Debug)]
pub(crate) struct Topic {
    pub(super) id: TopicId,
    pub(super) epoch: u64,
    pub(super) turns: u64,
    pub(super) attempts: u64,
    pub(super) phase: Phase,
    pub(super) inbox: Inbox,
    pub(super) admission: Admission,
    pub(super) last: Option<LastTurn>,
    pub(super) last_completed_at: Option<u64>,
    /// Who asked for the topic to be deleted.
    pub(super) deleting: Option<Option<Ticket>>,
    revision: u64,
    published: Option<TopicStatus>,
    stale: u64,
}

#[derive(Clone, Debug)]
pub(super) enum Phase {
    /// No turn runs.
    Idle,
    /// One does.
    Live(Turn),
    /// None does, and rows wait for answers.
    Parked(Vec<ParkedRow>),
    /// The topic is somebody else's, or deleted.
    Lost,
}

/// Whether turns may begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Admission {
    Open,
    Paused,
    Closed,
}

#[derive(Clone, Debug)]
pub(super) struct LastTurn {
    pub(super) id: TurnId,
    pub(super) state: TopicState,
    pub(super) attempts: Vec<ActiveAttempt>,
}

/// What shall be done about a fact, and what is to be told.
#[derive(Debug, Default)]
pub(crate) struct Reaction {
    pub(crate) effects: Vec<Effect>,
    pub(crate) events: Vec<Event>,
}

/// Something to be told to those who watch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// An input is used, or goes back.
    Fate { input: InputId, fate: Fate },
    /// A turn begins.
    TurnStarted { turn: TurnId },
    /// A turn is over; its attempts can be read for a while.
    TurnEnded { turn: TurnId, state: TopicState },
    /// The end of an attempt cannot be written.
    Blocked { attempt: AttemptId },
}

impl Reaction {
    pub(super) fn reply(&mut self, ticket: Ticket, reply: Reply) {
        self.effects.push(Effect::Reply { ticket, reply });
    }

    pub(super) fn refuse(&mut self, ticket: Ticket, why: Refusal) {
        self.reply(ticket, Reply::Refused { why });
    }

    pub(super) fn fates<'a>(&mut self, inputs: impl IntoIterator<Item = &'a InputId>, fate: &Fate) {
        let told = inputs.into_iter().map(|input| Event::Fate { input: input.clone(), fate: fate.clone() });
        self.events.extend(told);
    }
}

impl Topic {
    pub(crate) fn new(id: TopicId, epoch: u64) -> Self {
        Self {
            id,
            epoch,
            turns: 0,
            attempts: 0,
            phase: Phase::Idle,
            inbox: Inbox::default(),
            admission: Admission::Open,
            last: None,
            last_completed_at: None,
            deleting: None,
            revision: 0,
            published: None,
            stale: 0,
        }
    }

    /// Takes a fact. `now` is in milliseconds since 1970.
    pub(crate) fn apply(&mut self, fact: Fact, now: u64) -> Reaction {
        let mut out = Reaction::default();
        if matches!(self.phase, Phase::Lost) {
            self.after_loss(fact, &mut out);
            return out;
        }
        match fact {
            Fact::Submitted { ticket, input, when_live, turn } => {
                self.submitted(ticket, input, when_live, turn, &mut out);
            }
            Fact::Accepted { ticket, result } => self.accepted(ticket, result, now, &mut out),
            Fact::Begun { attempt, redirects } => self.begun(attempt, redirects, &mut out),
            Fact::NotBegun { attempt, why } => self.not_begun(attempt, why, now, &mut out),
            Fact::Spoke { attempt } => self.spoke(attempt, &mut out),
            Fact::Ended { attempt, end } => self.ended(attempt, end, &mut out),
            Fact::Persisted { attempt } => self.persisted(attempt, now, &mut out),
            Fact::NotPersisted { attempt } => self.not_persisted(attempt, &mut out),
            Fact::Abandoned { attempt } => self.abandoned(attempt, now, &mut out),
            Fact::Died { attempt } => self.died(attempt, &mut out),
            Fact::Redirected { attempt, inputs } => self.redirected(attempt, &inputs, &mut out),
            Fact::NotRedirected { attempt, inputs } => self.not_redirected(attempt, &inputs, &mut out),
            Fact::Stop { ticket, turn } => self.stop(ticket, turn, &mut out),
            Fact::StopRow { ticket, row } => self.stop_row(ticket, &row, &mut out),
            Fact::Expired { why } => self.expired(why, &mut out),
            Fact::Withdraw { ticket, input } => self.withdraw(ticket, &input, &mut out),
            Fact::Delete { ticket } => self.delete(ticket, &mut out),
            Fact::Paused => self.pause(),
            Fact::Resumed => self.resume(&mut out),
            Fact::ShutDown => self.shut_down(&mut out),
            Fact::LeaseLost => self.lose(&mut out),
        }
        if !self.is_lost() {
            self.publish(&mut out);
        }
        out
    }

    /// Forgets the attempts of the last turn: they cannot be read any more.
    pub(crate) fn forget_last(&mut self, turn: TurnId) -> Reaction {
        let mut out = Reaction::default();
        if let Some(last) = self.last.as_mut().filter(|last| last.id == turn) {
            last.attempts.clear();
            self.publish(&mut out);
        }
        out
    }

    /// Nothing runs, nothing is being written, nothing waits to begin.
    pub(crate) fn is_quiet(&self) -> bool {
        !matches!(self.phase, Phase::Live(_))
            && self.inbox.accepting.is_empty()
            && self.inbox.len() == 0
            && self.deleting.is_none()
    }

    /// Nothing is under way: what waits does so for a person, or for turns to be let in again.
    pub(crate) fn is_at_rest(&self) -> bool {
        !matches!(self.phase, Phase::Live(_)) && self.inbox.accepting.is_empty() && self.deleting.is_none()
    }

    pub(crate) fn is_lost(&self) -> bool {
        matches!(self.phase, Phase::Lost)
    }

    /// How many facts were about something that is over.
    pub(crate) fn stale(&self) -> u64 {
        self.stale
    }

    pub(crate) fn status(&self) -> TopicStatus {
        let mut status = TopicStatus::idle(self.id.clone());
        status.state = self.state();
        status.turn = self.live().map(|turn| turn.id).or(self.last.as_ref().map(|last| last.id));
        status.attempts = match &self.phase {
            Phase::Live(turn) => turn.slots.iter().filter_map(active).collect(),
            _ => self.last.as_ref().map(|last| last.attempts.clone()).unwrap_or_default(),
        };
        if let Phase::Parked(rows) = &self.phase {
            status.awaiting = rows.iter().map(|parked| parked.row.clone()).collect();
            status.turn = rows.first().map(|parked| parked.turn).or(status.turn);
        }
        status.queued = u32::try_from(self.inbox.len()).unwrap_or(u32::MAX);
        status.last_completed_at = self.last_completed_at;
        status.revision = self.revision;
        status.epoch = self.epoch;
        status
    }

    fn state(&self) -> TopicState {
        match &self.phase {
            Phase::Live(turn) if turn.stop.is_some() => TopicState::Stopping,
            Phase::Live(turn) if turn.slots.iter().any(|slot| slot.spoke) => TopicState::Streaming,
            Phase::Live(_) => TopicState::Pending,
            Phase::Parked(_) => TopicState::AwaitingApproval,
            Phase::Idle | Phase::Lost => self.last.as_ref().map_or(TopicState::Idle, |last| last.state),
        }
    }

    pub(super) fn publish(&mut self, out: &mut Reaction) {
        let mut status = self.status();
        let same = self.published.as_ref().is_some_and(|published| {
            status.revision = published.revision;
            status == *published
        });
        if !same {
            self.revision += 1;
            status.revision = self.revision;
            self.published = Some(status.clone());
            out.effects.push(Effect::Publish(status));
        }
    }

    pub(super) fn live(&self) -> Option<&Turn> {
        match &self.phase {
            Phase::Live(turn) => Some(turn),
            _ => None,
        }
    }

    pub(super) fn live_mut(&mut self) -> Option<&mut Turn> {
        match &mut self.phase {
            Phase::Live(turn) => Some(turn),
            _ => None,
        }
    }

    pub(super) fn next_attempt(&mut self) -> AttemptId {
        self.attempts += 1;
        AttemptId { epoch: self.epoch, number: self.attempts }
    }

    pub(super) fn next_turn(&mut self) -> TurnId {
        self.turns += 1;
        TurnId { epoch: self.epoch, number: self.turns }
    }

    /// A fact about something that is over.
    pub(super) fn drop_stale(&mut self) {
        self.stale += 1;
    }

    /// Gives inputs back outside of a settlement.
    pub(super) fn return_now(&mut self, inputs: &[StoredInput], why: ReturnReason, out: &mut Reaction) {
        self.return_ids(inputs.iter().map(|stored| stored.input.id.clone()).collect(), why, out);
    }

    pub(super) fn return_ids(&mut self, ids: Vec<InputId>, why: ReturnReason, out: &mut Reaction) {
        if !ids.is_empty() {
            self.tell_returned(&ids, why, out);
            out.effects.push(Effect::Return { inputs: ids, why });
        }
    }

    /// Tells that inputs went back; that it is written is seen to elsewhere.
    pub(super) fn tell_returned(&mut self, ids: &[InputId], why: ReturnReason, out: &mut Reaction) {
        for id in ids {
            self.inbox.give_back(id.clone());
        }
        out.fates(ids, &Fate::Returned { why });
    }
}

/// A slot that readers can follow: from when it is begun.
pub(super) fn active(slot: &Slot) -> Option<ActiveAttempt> {
    let mut active = ActiveAttempt::new(slot.attempt, slot.row.clone());
    active.model.clone_from(&slot.model);
    active.earlier.clone_from(&slot.earlier);
    if matches!(slot.phase, super::turn::SlotPhase::Beginning(_)) {
        // Its own log is not there yet; the one it continues is.
        active.attempt = active.earlier.pop()?;
    }
    Some(active)
}
