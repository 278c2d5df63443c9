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
use crate::core::{Event, Fact, Reaction, StopWhy, Ticket, Topic};
use crate::facts::{Facts, Heard};
use crate::inspect::{AttemptInspection, Inspection, TopicEvent};
use crate::port::{Acquired, Command, Lease, Refusal, Reply};
use crate::record::{AttemptId, Fate, TopicId};
use crate::shared::{Shared, now_ms};
use timers::Timers;

/// What the manager tells a topic.
#[derive(Debug)]
pub(crate) enum Mail {
    /// Do this.
    Verb { command: Box<Command>, reply: oneshot::Sender<Reply> },
    /// Say how it stands, in detail.
    Inspect(oneshot::Sender<Inspection>),
    /// Start no turn until told to.
    Pause,
    /// Go on.
    Resume,
    /// End.
    ShutDown,
}

/// A topic and what belongs to it.
pub(crate) struct Actor {
    topic: Topic,
    shared: Arc<Shared>,
    lease: Lease,
    mail: mpsc::Receiver<Mail>,
    /// How many readers of this node follow it.
    readers: watch::Receiver<usize>,
    facts: Facts,
    heard: Heard,
    attempts: HashMap<AttemptId, Handle>,
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
    paused: bool,
) {
    let asked = Instant::now();
    let lease = match shared.ownership.acquire(&id, &shared.node, shared.settings.lease).await {
        Ok(Acquired::Held(lease)) => lease,
        Ok(Acquired::Other(_)) => return refuse_all(&mut mail, &Reply::NotOwner).await,
        Err(error) => {
            tracing::warn!(%error, topic = %id, "a topic could not be owned");
            return refuse_all(&mut mail, &blocked()).await;
        }
    };
    // Boxed, as what comes once is throughout: a topic that lives on needs no room for it.
    let found = match Box::pin(load::load(&shared, &lease)).await {
        Ok(found) => found,
        Err(error) => {
            tracing::warn!(%error, topic = %id, "a topic could not be loaded");
            let reply = if error.is_fenced() { Reply::NotOwner } else { blocked() };
            refuse_all(&mut mail, &reply).await;
            // Best effort: it runs out by itself.
            let _ = shared.ownership.release(&lease).await;
            return;
        }
    };
    let (facts, heard) = Facts::channel();
    let (renewed, granted) = mpsc::unbounded_channel();
    let mut actor = Actor {
        topic: Topic::new(id, lease.epoch),
        timers: Timers::new(&shared.settings, asked),
        shared,
        lease,
        mail,
        readers,
        facts,
        heard,
        attempts: HashMap::new(),
        replies: HashMap::new(),
        tickets: 0,
        told,
        renewed,
        granted,
        work: TaskTracker::new(),
        shutting_down: false,
    };
    if paused {
        actor.hear(Fact::Paused);
    }
    let reaction = actor.topic.recover(found);
    actor.react(reaction);
    // Closed from the beginning: what is waited for is that nothing runs, not that nothing will.
    actor.work.close();
    actor.work().await;
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
        let kill = self.shared.kill.clone();
        while !self.is_over() {
            tokio::select! {
                biased;
                () = kill.cancelled() => break,
                Some(fact) = self.heard.recv() => self.hear(*fact),
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
            Mail::Pause => self.hear(Fact::Paused),
            Mail::Resume => self.hear(Fact::Resumed),
            Mail::ShutDown => self.shut_down(),
        }
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
        for effect in reaction.effects {
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
                self.timers.turn_ended(*turn);
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
        if !self.shared.kill.is_cancelled() {
            self.work.wait().await;
            if !self.topic.is_lost() {
                // Best effort: it runs out by itself.
                let _ = self.shared.ownership.release(&self.lease).await;
            }
        }
        refuse_all(&mut self.mail, &Reply::NotOwner).await;
    }
}
