use std::sync::Arc;

use async_trait::async_trait;
use dashmap::DashMap;
use dashmap::mapref::entry::Entry;
use tokio::sync::{Notify, broadcast, mpsc, oneshot, watch};

use crate::actor::{self, MAILBOX, Mail};
use crate::inspect::TopicEvent;
use crate::port::{Command, CommandHandler, Refusal, Reply};
use crate::record::TopicId;
use crate::shared::Shared;

/// The topics that have a task on this node.
#[derive(Debug)]
pub(super) struct Registry {
    shared: Arc<Shared>,
    topics: DashMap<TopicId, mpsc::Sender<Mail>>,
    readers: Arc<Readers>,
    events: broadcast::Sender<TopicEvent>,
    /// A topic has ended.
    left: Notify,
}

/// How many readers of this node follow a topic: of those that somebody reads, or that have a task. A reader may be there
/// before the task is, and stay when it goes.
type Readers = DashMap<TopicId, watch::Sender<usize>>;

/// Counts as a reader of a topic until it is dropped.
#[derive(Debug)]
pub(crate) struct Reading {
    readers: Arc<Readers>,
    topic: TopicId,
}

impl Drop for Reading {
    fn drop(&mut self) {
        if let Some(count) = self.readers.get(&self.topic) {
            count.send_modify(|count| *count = count.saturating_sub(1));
        }
        leave(&self.readers, &self.topic);
    }
}

/// Lets the count of a topic go that nobody reads and that has no task.
fn leave(readers: &Readers, topic: &TopicId) {
    readers.remove_if(topic, |_, count| *count.borrow() == 0 && count.is_closed());
}

impl Registry {
    pub(super) fn new(shared: Arc<Shared>, events: broadcast::Sender<TopicEvent>) -> Self {
        Self { shared, topics: DashMap::new(), readers: Arc::default(), events, left: Notify::new() }
    }

    pub(super) fn len(&self) -> usize {
        self.topics.len()
    }

    /// The mailbox of a topic that has a task here.
    pub(super) fn get(&self, topic: &TopicId) -> Option<mpsc::Sender<Mail>> {
        self.topics.get(topic).map(|mail| mail.clone()).filter(|mail| !mail.is_closed())
    }

    /// Counts a reader of a topic.
    pub(super) fn read(&self, topic: &TopicId) -> Reading {
        let count = self.readers.entry(topic.clone()).or_default();
        count.send_modify(|count| *count += 1);
        Reading { readers: Arc::clone(&self.readers), topic: topic.clone() }
    }

    /// The mailbox of a topic; its task is started if it has none.
    fn mailbox(self: &Arc<Self>, topic: &TopicId) -> mpsc::Sender<Mail> {
        let entry = self.topics.entry(topic.clone());
        if let Entry::Occupied(known) = &entry
            && !known.get().is_closed()
        {
            return known.get().clone();
        }
        let (mail, letters) = mpsc::channel(MAILBOX);
        drop(entry.insert(mail.clone()));
        let mut counted = self.readers.entry(topic.clone()).or_default().subscribe();
        // Those who came before are news to it.
        counted.mark_changed();
        let (registry, id, own) = (Arc::clone(self), topic.clone(), mail.downgrade());
        let running =
            actor::run(Arc::clone(&self.shared), topic.clone(), letters, counted, self.events.clone());
        self.shared.tasks.spawn(async move {
            running.await;
            // A successor may have its name by now.
            let mine = |_: &TopicId, other: &mpsc::Sender<Mail>| {
                own.upgrade().is_none_or(|own| own.same_channel(other)) && other.is_closed()
            };
            registry.topics.remove_if(&id, mine);
            leave(&registry.readers, &id);
            registry.left.notify_waiters();
        });
        mail
    }

    /// Waits until no topic has anything under way.
    pub(super) async fn at_rest(&self) {
        let mut events = self.events.subscribe();
        loop {
            let mut busy = false;
            let mails: Vec<_> = self.topics.iter().map(|mail| mail.clone()).collect();
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
        if self.0.shared.closing.is_cancelled() {
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
