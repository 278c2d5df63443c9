use std::sync::Arc;
use std::task::Waker;

use agent_loop::{UiChunk, UiMessage};
use async_trait::async_trait;

use super::attempt::AttemptLog;
use crate::port::{LogBody, LogWriter, StoreError, StoreErrorKind};
use crate::record::{AttemptId, Terminal};

#[derive(Debug)]
pub(super) struct MemoryWriter {
    log: Arc<AttemptLog>,
    attempt: AttemptId,
    /// The number of its last record: also of those that are dropped.
    last: u64,
    /// Kept for its room.
    wake: Vec<Waker>,
}

impl MemoryWriter {
    pub(super) fn new(log: Arc<AttemptLog>, attempt: AttemptId) -> Self {
        Self { log, attempt, last: 0, wake: Vec::new() }
    }

    fn error(&self, kind: StoreErrorKind) -> StoreError {
        StoreError::new(kind, format!("writing the log of attempt {}", self.attempt))
    }
}

#[async_trait]
impl LogWriter for MemoryWriter {
    fn append(&mut self, chunk: UiChunk) -> u64 {
        self.last += 1;
        let mut state = self.log.lock();
        if state.is_written && state.terminal.is_none() {
            state.add(LogBody::Chunk(chunk), &mut self.wake);
        }
        drop(state);
        self.wake.drain(..).for_each(Waker::wake);
        self.last
    }

    fn message(&mut self) -> UiMessage {
        self.log.lock().fold.message().clone()
    }

    fn is_fenced(&self) -> bool {
        !self.log.lock().is_written
    }

    async fn flush(&mut self) -> Result<(), StoreError> {
        if self.is_fenced() { Err(self.error(StoreErrorKind::Fenced)) } else { Ok(()) }
    }

    async fn seal(&mut self, terminal: Terminal) -> Result<(), StoreError> {
        let mut state = self.log.lock();
        if !state.is_written {
            return Err(self.error(StoreErrorKind::Fenced));
        }
        match &state.terminal {
            Some(sealed) if *sealed == terminal => return Ok(()),
            Some(_) => return Err(self.error(StoreErrorKind::Conflict)),
            None => state.add(LogBody::Terminal(terminal), &mut self.wake),
        }
        drop(state);
        self.last += 1;
        self.wake.drain(..).for_each(Waker::wake);
        Ok(())
    }
}

impl Drop for MemoryWriter {
    fn drop(&mut self) {
        self.log.fence();
    }
}
