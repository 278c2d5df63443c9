//! Lines out of chunks: what the SSE framer and the line framer share.

use std::ops::Range;
use std::str::Utf8Error;

use ai_provider::{ErrorClass, ModelError};
use memchr::memchr2;

use crate::codec::Event;
use crate::framer::Framer;
use crate::limits::{Limits, too_large};

#[cfg(test)]
mod tests;

/// How far a buffer may outgrow its limit before that is noticed.
const SLACK: usize = 64 * 1024;

/// Bytes that came, cut into lines. A line ends with CR, LF or CRLF, and is over as soon as its CR came.
#[derive(Debug)]
pub(crate) struct LineBuffer {
    bytes: Vec<u8>,
    /// Where the unread bytes begin.
    start: usize,
    /// No line ends between `start` and here, so no byte is searched twice.
    searched: usize,
    /// The last line ended with CR: an LF right behind it belongs to it.
    after_cr: bool,
    limit: usize,
    /// Bytes searched, copied or moved: what shows that the work is linear.
    #[cfg(test)]
    pub(crate) work: usize,
}

impl LineBuffer {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            bytes: Vec::new(),
            start: 0,
            searched: 0,
            after_cr: false,
            limit,
            #[cfg(test)]
            work: 0,
        }
    }

    /// Adds bytes. Ranges handed out before are void from now on.
    pub(crate) fn push(&mut self, chunk: &[u8]) {
        if self.start > 0 {
            self.bytes.drain(..self.start);
            #[cfg(test)]
            {
                self.work += self.bytes.len();
            }
            self.searched -= self.start;
            self.start = 0;
        }
        #[cfg(test)]
        {
            self.work += chunk.len();
        }
        grow(&mut self.bytes, chunk.len(), self.limit);
        self.bytes.extend_from_slice(chunk);
    }

    /// The next whole line, without its end.
    pub(crate) fn next_line(&mut self) -> Result<Option<Range<usize>>, ModelError> {
        if self.after_cr {
            match self.bytes.get(self.start) {
                None => return Ok(None),
                Some(b'\n') => {
                    self.start += 1;
                    self.searched = self.start;
                }
                Some(_) => {}
            }
            self.after_cr = false;
        }
        let unsearched = self.bytes.get(self.searched..).unwrap_or_default();
        let found = memchr2(b'\n', b'\r', unsearched);
        #[cfg(test)]
        {
            self.work += found.map_or(unsearched.len(), |at| at + 1);
        }
        let (end, line) = match found {
            Some(at) => {
                let end = self.searched + at;
                self.after_cr = unsearched.get(at) == Some(&b'\r');
                (end + 1, Some(self.start..end))
            }
            None => (self.bytes.len(), None),
        };
        self.searched = end;
        if line.as_ref().map_or(end - self.start, ExactSizeIterator::len) > self.limit {
            return Err(too_large("a line of the stream", self.limit, "bytes"));
        }
        if line.is_some() {
            self.start = end;
        }
        Ok(line)
    }

    /// What is left when the body is over: a line without its end.
    pub(crate) fn rest(&mut self) -> Result<Option<Range<usize>>, ModelError> {
        if let Some(line) = self.next_line()? {
            return Ok(Some(line));
        }
        let rest = self.start..self.bytes.len();
        self.start = rest.end;
        self.searched = rest.end;
        Ok((!rest.is_empty()).then_some(rest))
    }

    #[cfg(test)]
    pub(crate) fn capacity(&self) -> usize {
        self.bytes.capacity()
    }

    pub(crate) fn get(&self, range: Range<usize>) -> &[u8] {
        self.bytes.get(range).unwrap_or_default()
    }
}

/// Bytes that came since the last event and belong to no data: what a server can send without end.
#[derive(Debug)]
pub(crate) struct Quiet {
    bytes: usize,
    limit: usize,
}

impl Quiet {
    pub(crate) fn new(limit: usize) -> Self {
        Self { bytes: 0, limit }
    }

    /// A line came that gives no event.
    pub(crate) fn pass(&mut self, line: &[u8]) -> Result<(), ModelError> {
        self.bytes = self.bytes.saturating_add(line.len() + 1);
        if self.bytes > self.limit {
            return Err(too_large("what the server sent without an event", self.limit, "bytes"));
        }
        Ok(())
    }

    /// An event came.
    pub(crate) fn end(&mut self) {
        self.bytes = 0;
    }
}

/// Makes room by doubling, but not far beyond what the limit lets in.
pub(crate) fn grow(bytes: &mut Vec<u8>, more: usize, limit: usize) {
    let needed = bytes.len().saturating_add(more);
    if needed > bytes.capacity() {
        let doubled = bytes.capacity().saturating_mul(2).min(limit.saturating_add(SLACK));
        bytes.reserve_exact(needed.max(doubled) - bytes.len());
    }
}

/// Text, or why it is none. `at_end` says that nothing follows, so that a cut character is a cut body.
pub(crate) fn text(bytes: &[u8], at_end: bool) -> Result<&str, ModelError> {
    std::str::from_utf8(bytes).map_err(|error| not_text(error, at_end))
}

fn not_text(error: Utf8Error, at_end: bool) -> ModelError {
    if at_end && error.error_len().is_none() {
        return ModelError::new(ErrorClass::Incomplete, "the body ended inside a character")
            .with_source(error);
    }
    let message =
        format!("the body is not UTF-8: an invalid byte at offset {} of the event", error.valid_up_to());
    ModelError::new(ErrorClass::Protocol, message).with_source(error)
}

/// One event per line that is not blank: JSON lines.
#[derive(Debug)]
pub struct LinesFramer {
    lines: LineBuffer,
    quiet: Quiet,
    number: u64,
}

impl LinesFramer {
    /// A framer for one body.
    pub fn new(limits: &Limits) -> Self {
        Self { lines: LineBuffer::new(limits.line), quiet: Quiet::new(limits.idle_bytes), number: 0 }
    }

    fn event(&mut self, line: Range<usize>, at_end: bool) -> Result<Option<Event<'_>>, ModelError> {
        self.number += 1;
        self.quiet.end();
        let number = self.number;
        Ok(Some(Event { name: None, data: text(self.lines.get(line), at_end)?.trim_ascii(), number }))
    }

    fn is_blank(&mut self, line: &Range<usize>) -> Result<bool, ModelError> {
        let line = self.lines.get(line.clone());
        let blank = line.trim_ascii().is_empty();
        if blank {
            self.quiet.pass(line)?;
        }
        Ok(blank)
    }
}

impl Framer for LinesFramer {
    fn push(&mut self, chunk: &[u8]) {
        self.lines.push(chunk);
    }

    fn next(&mut self) -> Result<Option<Event<'_>>, ModelError> {
        while let Some(line) = self.lines.next_line()? {
            if !self.is_blank(&line)? {
                return self.event(line, false);
            }
        }
        Ok(None)
    }

    fn end(&mut self) -> Result<Option<Event<'_>>, ModelError> {
        while let Some(line) = self.lines.rest()? {
            if !self.is_blank(&line)? {
                return self.event(line, true);
            }
        }
        Ok(None)
    }
}
