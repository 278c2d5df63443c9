//! What a part adds to the bytes of an answer.

use std::io;

use serde::Serialize;

use crate::media::{FileData, FilePart};
use crate::part::StreamPart;

/// The bytes the assembler will hold on account of this part; the input of a whole call is counted apart,
/// since it may have been streamed before.
///
/// Nothing for what it does not keep, and for what it keeps once and one event of the wire already bounds.
pub(super) fn weight(part: &StreamPart) -> usize {
    match part {
        StreamPart::TextDelta { delta, metadata, .. }
        | StreamPart::ReasoningDelta { delta, metadata, .. } => delta.len() + optional(metadata.as_ref()),
        StreamPart::ToolInputDelta { delta, .. } => delta.len(),
        StreamPart::ToolCall(call) => call.id.len() + call.name.len() + optional(call.metadata.as_ref()),
        StreamPart::ToolResult(result) if result.preliminary => 0,
        StreamPart::File(file) | StreamPart::ReasoningFile(file) => file_weight(file),
        StreamPart::StreamStart { .. }
        | StreamPart::ResponseMetadata(_)
        | StreamPart::Finish(_)
        | StreamPart::Raw { .. } => 0,
        other => json(other),
    }
}

fn file_weight(file: &FilePart) -> usize {
    let data = match &file.data {
        FileData::Bytes { data } => data.len(),
        FileData::Text { text } => text.len(),
        elsewhere => json(elsewhere),
    };
    data + file.media_type.len() + optional(file.filename.as_ref()) + optional(file.metadata.as_ref())
}

fn optional(value: Option<&impl Serialize>) -> usize {
    value.map_or(0, json)
}

/// The length of a value's JSON, without making it.
fn json(value: &impl Serialize) -> usize {
    let mut written = Written(0);
    // Nothing here can fail: the writer takes everything, and all map keys of a part are text.
    let _ = serde_json::to_writer(&mut written, value);
    written.0
}

struct Written(usize);

impl io::Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
