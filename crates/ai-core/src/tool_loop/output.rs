use std::io;

use ai_provider::{FileData, ToolContent, ToolOutput};
use serde::Serialize;
use serde_json::Value;

/// The most levels a tool's JSON may have: a stored message wraps it in a few more, and readers of JSON stop at
/// 128.
const MAX_DEPTH: usize = 100;

/// Why the output of a tool is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Problem {
    TooLarge,
    TooDeep,
}

impl Problem {
    pub(super) fn tell(self, tool: &str, limit: usize) -> String {
        match self {
            Self::TooLarge => {
                format!("The result of `{tool}` is too large: more than {limit} bytes. Ask for less.")
            }
            Self::TooDeep => format!("The result of `{tool}` is nested more than {MAX_DEPTH} levels deep."),
        }
    }
}

/// Whether an output can be part of a history. Nothing is copied.
pub(super) fn check(output: &ToolOutput, limit: usize) -> Result<(), Problem> {
    let fits = match output {
        ToolOutput::Json(value) | ToolOutput::ErrorJson(value) => {
            // Looked at first: what writes JSON goes as deep as the value.
            if levels(value) > MAX_DEPTH {
                return Err(Problem::TooDeep);
            }
            take(limit, value).is_some()
        }
        ToolOutput::Text(text) | ToolOutput::ErrorText(text) => text.len() <= limit,
        ToolOutput::Content(items) => items.iter().try_fold(limit, take_content).is_some(),
        _ => true,
    };
    if fits { Ok(()) } else { Err(Problem::TooLarge) }
}

/// How deep a value is nested. A loop with its own stack: the value may be deeper than this thread's.
fn levels(value: &Value) -> usize {
    let mut deepest = 0;
    let mut waiting = vec![(value, 0)];
    while let Some((value, level)) = waiting.pop() {
        deepest = deepest.max(level);
        match value {
            Value::Array(items) => waiting.extend(items.iter().map(|item| (item, level + 1))),
            Value::Object(fields) => waiting.extend(fields.values().map(|field| (field, level + 1))),
            _ => {}
        }
    }
    deepest
}

/// What is left of so many bytes behind an item; nothing if it is larger.
fn take_content(left: usize, item: &ToolContent) -> Option<usize> {
    match item {
        ToolContent::Text(part) => left.checked_sub(part.text.len()),
        ToolContent::File(file) => match &file.data {
            FileData::Bytes { data } => left.checked_sub(data.len()),
            other => take(left, other),
        },
        other => take(left, other),
    }
}

/// What is left of so many bytes behind a value written as JSON.
fn take(left: usize, value: &impl Serialize) -> Option<usize> {
    let mut room = Room(left);
    serde_json::to_writer(&mut room, value).ok().map(|()| room.0)
}

/// Counts what is written, and refuses what is too much.
struct Room(usize);

impl io::Write for Room {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.checked_sub(bytes.len()).ok_or(io::ErrorKind::StorageFull)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
