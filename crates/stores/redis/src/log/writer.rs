use std::sync::Arc;

use async_trait::async_trait;
use stream_manager::port::{LogWriter, StoreError, StoreErrorKind, UiChunk, UiMessage};
use stream_manager::record::Terminal;

use super::outbox::{Outbox, Wish};
use super::sender::Sender;

/// Writes a log: into its outbox, from which it is sent by the one sender of the node.
#[derive(Debug)]
pub(super) struct RedisWriter {
    outbox: Arc<Outbox>,
    sender: Sender,
}

impl RedisWriter {
    pub(super) fn new(outbox: Arc<Outbox>, sender: Sender) -> Self {
        Self { outbox, sender }
    }
}

#[async_trait]
impl LogWriter for RedisWriter {
    fn append(&mut self, chunk: UiChunk) -> u64 {
        let (seq, wish) = self.outbox.push(&chunk);
        if wish != Wish::Nothing {
            self.sender.post(&self.outbox, wish == Wish::Now);
        }
        seq
    }

    fn message(&mut self) -> UiMessage {
        self.outbox.message()
    }

    fn is_fenced(&self) -> bool {
        self.outbox.is_fenced()
    }

    async fn flush(&mut self) -> Result<(), StoreError> {
        let mut progress = self.outbox.watch();
        let failures = progress.borrow_and_update().failures;
        while !self.outbox.is_sent()? {
            self.sender.post(&self.outbox, true);
            // The outbox is held, so that its progress goes on.
            if progress.changed().await.is_err() {
                break;
            }
            let now = *progress.borrow_and_update();
            if now.failures > failures {
                // What ended it says so itself.
                self.outbox.is_sent()?;
                return Err(self.outbox.error(now.kind.unwrap_or(StoreErrorKind::Unavailable)));
            }
        }
        Ok(())
    }

    async fn seal(&mut self, terminal: Terminal) -> Result<(), StoreError> {
        self.outbox.is_sent()?;
        self.outbox.seal(terminal)?;
        self.flush().await
    }
}

impl Drop for RedisWriter {
    fn drop(&mut self) {
        self.outbox.leave();
        self.sender.post(&self.outbox, true);
    }
}
