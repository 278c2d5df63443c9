//! The task of one topic: it alone owns the topic's state. Facts come in, effects go out; what takes time runs in tasks
//! of its own, and what comes of it is the next fact.

mod begin;
mod effects;
mod load;
mod plan;
mod timers;

use std::collections::HashMap;
use std::sync::Arc;

use agent_loop::{DataChunk, UiChunk};
use serde_json::json;
use tokio::sync::{broadcast, mpsc, oneshot, watch};
use tokio::time::Instant;
use tokio_util::task::TaskTracker;

use crate::attempt::{Handle, Order};
use crate::core::{Effect, Event, Fact, Found, Reaction, StopWhy, Ticket, Topic};
use crate::facts::{Facts, Heard};
use crate::inspect::{AttemptInspection, Inspection, TopicEvent};
use crate::port::{Acquired, Command, Lease, Refusal, Reply};
use crate::record::{AttemptId, Fate, TopicId, TurnId};
use crate::shared::{Shared, now_ms};
use effects::{in_time, until_killed};
use timers::Timers;

/// What the manager tells a topic.
#[derive(Debug)]
pub(crate) enum Mail {
    /// Do this.
    Verb { command: Box<Command>, reply: oneshot::Sender<Reply> },
    /// Say how it stands, in detail.
    Inspect(oneshot::Sender<Inspection>),
}

/// A topic and what belongs to it.
pub(crate) struct Actor {
    topic: Topic,
    shared: Arc<Shared>,
    lease: Lease,
    mail: mpsc::Receiver<Mail>,
    /// How many readers of this node follow it.
    readers: watch::Receiver<usize>,
    /// How many holds there are.
    holds: watch::Receiver<usize>,
    facts: Facts,
    heard: Heard,
    attempts: HashMap<AttemptId, Handle>,
    /// The attempts that have logs, and are of no turn that is over.
    logs: Vec<AttemptId>,
    replies: HashMap<Ticket, oneshot::Sender<Reply>>,
    tickets: u64,
    told: broadcast::Sender<TopicEvent>,
    timers: Timers,
    /// When leases were asked for that were granted.
    renewed: mpsc::UnboundedSender<Instant>,
    granted: mpsc::UnboundedReceiver<Instant>,
    /// What runs for this topic.
    work: TaskTracker,
    shutting_down: bool,
}

/// How many commands may wait for a topic. Who sends more waits: the topic answers each in microseconds.
pub(crate) const MAILBOX: usize = 256;

/// Runs a topic as long as this node owns it and there is something to do.
pub(crate) async fn run(
    shared: Arc<Shared>,
    id: TopicId,
    mut mail: mpsc::Receiver<Mail>,
    readers: watch::Receiver<usize>,
    told: broadcast::Sender<TopicEvent>,
) {
    let kill = shared.kill.clone();
    let owned = tokio::select! {
        () = kill.cancelled() => Err(Reply::NotOwner),
        owned = Box::pin(own(&shared, &id)) => owned,
    };
    let Owned { lease, asked, found, ended } = match owned {
        Ok(owned) => owned,
        Err(reply) => return refuse_all(&mut mail, &reply).await,
    };
    let (facts, heard) = Facts::channel();
    let (renewed, granted) = mpsc::unbounded_channel();
    let mut holds = shared.holds.subscribe();
    let paused = *holds.borrow_and_update() > 0;
    let mut actor = Actor {
        topic: Topic::new(id, lease.epoch),
        timers: Timers::new(&shared.settings, asked),
        shared,
        lease,
        mail,
        readers,
        holds,
        facts,
        heard,
        attempts: HashMap::new(),
        logs: Vec::new(),
        replies: HashMap::new(),
        tickets: 0,
        told,
        renewed,
        granted,
        work: TaskTracker::new(),
        shutting_down: false,
    };
    for (turn, attempt) in ended {
        actor.timers.turn_ended(turn, vec![attempt]);
    }
    if paused {
        actor.hear(Fact::Paused);
    }
    let reaction = actor.topic.recover(found);
    actor.react(reaction);
    // Closed from the beginning: what is waited for is that nothing runs, not that nothing will.
    actor.work.close();
    actor.work().await;
}

/// A topic that this node owns, as it was found.
struct Owned {
    lease: Lease,
    /// When the lease was asked for.
    asked: Instant,
    found: Found,
    /// What an owner before had left open.
    ended: Vec<(TurnId, AttemptId)>,
}

/// Becomes the owner of a topic, or says what is told to those who ask for it.
async fn own(shared: &Shared, id: &TopicId) -> Result<Owned, Reply> {
    let asked = Instant::now();
    let acquiring = shared.ownership.acquire(id, &shared.node, shared.settings.lease);
    let lease = match in_time(shared, acquiring).await {
        Ok(Acquired::Held(lease)) => lease,
        Ok(Acquired::Other(_)) => return Err(Reply::NotOwner),
        Err(error) => {
            tracing::warn!(%error, topic = %id, "a topic could not be owned");
            return Err(blocked());
        }
    };
    match load::load(shared, &lease).await {
        Ok((found, ended)) => Ok(Owned { lease, asked, found, ended }),
        Err(error) => {
            tracing::warn!(%error, topic = %id, "a topic could not be loaded");
            // Best effort: it runs out by itself.
            let _ = in_time(shared, shared.ownership.release(&lease)).await;
            Err(if error.is_fenced() { Reply::NotOwner } else { blocked() })
        }
    }
}

fn blocked() -> Reply {
    Reply::Refused { why: Refusal::StoreBlocked }
}

/// Answers what has come for a topic that this node does not run.
async fn refuse_all(mail: &mut mpsc::Receiver<Mail>, reply: &Reply) {
    mail.close();
    while let Some(letter) = mail.recv().await {
        if let Mail::Verb { reply: to, .. } = letter {
            // Who has gone needs no answer.
            let _ = to.send(reply.clone());
        }
    }
}

impl Actor {
    async fn work(mut self) {
        let (kill, closing) = (self.shared.kill.clone(), self.shared.closing.clone());
        while !self.is_over() {
            tokio::select! {
                biased;
                () = kill.cancelled() => break,
                Some(fact) = self.heard.recv() => self.hear(*fact),
                () = closing.cancelled(), if !self.shutting_down => self.shut_down(),
                Ok(()) = self.holds.changed() => self.look_at_holds(),
                letter = self.mail.recv() => match letter {
                    Some(letter) => self.read(letter),
                    None => self.shut_down(),
                },
                Ok(()) = self.readers.changed() => self.count_readers(),
                Some(asked) = self.granted.recv() => self.timers.granted(asked),
                () = self.work.wait(), if self.is_ending() && !self.work.is_empty() => {}
                due = self.timers.next() => self.timer(due),
            }
        }
        Box::pin(self.leave()).await;
    }

    /// Whether only what runs keeps the topic from being over.
    fn is_ending(&self) -> bool {
        self.shutting_down || self.timers.is_idle_over()
    }

    fn is_over(&self) -> bool {
        if self.topic.is_lost() {
            return true;
        }
        let quiet = if self.shutting_down { self.topic.is_at_rest() } else { self.topic.is_quiet() };
        self.is_ending() && quiet && self.attempts.is_empty() && self.work.is_empty() && self.heard.is_empty()
    }

    fn hear(&mut self, fact: Fact) {
        if matches!(fact, Fact::Died { .. } | Fact::NotBegun { .. }) {
            self.attempts.retain(|_, handle| !handle.orders.is_closed());
        }
        let reaction = self.topic.apply(fact, now_ms());
        self.react(reaction);
    }

    fn read(&mut self, letter: Mail) {
        self.timers.busy();
        match letter {
            Mail::Verb { command, reply } => self.verb(*command, reply),
            // Who has gone needs no answer.
            Mail::Inspect(reply) => drop(reply.send(self.inspect())),
        }
    }

    fn look_at_holds(&mut self) {
        let paused = *self.holds.borrow_and_update() > 0;
        self.hear(if paused { Fact::Paused } else { Fact::Resumed });
    }

    fn count_readers(&mut self) {
        let count = *self.readers.borrow_and_update();
        self.timers.readers(count, self.topic.status().state.is_live());
    }

    fn shut_down(&mut self) {
        if !std::mem::replace(&mut self.shutting_down, true) {
            self.hear(Fact::ShutDown);
        }
    }

    fn verb(&mut self, command: Command, reply: oneshot::Sender<Reply>) {
        self.tickets += 1;
        let ticket = Ticket(self.tickets);
        let fact = match command {
            Command::Submit { input, when_live, turn } => Fact::Submitted { ticket, input, when_live, turn },
            Command::Stop { turn } => Fact::Stop { ticket, turn },
            Command::StopRow { row } => Fact::StopRow { ticket, row },
            Command::Withdraw { input } => Fact::Withdraw { ticket, input },
            Command::Delete => Fact::Delete { ticket },
            Command::Status => {
                let _ = reply.send(Reply::Status { status: self.topic.status() });
                return;
            }
        };
        self.replies.insert(ticket, reply);
        self.hear(fact);
    }

    /// Does what a fact asks for.
    fn react(&mut self, reaction: Reaction) {
        for event in &reaction.events {
            self.tell(event);
        }
        let (told, others): (Vec<_>, Vec<_>) =
            reaction.effects.into_iter().partition(|effect| matches!(effect, Effect::Publish(_)));
        for effect in told.into_iter().chain(others) {
            self.effect(effect);
        }
    }

    fn tell(&mut self, event: &Event) {
        let topic = self.lease.topic.clone();
        let told = match event {
            Event::Fate { input, fate } => {
                let data = match fate {
                    Fate::Returned { why } => json!({ "inputId": input, "fate": "returned", "why": why }),
                    _ => json!({ "inputId": input, "fate": "consumed" }),
                };
                let chunk = DataChunk { name: "input".to_owned(), id: None, data, transient: Some(true) };
                let told = |attempt: &AttemptId| match fate {
                    Fate::Consumed { attempt: answers, .. } => attempt == answers,
                    _ => true,
                };
                for (_, handle) in self.attempts.iter().filter(|(attempt, _)| told(attempt)) {
                    handle.order(Order::Note(Box::new(UiChunk::Data(chunk.clone()))));
                }
                TopicEvent::Input { topic, input: input.clone(), fate: fate.clone() }
            }
            Event::TurnStarted { turn } => {
                self.timers.turn_started();
                TopicEvent::TurnStarted { topic, turn: *turn }
            }
            Event::TurnEnded { turn, state } => {
                self.timers.turn_ended(*turn, std::mem::take(&mut self.logs));
                TopicEvent::TurnEnded { topic, turn: *turn, state: *state }
            }
            Event::Blocked { attempt } => TopicEvent::Blocked { topic, attempt: *attempt },
        };
        // Without a listener nobody needs to know.
        let _ = self.told.send(told);
    }

    fn inspect(&self) -> Inspection {
        let handles = self.attempts.iter();
        let mut attempts: Vec<_> = handles
            .map(|(id, handle)| AttemptInspection::new(*id, handle.controls.cancel.is_cancelled()))
            .collect();
        attempts.sort_by_key(|attempt| attempt.attempt);
        Inspection::new(self.topic.status(), attempts, self.topic.stale(), self.work.len())
    }

    /// Ends: cancels what runs, answers who waits, gives the lease back once everything is written.
    async fn leave(mut self) {
        for handle in self.attempts.values() {
            handle.stop(StopWhy::ShutDown);
        }
        self.attempts.clear();
        for (_, reply) in self.replies.drain() {
            let _ = reply.send(Reply::NotOwner);
        }
        let kill = self.shared.kill.clone();
        if !kill.is_cancelled() {
            if self.topic.is_lost() {
                // Nobody else will. What it left open, the next owner ends, and forgets.
                let kept = self.timers.take_kept();
                self.forget(kept);
            }
            self.work.wait().await;
            if !self.topic.is_lost() {
                // Best effort: it runs out by itself.
                let releasing = in_time(&self.shared, self.shared.ownership.release(&self.lease));
                until_killed(kill, async { drop(releasing.await) }).await;
            }
        }
        refuse_all(&mut self.mail, &Reply::NotOwner).await;
    }
}
