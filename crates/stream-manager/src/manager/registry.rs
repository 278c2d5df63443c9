use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use dashmap::DashMap;
use dashmap::mapref::entry::Entry;
use tokio::sync::{Notify, broadcast, mpsc, oneshot, watch};

use super::hold::Holds;
use crate::actor::{self, MAILBOX, Mail};
use crate::inspect::TopicEvent;
use crate::port::{Command, CommandHandler, Refusal, Reply};
use crate::record::TopicId;
use crate::shared::Shared;

/// The topics that have a task on this node.
#[derive(Debug)]
pub(super) struct Registry {
    shared: Arc<Shared>,
    topics: DashMap<TopicId, Known>,
    events: broadcast::Sender<TopicEvent>,
    holds: Arc<Holds>,
    closed: AtomicBool,
    /// A topic has ended.
    left: Notify,
}

/// A topic that has a task.
#[derive(Clone, Debug)]
struct Known {
    mail: mpsc::Sender<Mail>,
    /// How many readers of this node follow it.
    readers: watch::Sender<usize>,
}

/// Counts as a reader of a topic until it is dropped.
#[derive(Debug)]
pub(crate) struct Reading(watch::Sender<usize>);

impl Drop for Reading {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count = count.saturating_sub(1));
    }
}

impl Registry {
    pub(super) fn new(shared: Arc<Shared>, events: broadcast::Sender<TopicEvent>, holds: Arc<Holds>) -> Self {
        let (topics, closed, left) = (DashMap::new(), AtomicBool::new(false), Notify::new());
        Self { shared, topics, events, holds, closed, left }
    }

    pub(super) fn len(&self) -> usize {
        self.topics.len()
    }

    /// The mailbox of a topic that has a task here.
    pub(super) fn get(&self, topic: &TopicId) -> Option<mpsc::Sender<Mail>> {
        self.topics.get(topic).map(|known| known.mail.clone()).filter(|mail| !mail.is_closed())
    }

    /// Counts a reader of a topic that has a task here.
    pub(super) fn read(&self, topic: &TopicId) -> Option<Reading> {
        let readers = self.topics.get(topic)?.readers.clone();
        readers.send_modify(|count| *count += 1);
        Some(Reading(readers))
    }

    /// The mailbox of a topic; its task is started if it has none.
    fn mailbox(self: &Arc<Self>, topic: &TopicId) -> mpsc::Sender<Mail> {
        let entry = self.topics.entry(topic.clone());
        if let Entry::Occupied(known) = &entry
            && !known.get().mail.is_closed()
        {
            return known.get().mail.clone();
        }
        let (mail, letters) = mpsc::channel(MAILBOX);
        let (readers, counted) = watch::channel(0);
        drop(entry.insert(Known { mail: mail.clone(), readers }));
        let (registry, id, own) = (Arc::clone(self), topic.clone(), mail.downgrade());
        let running = actor::run(
            Arc::clone(&self.shared),
            topic.clone(),
            letters,
            counted,
            self.events.clone(),
            self.holds.is_paused(),
        );
        self.shared.tasks.spawn(async move {
            running.await;
            // A successor may have its name by now.
            let mine = |_: &TopicId, other: &mut Known| {
                own.upgrade().is_none_or(|own| own.same_channel(&other.mail)) && other.mail.is_closed()
            };
            registry.topics.remove_if_mut(&id, mine);
            registry.left.notify_waiters();
        });
        mail
    }

    pub(super) async fn tell_all(&self, letter: impl Fn() -> Mail) {
        let mails: Vec<_> = self.topics.iter().map(|entry| entry.mail.clone()).collect();
        for mail in mails {
            // A topic that has ended needs not be told.
            let _ = mail.send(letter()).await;
        }
    }

    /// Tells all topics, without waiting for it.
    pub(super) fn tell_later(self: &Arc<Self>, letter: impl Fn() -> Mail + Send + Sync + 'static) {
        let registry = Arc::clone(self);
        self.shared.tasks.spawn(async move { registry.tell_all(letter).await });
    }

    /// Tells all topics to end, and lets no other begin.
    pub(super) async fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
        self.tell_all(|| Mail::ShutDown).await;
    }

    /// Waits until no topic has anything under way.
    pub(super) async fn at_rest(&self) {
        let mut events = self.events.subscribe();
        loop {
            let mut busy = false;
            let mails: Vec<_> = self.topics.iter().map(|entry| entry.mail.clone()).collect();
            for mail in mails {
                let (ask, answer) = oneshot::channel();
                if mail.send(Mail::Inspect(ask)).await.is_err() {
                    continue;
                }
                if let Ok(inspection) = answer.await {
                    busy |= inspection.status.state.is_live() || inspection.tasks > 0;
                }
            }
            if !busy {
                return;
            }
            tokio::select! {
                // One that is behind looks again too.
                _ = events.recv() => {}
                () = self.left.notified() => {}
                () = tokio::time::sleep(LOOK_AGAIN) => {}
            }
        }
    }
}

/// What is being written behind the end of a turn is looked for this often.
const LOOK_AGAIN: std::time::Duration = std::time::Duration::from_millis(20);

/// Does on this node what commands ask for.
#[derive(Debug)]
pub(super) struct Handler(pub(super) Arc<Registry>);

#[async_trait]
impl CommandHandler for Handler {
    async fn handle(&self, topic: TopicId, command: Command) -> Reply {
        if self.0.closed.load(Ordering::SeqCst) {
            return Reply::Refused { why: Refusal::NotAdmitting };
        }
        let (reply, answer) = oneshot::channel();
        let sent = self.0.mailbox(&topic).send(Mail::Verb { command: Box::new(command), reply }).await;
        match sent {
            Ok(()) => answer.await.unwrap_or(Reply::NotOwner),
            Err(_) => Reply::NotOwner,
        }
    }
}
