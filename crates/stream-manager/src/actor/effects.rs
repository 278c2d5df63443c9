use std::future::Future;
use std::time::Duration;

use futures_util::FutureExt;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::Actor;
use super::load::closed;
use crate::attempt::Order;
use crate::core::{Effect, Fact, NotAccepted, Settle, Ticket};
use crate::port::{Lease, Refusal, Reply, Settlement, StoreError, StoreErrorKind};
use crate::record::{
    AttemptId, Author, Input, InputBody, InputId, Known, ReturnReason, RowStatus, Terminal, TopicId,
    TopicStatus,
};
use crate::shared::Shared;

impl Actor {
    pub(super) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.shared.tasks.spawn(self.work.track_future(until_killed(self.shared.kill.clone(), task)));
    }

    pub(super) fn effect(&mut self, effect: Effect) {
        match effect {
            Effect::Accept { ticket, input } => self.accept(ticket, input),
            Effect::Begin(begin) => self.begin(begin),
            Effect::Yield { attempt } => {
                if let Some(handle) = self.attempts.get(&attempt) {
                    handle.controls.waits.raise();
                }
            }
            Effect::Redirect { attempt, input } => self.order(attempt, Order::Redirect(Box::new(input))),
            Effect::Cancel { attempt, why } => {
                if let Some(handle) = self.attempts.get(&attempt) {
                    handle.stop(why);
                }
            }
            Effect::Settle(settle) => self.order(settle.attempt, Order::Settle(Box::new(settle))),
            Effect::SettleStored(settle) => self.settle_stored(settle),
            Effect::Repair(settle) => self.repair(settle),
            Effect::LastTry { attempt } => self.order(attempt, Order::LastTry),
            Effect::Seal { attempt, terminal } => match self.attempts.remove(&attempt) {
                Some(handle) => handle.order(Order::Seal(terminal)),
                None => self.seal_orphan(attempt, terminal),
            },
            Effect::Return { inputs, why } => self.return_inputs(inputs, why),
            Effect::Reply { ticket, reply } => {
                if let Some(to) = self.replies.remove(&ticket) {
                    // Who has gone needs no answer.
                    let _ = to.send(reply);
                }
            }
            Effect::Publish(status) => self.publish(status),
            Effect::AwaitDecision => self.timers.await_decision(),
            Effect::Delete { ticket } => self.delete(ticket),
        }
    }

    /// Tells how the topic stands. A bus in memory has it at once, so that who gets a reply finds it there.
    fn publish(&self, status: TopicStatus) {
        let shared = self.shared.clone();
        let mut telling = Box::pin(async move {
            let telling = timeout(shared.settings.store_timeout, shared.bus.publish(status));
            if let Ok(Err(error)) = telling.await {
                tracing::warn!(%error, "the status of a topic could not be told");
            }
        });
        if (&mut telling).now_or_never().is_none() {
            self.spawn(telling);
        }
    }

    fn order(&self, attempt: AttemptId, order: Order) {
        if let Some(handle) = self.attempts.get(&attempt) {
            handle.order(order);
        }
    }

    fn accept(&self, ticket: Ticket, input: Input) {
        let (shared, topic, facts) = (self.shared.clone(), self.lease.topic.clone(), self.facts.clone());
        self.spawn(async move {
            let accepting = async {
                refusal(&shared, &topic, &input).await?;
                shared.store.accept(&topic, &input).await.map_err(|error| {
                    tracing::warn!(%error, %topic, "an input could not be written down");
                    NotAccepted::Store(error.kind())
                })
            };
            let late = |_| Err(NotAccepted::Store(StoreErrorKind::Unavailable));
            let result = timeout(shared.settings.store_timeout, accepting).await.unwrap_or_else(late);
            facts.tell(Fact::Accepted { ticket, result });
        });
    }

    fn return_inputs(&self, inputs: Vec<InputId>, why: ReturnReason) {
        let (shared, lease) = (self.shared.clone(), self.lease.clone());
        self.spawn(async move {
            let write = || shared.store.return_inputs(&lease, &inputs, why);
            if let Err(error) = persist(&shared, write).await {
                tracing::warn!(%error, topic = %lease.topic, "inputs could not be returned");
            }
        });
    }

    /// Settles a row that no task writes: with what the store has of it.
    fn settle_stored(&self, settle: Settle) {
        let (shared, lease, facts) = (self.shared.clone(), self.lease.clone(), self.facts.clone());
        self.spawn(async move {
            let attempt = settle.attempt;
            let fact = match settle_from_store(&shared, &lease, &settle).await {
                Ok(()) => Fact::Persisted { attempt },
                Err(error) if error.is_fenced() => Fact::LeaseLost,
                Err(error) => {
                    tracing::warn!(%error, topic = %lease.topic, "the end of an answer could not be written");
                    Fact::Abandoned { attempt }
                }
            };
            facts.tell(fact);
        });
    }

    /// Settles a row in the background, however long it takes.
    fn repair(&self, settle: Settle) {
        let (shared, lease) = (self.shared.clone(), self.lease.clone());
        self.spawn(async move {
            if let Err(error) = settle_from_store(&shared, &lease, &settle).await {
                tracing::warn!(%error, topic = %lease.topic, "the end of an answer was never written");
            }
        });
    }

    fn delete(&mut self, ticket: Option<Ticket>) {
        let (shared, lease) = (self.shared.clone(), self.lease.clone());
        let to = ticket.and_then(|ticket| self.replies.remove(&ticket));
        self.spawn(async move {
            let reply = match persist(&shared, || shared.store.delete(&lease)).await {
                Ok(_) => Reply::Done,
                Err(error) if error.is_fenced() => Reply::NotOwner,
                Err(_) => Reply::Refused { why: Refusal::StoreBlocked },
            };
            if let Err(error) = in_time(&shared, shared.bus.forget(&lease.topic)).await {
                tracing::warn!(%error, "a deleted topic is still told of");
            }
            // Best effort: it runs out by itself.
            let _ = in_time(&shared, shared.ownership.release(&lease)).await;
            if let Some(to) = to {
                let _ = to.send(reply);
            }
        });
    }

    /// Shows the end of an attempt in the place of its task, which is gone. One that was shown stands.
    fn seal_orphan(&self, attempt: AttemptId, terminal: Terminal) {
        let (shared, lease) = (self.shared.clone(), self.lease.clone());
        self.spawn(async move {
            if let Err(error) = in_time(&shared, shared.log.seal_orphan(&lease, attempt, terminal)).await {
                tracing::warn!(%error, topic = %lease.topic, "the end of an answer could not be shown");
            }
        });
    }

    /// The chunks of these attempts cannot be read any more.
    pub(super) fn forget(&self, attempts: Vec<AttemptId>) {
        let (shared, topic) = (self.shared.clone(), self.lease.topic.clone());
        self.spawn(async move {
            for attempt in attempts {
                // It goes by its own age then.
                let _ = in_time(&shared, shared.log.forget(&topic, attempt)).await;
            }
        });
    }
}

/// Runs until everything ends at once: what hangs then is dropped where it stands.
pub(super) async fn until_killed(kill: CancellationToken, task: impl Future<Output = ()>) {
    tokio::select! {
        () = kill.cancelled() => {}
        () = task => {}
    }
}

/// What does not answer in time has failed.
pub(super) async fn in_time<T>(
    shared: &Shared,
    call: impl Future<Output = Result<T, StoreError>>,
) -> Result<T, StoreError> {
    let late = |_| Err(StoreError::new(StoreErrorKind::Unavailable, "waiting for an answer"));
    timeout(shared.settings.store_timeout, call).await.unwrap_or_else(late)
}

/// Whether what an input is about is there. The rest is for the topic to say.
async fn refusal(shared: &Shared, topic: &TopicId, input: &Input) -> Result<(), NotAccepted> {
    let row = match input.body.known() {
        Some(InputBody::Regenerate { row } | InputBody::Append { beside: row }) => row,
        Some(InputBody::Message { parent: Some(row), .. }) => row,
        _ => return Ok(()),
    };
    let history = shared.store.history(topic).await.map_err(|error| NotAccepted::Store(error.kind()))?;
    let row = history.as_ref().and_then(|history| history.rows.iter().find(|known| known.id == *row));
    let fits = match (input.body.known(), row) {
        (_, None) => false,
        (Some(InputBody::Append { .. }), Some(row)) => row.author == Author::Assistant,
        (Some(InputBody::Regenerate { .. }), Some(row)) => row.status != Known::Is(RowStatus::Open),
        _ => true,
    };
    if fits { Ok(()) } else { Err(NotAccepted::Refused(Refusal::NoSuchRow)) }
}

async fn settle_from_store(shared: &Shared, lease: &Lease, settle: &Settle) -> Result<(), StoreError> {
    let history = persist(shared, || shared.store.history(&lease.topic)).await?;
    let row = history.and_then(|history| history.rows.into_iter().find(|row| row.id == settle.row));
    let Some(row) = row else { return Ok(()) };
    let settlement = Settlement {
        row: row.id,
        attempt: settle.attempt,
        status: settle.status,
        content: closed(row.content),
        returned: settle.returned.clone(),
    };
    persist(shared, || shared.store.settle(lease, &settlement)).await?;
    Ok(())
}

/// Writes something until it is written, or cannot be: a store that is away for a while is waited for.
pub(super) async fn persist<T, F>(shared: &Shared, mut write: impl FnMut() -> F) -> Result<T, StoreError>
where
    F: Future<Output = Result<T, StoreError>>,
{
    let mut wait = Duration::from_millis(100);
    loop {
        match in_time(shared, write()).await {
            Err(error) if error.is_transient() => {
                tracing::warn!(%error, "the store is asked again");
                tokio::select! {
                    () = shared.kill.cancelled() => return Err(error),
                    () = sleep(wait) => {}
                }
                wait = (wait * 2).min(Duration::from_secs(5));
            }
            result => return result,
        }
    }
}
