use super::chunk::UiChunk;
use super::level::UiProtocol;
use super::read_error::UiReadError;

/// The size of one event, in bytes, that a reader takes unless told otherwise. Files come inside of events, as data
/// URLs: 32 MiB hold one of 24 MB. Without a limit a server that never ends its line would fill the memory.
pub(super) const EVENT_LIMIT: usize = 32 * 1024 * 1024;

/// Reads server-sent events as chunks: the other side of [`encode_sse`](crate::encode_sse). No I/O: bytes go in as
/// they come, cut anywhere.
///
/// Lines may end with CR, LF or both; comments, event names and ids are passed over; what follows the end marker is
/// ignored. An event without its blank line is no event.
///
/// ```
/// use agent_loop::{SseReader, UiChunk, UiProtocol};
/// let mut reader = SseReader::new(UiProtocol::V7);
/// let mut chunks = Vec::new();
/// reader.push(b"data: {\"type\":\"start", &mut chunks)?;
/// reader.push(b"-step\"}\n\ndata: [DONE]\n\n", &mut chunks)?;
/// assert_eq!(chunks, [UiChunk::StartStep]);
/// reader.end()?;
/// # Ok::<(), agent_loop::UiReadError>(())
/// ```
#[derive(Debug)]
pub struct SseReader {
    protocol: UiProtocol,
    limit: usize,
    /// The line under way.
    line: Vec<u8>,
    /// The data of the event under way; absent until its first `data` line.
    data: Option<Vec<u8>>,
    /// The last byte was a CR: an LF right after it belongs to the same line end.
    after_cr: bool,
    at_start: bool,
    state: State,
}

#[derive(Debug)]
enum State {
    Reading,
    Done,
    Failed(UiReadError),
}

impl SseReader {
    /// A reader at the beginning of a stream of this level. One event may have 32 MiB.
    pub fn new(protocol: UiProtocol) -> Self {
        Self {
            protocol,
            limit: EVENT_LIMIT,
            line: Vec::new(),
            data: None,
            after_cr: false,
            at_start: true,
            state: State::Reading,
        }
    }

    /// Sets the size, in bytes, that one event may have.
    #[must_use]
    pub fn with_limit(mut self, bytes: usize) -> Self {
        self.limit = bytes;
        self
    }

    /// Takes bytes, and appends the chunks that are complete.
    ///
    /// # Errors
    /// See [`UiReadError`]. The chunks before the fault have been appended; from then on nothing is read, and each
    /// call gives the same error.
    pub fn push(&mut self, bytes: &[u8], chunks: &mut Vec<UiChunk>) -> Result<(), UiReadError> {
        let read = self.read(bytes, chunks);
        if let Err(error) = &read {
            self.state = State::Failed(error.clone());
        }
        read
    }

    /// Whether the end marker has come.
    pub fn is_done(&self) -> bool {
        matches!(self.state, State::Done)
    }

    /// Takes the end of the bytes.
    ///
    /// # Errors
    /// [`UiReadError::Incomplete`] if the end marker has not come, or the error met before.
    pub fn end(&self) -> Result<(), UiReadError> {
        match &self.state {
            State::Reading => Err(UiReadError::Incomplete),
            State::Done => Ok(()),
            State::Failed(error) => Err(error.clone()),
        }
    }

    fn read(&mut self, mut bytes: &[u8], chunks: &mut Vec<UiChunk>) -> Result<(), UiReadError> {
        loop {
            match &self.state {
                State::Reading => {}
                State::Done => return Ok(()),
                State::Failed(error) => return Err(error.clone()),
            }
            if let (true, Some((first, rest))) = (self.after_cr, bytes.split_first()) {
                self.after_cr = false;
                if *first == b'\n' {
                    bytes = rest;
                }
            }
            let Some(end) = bytes.iter().position(|byte| matches!(byte, b'\r' | b'\n')) else {
                return self.keep(bytes);
            };
            let (head, rest) = bytes.split_at(end);
            self.keep(head)?;
            self.after_cr = rest.first() == Some(&b'\r');
            bytes = rest.get(1..).unwrap_or_default();
            let line = std::mem::take(&mut self.line);
            self.end_line(&line, chunks)?;
            // The room is used again.
            self.line = line;
            self.line.clear();
        }
    }

    fn keep(&mut self, bytes: &[u8]) -> Result<(), UiReadError> {
        let held = self.line.len() + self.data.as_ref().map_or(0, Vec::len);
        if held.saturating_add(bytes.len()) > self.limit {
            return Err(UiReadError::TooLarge { limit: self.limit });
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    fn end_line(&mut self, line: &[u8], chunks: &mut Vec<UiChunk>) -> Result<(), UiReadError> {
        let byte_order_mark: &[u8] = if std::mem::take(&mut self.at_start) { b"\xEF\xBB\xBF" } else { b"" };
        let line = line.strip_prefix(byte_order_mark).unwrap_or(line);
        if line.is_empty() {
            return self.end_event(chunks);
        }
        let Some(rest) = line.strip_prefix(b"data") else { return Ok(()) };
        let value = match rest.split_first() {
            None => rest,
            Some((b':', value)) => value.strip_prefix(b" ").unwrap_or(value),
            Some(_) => return Ok(()),
        };
        match &mut self.data {
            Some(data) => {
                data.push(b'\n');
                data.extend_from_slice(value);
            }
            None => self.data = Some(value.to_vec()),
        }
        Ok(())
    }

    fn end_event(&mut self, chunks: &mut Vec<UiChunk>) -> Result<(), UiReadError> {
        let Some(data) = self.data.take() else { return Ok(()) };
        if data == b"[DONE]" {
            self.state = State::Done;
            return Ok(());
        }
        let json = std::str::from_utf8(&data).map_err(|_| UiReadError::NotText)?;
        chunks.push(self.protocol.decode(json)?);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
