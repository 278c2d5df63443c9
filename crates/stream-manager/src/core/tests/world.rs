//! What a topic lives in, as a model: a store, tasks that run attempts, people who wait for replies. It does what the
//! topic asks for, in any order, and fails the test when the topic asks for what must not be.

use std::collections::{BTreeMap, BTreeSet};

use super::*;

/// Something under way, whose outcome the topic will hear of.
#[derive(Clone, Debug)]
pub(super) enum Pending {
    Accept {
        ticket: Ticket,
        input: Input,
    },
    Begin(Begin),
    /// A task that runs, or writes its end.
    Task(AttemptId),
    /// Written by no task.
    Stored(Settle),
    /// Written in the background.
    Return {
        inputs: Vec<InputId>,
        why: ReturnReason,
    },
    Repair(Settle),
}

#[derive(Clone, Debug, Default)]
pub(super) struct Task {
    /// What it is to write, once it has ended.
    pub(super) settling: Option<Settle>,
    pub(super) ended: bool,
    pub(super) blocked: bool,
    pub(super) last_try: bool,
    pub(super) cancelled: bool,
    pub(super) handed: Option<StoredInput>,
}

pub(super) struct World {
    pub(super) topic: Topic,
    pub(super) now: u64,
    pub(super) pending: Vec<Pending>,
    pub(super) tasks: BTreeMap<AttemptId, Task>,
    /// The store: each input, in order, with its fate.
    pub(super) inputs: BTreeMap<InputId, (u64, Input, Fate)>,
    /// Written, and the topic did not hear of it.
    pub(super) unheard: BTreeSet<InputId>,
    pub(super) told: BTreeMap<InputId, Fate>,
    pub(super) open: BTreeSet<Ticket>,
    pub(super) tickets: u64,
    pub(super) begun: BTreeSet<AttemptId>,
    pub(super) sealed: BTreeMap<AttemptId, Terminal>,
    pub(super) published: Option<TopicStatus>,
    pub(super) replies: BTreeMap<Ticket, Reply>,
    pub(super) deleted: bool,
    pub(super) events: Vec<Event>,
    ranks: BTreeMap<AttemptId, u8>,
    /// What has happened, to be printed if that is wrong.
    trace: Option<Vec<String>>,
}

impl World {
    pub(super) fn new() -> Self {
        Self {
            topic: Topic::new(TopicId::from("t"), 1),
            now: 1_000,
            pending: Vec::new(),
            tasks: BTreeMap::new(),
            inputs: BTreeMap::new(),
            unheard: BTreeSet::new(),
            told: BTreeMap::new(),
            open: BTreeSet::new(),
            tickets: 0,
            begun: BTreeSet::new(),
            sealed: BTreeMap::new(),
            published: None,
            replies: BTreeMap::new(),
            deleted: false,
            events: Vec::new(),
            ranks: BTreeMap::new(),
            trace: None,
        }
    }

    pub(super) fn traced() -> Self {
        let mut world = Self::new();
        world.trace = Some(Vec::new());
        world
    }

    /// A ticket for a question.
    pub(super) fn ticket(&mut self) -> Ticket {
        self.tickets += 1;
        self.open.insert(Ticket(self.tickets));
        Ticket(self.tickets)
    }

    pub(super) fn status(&self) -> TopicStatus {
        self.topic.status()
    }

    /// Tells the topic a fact, and does what it asks for.
    pub(super) fn tell(&mut self, fact: Fact) -> Vec<Effect> {
        self.now += 1;
        let reaction = self.topic.apply(fact.clone(), self.now);
        if let Some(trace) = &mut self.trace {
            trace.push(format!("{fact:?}\n    {:?}\n    {:?}", reaction.effects, reaction.events));
        }
        self.tell_of(&reaction.events, &fact);
        for effect in &reaction.effects {
            self.effect(effect);
        }
        self.check(&reaction);
        reaction.effects
    }

    fn tell_of(&mut self, events: &[Event], fact: &Fact) {
        for event in events {
            if let Event::Fate { input, fate } = event {
                let before = self.told.insert(input.clone(), fate.clone());
                assert_eq!(before, None, "{input} had a fate before it was {fate:?}, by {fact:?}");
                if let Fate::Consumed { .. } = fate {
                    assert!(matches!(fact, Fact::Begun { .. } | Fact::Redirected { .. }), "{fact:?}");
                    assert_eq!(self.inputs[input].2, *fate, "the store says so too");
                }
            }
            self.events.push(event.clone());
        }
    }

    fn effect(&mut self, effect: &Effect) {
        match effect {
            Effect::Accept { ticket, input } => {
                let other = self.pending.iter().any(|pending| matches!(pending, Pending::Accept { .. }));
                assert!(!other, "one input at a time is written");
                self.pending.push(Pending::Accept { ticket: *ticket, input: input.clone() });
            }
            Effect::Begin(begin) => {
                for planned in &begin.attempts {
                    let unique = self.ranks.insert(planned.attempt, 0).is_none();
                    assert!(unique, "{} begins twice", planned.attempt);
                    self.tasks.insert(planned.attempt, Task::default());
                }
                self.pending.push(Pending::Begin(begin.clone()));
            }
            Effect::Yield { attempt } => self.unsealed(*attempt, effect),
            Effect::Redirect { attempt, input } => {
                self.unsealed(*attempt, effect);
                let others = self.tasks.values().filter(|task| task.handed.is_some()).count();
                assert_eq!(others, 0, "one input at a time is handed over");
                self.task(*attempt).handed = Some(input.clone());
            }
            Effect::Cancel { attempt, .. } => {
                self.unsealed(*attempt, effect);
                if let Some(task) = self.tasks.get_mut(attempt) {
                    task.cancelled = true;
                }
            }
            Effect::Settle(settle) => {
                self.unsealed(settle.attempt, effect);
                let task = self.task(settle.attempt);
                assert!(task.ended && task.settling.is_none(), "an end is chosen once: {settle:?}");
                task.settling = Some(settle.clone());
                self.ranks.insert(settle.attempt, 2);
            }
            Effect::SettleStored(settle) => {
                assert!(!self.tasks.contains_key(&settle.attempt), "its task writes the end: {settle:?}");
                self.ranks.insert(settle.attempt, 2);
                self.pending.push(Pending::Stored(settle.clone()));
            }
            Effect::Repair(settle) => self.pending.push(Pending::Repair(settle.clone())),
            Effect::LastTry { attempt } => {
                self.unsealed(*attempt, effect);
                if let Some(task) = self.tasks.get_mut(attempt) {
                    task.last_try = true;
                }
            }
            Effect::Seal { attempt, terminal } => {
                assert!(self.begun.contains(attempt), "{attempt} did not begin");
                let before = self.sealed.insert(*attempt, terminal.clone());
                assert_eq!(before, None, "{attempt} has one end");
                self.tasks.remove(attempt);
                self.forget(*attempt);
            }
            Effect::Return { inputs, why } => {
                self.pending.push(Pending::Return { inputs: inputs.clone(), why: *why });
            }
            Effect::Reply { ticket, reply } => self.reply(*ticket, reply.clone()),
            Effect::Publish(status) => {
                if let Some(before) = &self.published {
                    assert!(status.supersedes(before), "{status:?} after {before:?}");
                }
                self.published = Some(status.clone());
            }
            Effect::AwaitDecision => assert!(matches!(self.topic.phase, Phase::Parked(_))),
            Effect::Delete { ticket } => {
                let writing = self.pending.iter().any(|pending| matches!(pending, Pending::Accept { .. }));
                assert!(!writing, "what is written after the topic is gone makes a new one");
                self.deleted = true;
                if let Some(ticket) = ticket {
                    self.reply(*ticket, Reply::Done);
                }
            }
        }
    }

    fn reply(&mut self, ticket: Ticket, reply: Reply) {
        assert!(self.open.remove(&ticket), "{ticket:?} has its reply already: {reply:?}");
        self.replies.insert(ticket, reply);
    }

    fn unsealed(&self, attempt: AttemptId, effect: &Effect) {
        assert!(!self.sealed.contains_key(&attempt), "{attempt} is over: {effect:?}");
    }

    /// A task that is gone is asked nothing that somebody waits for.
    fn task(&mut self, attempt: AttemptId) -> &mut Task {
        self.tasks.get_mut(&attempt).unwrap_or_else(|| panic!("{attempt} has no task"))
    }

    fn forget(&mut self, attempt: AttemptId) {
        self.pending.retain(|pending| !matches!(pending, Pending::Task(id) if *id == attempt));
    }

    /// What holds after every fact.
    fn check(&mut self, reaction: &Reaction) {
        if self.topic.is_lost() {
            return;
        }
        let status = self.topic.status();
        assert_eq!(self.published.as_ref(), Some(&status), "what is told is what is");
        let continues = reaction
            .effects
            .iter()
            .any(|effect| matches!(effect, Effect::Begin(Begin { kind: BeginKind::Continue { .. }, .. })));
        assert!(!continues || status.state.is_live(), "a row that goes on is live: {status:?}");
        let Phase::Live(turn) = &self.topic.phase else { return };
        assert!(!turn.is_settled(), "a turn that is settled is over");
        assert_eq!(status.state == TopicState::Stopping, turn.stop.is_some());
        for slot in &turn.slots {
            let rank = match slot.phase {
                SlotPhase::Beginning(_) => 0,
                SlotPhase::Running => 1,
                SlotPhase::Settling(_) => 2,
                SlotPhase::Blocked(_) => 3,
                SlotPhase::Settled(_) => 4,
            };
            let before = self.ranks.insert(slot.attempt, rank).unwrap_or(rank);
            assert!(before <= rank, "{} moved back", slot.attempt);
        }
    }

    /// The store takes an input, or has it already.
    pub(super) fn write_down(&mut self, input: &Input) -> Accepted {
        if let Some((seq, _, fate)) = self.inputs.get(&input.id) {
            return Accepted::new(*seq, Known::Is(fate.clone()), true);
        }
        let seq = self.inputs.len() as u64 + 1;
        self.inputs.insert(input.id.clone(), (seq, input.clone(), Fate::Queued));
        Accepted::new(seq, Known::Is(Fate::Queued), false)
    }

    /// The store consumes inputs and opens rows, and the tasks run.
    pub(super) fn begin(&mut self, begin: &Begin, redirects: bool) -> Vec<Effect> {
        self.consume(&begin.kind.inputs(), begin.turn, begin.id());
        for planned in &begin.attempts {
            self.begun.insert(planned.attempt);
            self.pending.push(Pending::Task(planned.attempt));
        }
        self.tell(Fact::Begun { attempt: begin.id(), redirects })
    }

    pub(super) fn not_begin(&mut self, begin: &Begin, why: NotBegun) -> Vec<Effect> {
        for planned in &begin.attempts {
            self.tasks.remove(&planned.attempt);
        }
        self.tell(Fact::NotBegun { attempt: begin.id(), why })
    }

    pub(super) fn consume(&mut self, inputs: &[InputId], turn: TurnId, attempt: AttemptId) {
        for input in inputs {
            let (_, _, fate) = self.inputs.get_mut(input).unwrap();
            assert_eq!(*fate, Fate::Queued, "{input} is used twice");
            *fate = Fate::Consumed { turn, attempt };
        }
    }

    /// The run of a task is over.
    pub(super) fn end(&mut self, attempt: AttemptId, end: End) -> Vec<Effect> {
        self.task(attempt).ended = true;
        self.tell(Fact::Ended { attempt, end })
    }

    /// The driver of an attempt takes up what it was handed.
    pub(super) fn take_up(&mut self, attempt: AttemptId) -> Vec<Effect> {
        let Some(stored) = self.task(attempt).handed.take() else { return Vec::new() };
        let Phase::Live(turn) = &self.topic.phase else { panic!("a task runs without a turn") };
        let inputs = vec![stored.input.id];
        self.consume(&inputs, turn.id, attempt);
        self.tell(Fact::Redirected { attempt, inputs })
    }

    pub(super) fn hand_back(&mut self, attempt: AttemptId) -> Vec<Effect> {
        let Some(stored) = self.task(attempt).handed.take() else { return Vec::new() };
        self.tell(Fact::NotRedirected { attempt, inputs: vec![stored.input.id] })
    }

    /// The end of an attempt is written.
    pub(super) fn persist(&mut self, attempt: AttemptId) -> Vec<Effect> {
        let task = self.task(attempt);
        let settle = task.settling.take().expect("an end to write");
        (task.blocked, task.last_try, task.handed) = (false, false, None);
        self.give_back(&settle.returned);
        self.tell(Fact::Persisted { attempt })
    }

    pub(super) fn block(&mut self, attempt: AttemptId) -> Vec<Effect> {
        self.task(attempt).blocked = true;
        self.tell(Fact::NotPersisted { attempt })
    }

    pub(super) fn abandon(&mut self, attempt: AttemptId) -> Vec<Effect> {
        let task = self.task(attempt);
        (task.settling, task.handed) = (None, None);
        self.tell(Fact::Abandoned { attempt })
    }

    pub(super) fn die(&mut self, attempt: AttemptId) -> Vec<Effect> {
        self.tasks.remove(&attempt);
        self.forget(attempt);
        self.tell(Fact::Died { attempt })
    }

    pub(super) fn give_back(&mut self, returned: &[(InputId, ReturnReason)]) {
        for (input, why) in returned {
            if let Some((_, _, fate @ Fate::Queued)) = self.inputs.get_mut(input) {
                *fate = Fate::Returned { why: *why };
            }
        }
    }
}

impl Drop for World {
    fn drop(&mut self) {
        for line in self.trace.iter().flatten().filter(|_| std::thread::panicking()) {
            eprintln!("{line}");
        }
    }
}
