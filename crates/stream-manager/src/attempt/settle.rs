use std::future::poll_fn;
use std::task::Poll;
use std::time::Duration;

use agent_loop::UiChunk;
use tokio::time::{sleep, timeout};

use super::writing::Writing;
use super::{Order, Task};
use crate::core::{Fact, Settle};
use crate::port::{Lease, Settlement, StoreError, StoreErrorKind, Written};
use crate::record::{RowStatus, Terminal};
use crate::shared::Shared;

/// The first wait before an end is written again that the store did not take; it doubles up to [`LONGEST_WAIT`].
const FIRST_WAIT: Duration = Duration::from_millis(100);
/// A store that was away for long is asked again this often.
const LONGEST_WAIT: Duration = Duration::from_secs(5);

impl Task {
    /// Writes the end as the topic decides, and shows it once it is durable.
    pub(super) async fn settle_and_seal(&mut self) {
        while let Some(order) = self.at.orders.recv().await {
            match order {
                Order::Settle(settle) => {
                    if !self.settle(*settle).await {
                        return;
                    }
                }
                Order::Seal(terminal) => {
                    self.seal(terminal).await;
                    return;
                }
                Order::Note(chunk) => {
                    self.at.writer.append(*chunk);
                }
                Order::Redirect(stored) => {
                    self.tell(Fact::NotRedirected { attempt: self.at.id, inputs: vec![stored.input.id] });
                }
                Order::Cancelled | Order::LastTry => {}
            }
        }
    }

    /// Tries until it is written, or must not be. False if the topic is gone.
    async fn settle(&mut self, settle: Settle) -> bool {
        self.finish_claims().await;
        // What is still being written holds less than the end does. Left unpolled, it could hold a lock of the store.
        self.writing = Writing::default();
        let settlement = Settlement {
            row: settle.row,
            attempt: settle.attempt,
            status: settle.status,
            content: self.finished.clone(),
            returned: settle.returned,
        };
        let attempt = self.at.id;
        let (mut wait, mut last_try, mut told) = (FIRST_WAIT, false, false);
        loop {
            match write_end(&self.at.shared, &self.at.lease, &settlement).await {
                Ok(_) => {
                    self.tell(Fact::Persisted { attempt });
                    return true;
                }
                Err(error) if error.is_fenced() => {
                    self.tell(Fact::LeaseLost);
                    return false;
                }
                Err(error) => {
                    tracing::warn!(%error, topic = %self.at.lease.topic, "the end of an answer could not be written");
                    if last_try || !error.is_transient() {
                        self.tell(Fact::Abandoned { attempt });
                        return true;
                    }
                }
            }
            if !std::mem::replace(&mut told, true) {
                self.tell(Fact::NotPersisted { attempt });
            }
            let again = sleep(wait);
            tokio::pin!(again);
            loop {
                tokio::select! {
                    () = &mut again => break,
                    order = self.at.orders.recv() => match order {
                        Some(Order::LastTry) => {
                            last_try = true;
                            break;
                        }
                        Some(Order::Note(chunk)) => {
                            self.at.writer.append(*chunk);
                        }
                        Some(_) => {}
                        None => return false,
                    },
                }
            }
            wait = (wait * 2).min(LONGEST_WAIT);
        }
    }

    /// What the run has taken up is written before its end is.
    async fn finish_claims(&mut self) {
        poll_fn(|cx| {
            self.poll_writing(cx);
            if self.writing.owes() { Poll::Pending } else { Poll::Ready(()) }
        })
        .await;
    }

    async fn seal(&mut self, terminal: Terminal) {
        if terminal.continues.is_none()
            && let Some(chunk) = last_chunk(terminal.status, self.held.take())
        {
            self.at.writer.append(chunk);
        }
        let limit = self.at.shared.settings.store_timeout;
        match timeout(limit, self.at.writer.seal(terminal)).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!(%error, "the end of an answer could not be shown"),
            Err(_) => tracing::warn!("the end of an answer could not be shown in time"),
        }
    }
}

async fn write_end(shared: &Shared, lease: &Lease, settlement: &Settlement) -> Result<Written, StoreError> {
    match timeout(shared.settings.store_timeout, shared.store.settle(lease, settlement)).await {
        Ok(written) => written,
        Err(_) => Err(StoreError::new(StoreErrorKind::Unavailable, "writing the end of an answer")),
    }
}

/// The chunk that ends a message of this status. What the run said stands, unless the end became another.
fn last_chunk(status: RowStatus, held: Option<UiChunk>) -> Option<UiChunk> {
    let held_as = |wanted: fn(&UiChunk) -> bool| held.clone().filter(wanted);
    Some(match status {
        RowStatus::Stopped | RowStatus::Interrupted => {
            let abort = held_as(|chunk| matches!(chunk, UiChunk::Abort { .. }));
            let reason = (status == RowStatus::Interrupted).then(|| "interrupted".to_owned());
            abort.unwrap_or(UiChunk::Abort { reason })
        }
        RowStatus::Failed => held_as(|chunk| matches!(chunk, UiChunk::Error { .. })).unwrap_or_else(|| {
            UiChunk::Error { error_text: "The answer could not be completed.".to_owned() }
        }),
        _ => held_as(|chunk| matches!(chunk, UiChunk::Finish { .. }))
            .unwrap_or(UiChunk::Finish { finish_reason: None, message_metadata: None }),
    })
}
