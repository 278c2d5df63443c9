use std::ops::Range;

use ai_provider::{ErrorClass, ModelError};

use crate::codec::Event;
use crate::excerpt::excerpt;
use crate::framer::Framer;
use crate::limits::{Limits, too_large};
use crate::lines::{LineBuffer, Quiet, grow, text};

#[cfg(test)]
mod tests;

const BOM: &[u8] = b"\xEF\xBB\xBF";

/// Bytes kept of a body that is no event stream: enough for an excerpt of it.
const FOREIGN: usize = 4 * 1024;

/// Server-sent events, by the line rules of the WHATWG standard, with two deviations:
/// a last event that lacks only its blank line is delivered, since servers close right behind it, and
/// bytes that are no text are an error instead of replacement characters.
///
/// Blocks without data, comments, `id` and `retry` give no event. A body that has given none by its end, and
/// holds lines of another kind, is a `Protocol` error that says what they say. The work is linear in the bytes, whatever
/// the cutting, and an event is borrowed from the one buffer.
///
/// ```
/// use ai_http::{Framer, Limits, SseFramer};
/// let mut framer = SseFramer::new(&Limits::default());
/// framer.push(b": hello\n\nevent: greet\ndata: {}\n\ndata: cut");
/// let event = framer.next()?.ok_or("no event")?;
/// assert_eq!((event.name, event.data, event.number), (Some("greet"), "{}", 1));
/// assert!(framer.next()?.is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct SseFramer {
    lines: LineBuffer,
    data: Data,
    /// The data of an event whose lines do not lie together.
    joined: Vec<u8>,
    /// Lines of the block that are fields.
    field_lines: usize,
    quiet: Quiet,
    /// Lines that are none of an event stream, as long as there was no event.
    foreign: Vec<u8>,
    name: String,
    number: u64,
    first_line: bool,
    /// An event was handed out; the next call forgets it.
    handed_out: bool,
    max_lines: usize,
    max_bytes: usize,
}

#[derive(Debug)]
enum Data {
    None,
    /// One line, still where it came in.
    Line(Range<usize>),
    Joined,
}

impl SseFramer {
    /// A framer for one body.
    pub fn new(limits: &Limits) -> Self {
        Self {
            lines: LineBuffer::new(limits.line),
            data: Data::None,
            joined: Vec::new(),
            field_lines: 0,
            quiet: Quiet::new(limits.idle_bytes),
            foreign: Vec::new(),
            name: String::new(),
            number: 0,
            first_line: true,
            handed_out: false,
            max_lines: limits.event_lines,
            max_bytes: limits.event_bytes,
        }
    }

    fn forget(&mut self) {
        self.data = Data::None;
        self.field_lines = 0;
        self.joined.clear();
        self.name.clear();
        self.handed_out = false;
    }

    /// Takes one line; says whether it completes an event.
    fn line(&mut self, mut line: Range<usize>, at_end: bool) -> Result<bool, ModelError> {
        if self.first_line {
            self.first_line = false;
            if self.lines.get(line.clone()).starts_with(BOM) {
                line.start += BOM.len();
            }
        }
        let bytes = self.lines.get(line.clone());
        if let Some(value) = field(bytes, b"data") {
            if value.is_empty() {
                self.quiet.pass(bytes)?;
            }
            let value = line.end - value.len()..line.end;
            self.count_field()?;
            self.add_data(value)?;
            return Ok(false);
        }
        if bytes.is_empty() && self.has_data() {
            return Ok(true);
        }
        self.quiet.pass(bytes)?;
        if bytes.is_empty() {
            self.forget();
        } else if let Some(value) = field(bytes, b"event") {
            let name = text(value, at_end)?;
            self.name.clear();
            self.name.push_str(name);
            self.count_field()?;
        } else if field(bytes, b"id").is_some() || field(bytes, b"retry").is_some() {
            self.count_field()?;
        } else if self.number == 0 && !bytes.starts_with(b":") && !(at_end && is_begin(bytes)) {
            let room = FOREIGN.saturating_sub(self.foreign.len());
            self.foreign.extend_from_slice(bytes.get(..room).unwrap_or(bytes));
            self.foreign.push(b'\n');
        }
        Ok(false)
    }

    fn count_field(&mut self) -> Result<(), ModelError> {
        self.field_lines += 1;
        if self.field_lines > self.max_lines {
            return Err(too_large("an event of the stream", self.max_lines, "lines"));
        }
        Ok(())
    }

    fn has_data(&self) -> bool {
        match &self.data {
            Data::None => false,
            Data::Line(line) => !line.is_empty(),
            Data::Joined => !self.joined.is_empty(),
        }
    }

    fn add_data(&mut self, line: Range<usize>) -> Result<(), ModelError> {
        let before = match &self.data {
            Data::None => 0,
            Data::Line(first) => first.len() + 1,
            Data::Joined => self.joined.len() + 1,
        };
        if before + line.len() > self.max_bytes {
            return Err(too_large("an event of the stream", self.max_bytes, "bytes"));
        }
        if matches!(self.data, Data::None) {
            self.data = Data::Line(line);
        } else {
            self.join();
            grow(&mut self.joined, 1 + line.len(), self.max_bytes);
            self.joined.push(b'\n');
            self.joined.extend_from_slice(self.lines.get(line));
        }
        Ok(())
    }

    /// Moves the data out of the line buffer.
    fn join(&mut self) {
        if let Data::Line(line) = &self.data {
            grow(&mut self.joined, line.len(), self.max_bytes);
            self.joined.extend_from_slice(self.lines.get(line.clone()));
            self.data = Data::Joined;
        }
    }

    fn event(&mut self, at_end: bool) -> Result<Option<Event<'_>>, ModelError> {
        self.handed_out = true;
        self.number += 1;
        self.quiet.end();
        let data = match &self.data {
            Data::None => &[],
            Data::Line(line) => self.lines.get(line.clone()),
            Data::Joined => &self.joined,
        };
        Ok(Some(Event {
            name: Some(self.name.as_str()).filter(|name| !name.is_empty()),
            data: text(data, at_end)?,
            number: self.number,
        }))
    }
}

impl Framer for SseFramer {
    fn push(&mut self, chunk: &[u8]) {
        if self.handed_out {
            self.forget();
        }
        self.join();
        self.lines.push(chunk);
    }

    fn next(&mut self) -> Result<Option<Event<'_>>, ModelError> {
        if self.handed_out {
            self.forget();
        }
        while let Some(line) = self.lines.next_line()? {
            if self.line(line, false)? {
                return self.event(false);
            }
        }
        Ok(None)
    }

    fn end(&mut self) -> Result<Option<Event<'_>>, ModelError> {
        if self.handed_out {
            self.forget();
        }
        while let Some(line) = self.lines.rest()? {
            if self.line(line, true)? {
                return self.event(false);
            }
        }
        if self.has_data() {
            return self.event(true);
        }
        if self.number == 0 && !self.foreign.trim_ascii().is_empty() {
            return Err(no_events(&self.foreign));
        }
        Ok(None)
    }
}

/// Whether a line that was cut may have been going to be a field, or a byte-order mark.
fn is_begin(line: &[u8]) -> bool {
    [BOM, b"data", b"event", b"id", b"retry"].iter().any(|whole| whole.starts_with(line))
}

/// What a proxy or a server says in place of events, in its own words.
fn no_events(said: &[u8]) -> ModelError {
    let said = excerpt(said);
    let message = format!("the answer is no stream of events, but says: {said}");
    ModelError::new(ErrorClass::Protocol, message).with_excerpt(said)
}

/// The value of a line, if this is its field: without the colon and one space behind it.
fn field<'a>(line: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    match line.strip_prefix(name)? {
        [] => Some(&[]),
        [b':', b' ', value @ ..] | [b':', value @ ..] => Some(value),
        _ => None,
    }
}
