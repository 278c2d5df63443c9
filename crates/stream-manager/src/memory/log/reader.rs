use std::sync::Arc;
use std::task::{Context, Poll};

use super::attempt::{AttemptLog, Place};
use crate::port::{LogReader, LogRecord, Read, StoreError};

#[derive(Debug)]
pub(super) struct MemoryReader {
    log: Arc<AttemptLog>,
    place: Place,
}

impl MemoryReader {
    pub(super) fn new(log: Arc<AttemptLog>, after: u64) -> Self {
        let place = log.join(after);
        Self { log, place }
    }
}

impl LogReader for MemoryReader {
    fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        most: usize,
        out: &mut Vec<Arc<LogRecord>>,
    ) -> Poll<Result<Read, StoreError>> {
        self.log.read(&mut self.place, cx, most, out).map(Ok)
    }
}

impl Drop for MemoryReader {
    fn drop(&mut self) {
        self.log.lock().wakers.leave(self.place.waker);
    }
}
