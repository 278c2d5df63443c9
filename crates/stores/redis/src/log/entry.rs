//! What an entry of a stream holds.

use stream_manager::port::{LogBody, StoreError, UiChunk, decode};
use stream_manager::record::Terminal;

use crate::error::corrupt;

/// The id of an entry, by the number of its last record.
pub(super) fn id(epoch: u64, last: u64) -> String {
    format!("{epoch}-{last}")
}

/// The number in an id.
pub(super) fn number(id: &str) -> Option<u64> {
    id.split_once('-').and_then(|(_, number)| number.parse().ok())
}

/// Kinds of entries, by the name of their field.
pub(super) const CHUNKS: &str = "d";
pub(super) const TERMINAL: &str = "t";
/// The writer is gone, without a last record.
pub(super) const ABANDONED: &str = "a";

/// An entry as it is read.
#[derive(Debug)]
pub(super) enum Entry {
    /// Nothing to read: the log began.
    Opened,
    /// Records, and the number of the first. None if it goes by the one before.
    Records(Option<u64>, Vec<(LogBody, usize)>),
    Abandoned,
}

impl Entry {
    /// Reads the fields of an entry: names and values in turn.
    pub(super) fn read(fields: &[String]) -> Result<Self, StoreError> {
        let (mut first, mut entry) = (None, None);
        for pair in fields.chunks_exact(2) {
            let [name, value] = pair else { continue };
            match name.as_str() {
                "f" => {
                    first =
                        Some(value.parse().map_err(|_| corrupt("reading a log: an entry without a number"))?)
                }
                CHUNKS => entry = Some(Self::Records(None, chunks(value)?)),
                TERMINAL => {
                    let terminal: Terminal = decode(value)?;
                    entry = Some(Self::Records(None, vec![(LogBody::Terminal(terminal), value.len())]));
                }
                ABANDONED => entry = Some(Self::Abandoned),
                _ => {}
            }
        }
        Ok(match entry {
            Some(Self::Records(_, records)) => Self::Records(first, records),
            Some(other) => other,
            None => Self::Opened,
        })
    }
}

/// One chunk a line: JSON has no line breaks of its own.
fn chunks(lines: &str) -> Result<Vec<(LogBody, usize)>, StoreError> {
    let read = |line: &str| {
        let chunk: UiChunk = decode(line)?;
        Ok((LogBody::Chunk(chunk), line.len()))
    };
    lines.lines().map(read).collect()
}

/// Whether a chunk waits for others to be sent with it: there are many of its kind, and one more or less shows little.
pub(super) fn can_wait(chunk: &UiChunk) -> bool {
    matches!(
        chunk,
        UiChunk::TextStart { .. }
            | UiChunk::TextDelta { .. }
            | UiChunk::TextEnd { .. }
            | UiChunk::ReasoningStart { .. }
            | UiChunk::ReasoningDelta { .. }
            | UiChunk::ReasoningEnd { .. }
            | UiChunk::ToolInputDelta { .. }
    )
}
