use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

use agent_loop::UiChunk;

use super::Limits;
use crate::port::{LogBody, LogRecord};

/// The last records of an attempt.
#[derive(Debug)]
pub(super) struct Window {
    limits: Limits,
    records: VecDeque<Arc<LogRecord>>,
    bytes: usize,
    /// The number of the last record.
    last: u64,
}

impl Window {
    pub(super) fn new(limits: Limits) -> Self {
        Self { limits, records: VecDeque::new(), bytes: 0, last: 0 }
    }

    pub(super) fn last(&self) -> u64 {
        self.last
    }

    /// Adds a record, gives it its number, and lets go of the oldest while there are too many.
    pub(super) fn push(&mut self, body: LogBody) {
        self.last += 1;
        self.bytes += weight(&body);
        self.records.push_back(Arc::new(LogRecord { seq: self.last, body }));
        while self.records.len() > 1
            && (self.records.len() > self.limits.entries || self.bytes > self.limits.bytes)
        {
            let gone = self.records.pop_front();
            self.bytes -= gone.map_or(0, |gone| weight(&gone.body));
        }
    }

    /// At most `most` records behind a number, or `None` if the first of them is gone or the number is of the future.
    pub(super) fn behind(&self, after: u64, most: usize) -> Option<impl Iterator<Item = &Arc<LogRecord>>> {
        let missing = usize::try_from(self.last.checked_sub(after)?).ok()?;
        let start = self.records.len().checked_sub(missing)?;
        Some(self.records.range(start..).take(most))
    }
}

/// What a record takes, with what holds it, about.
fn weight(body: &LogBody) -> usize {
    // The counts of the `Arc`, its place in the list, and what the allocator keeps beside two allocations.
    const AROUND: usize = 16 + 8 + 16;
    let heap = match body {
        LogBody::Chunk(chunk) => heap(chunk),
        LogBody::Terminal(terminal) => terminal.row.as_str().len(),
    };
    size_of::<LogRecord>() + AROUND + heap
}

fn heap(chunk: &UiChunk) -> usize {
    match chunk {
        // The id is shared by the chunks of a block.
        UiChunk::TextDelta { delta, provider_metadata: None, .. }
        | UiChunk::ReasoningDelta { delta, provider_metadata: None, .. } => delta.len(),
        UiChunk::ToolInputDelta { input_text_delta, .. } => input_text_delta.len(),
        UiChunk::File { url, .. } | UiChunk::ReasoningFile { url, .. } => url.len(),
        chunk => {
            let mut length = Length(0);
            // Nothing that counts can fail; and what did would only be counted short.
            serde_json::to_writer(&mut length, chunk).ok();
            length.0
        }
    }
}

struct Length(usize);

impl io::Write for Length {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
