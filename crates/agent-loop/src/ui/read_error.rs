use std::error::Error;
use std::fmt;

use super::chunk::UiChunk;
use super::level::UiProtocol;

/// Why a stream of chunks cannot be read.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum UiReadError {
    /// The text is no JSON.
    NotJson {
        /// What is wrong, and where.
        problem: String,
    },
    /// The JSON is no chunk: its type is not known, or a field is missing or of a wrong type.
    NotAChunk {
        /// What is wrong.
        problem: String,
    },
    /// The chunk is one of a later level.
    NotAtLevel {
        /// The level it was read at.
        protocol: UiProtocol,
        /// The chunk.
        chunk: Box<UiChunk>,
    },
    /// The bytes are no UTF-8.
    NotText,
    /// An event is larger than the reader takes.
    TooLarge {
        /// The limit, in bytes.
        limit: usize,
    },
    /// The stream ended without its end marker: what came is a part of the message.
    Incomplete,
}

impl fmt::Display for UiReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotJson { problem } => write!(f, "an event is no JSON: {problem}"),
            Self::NotAChunk { problem } => write!(f, "an event is no chunk: {problem}"),
            Self::NotAtLevel { protocol, chunk } => {
                write!(f, "protocol level {protocol} has no `{}`", chunk.kind())
            }
            Self::NotText => f.write_str("an event is no UTF-8"),
            Self::TooLarge { limit } => write!(f, "an event is larger than {limit} bytes"),
            Self::Incomplete => f.write_str("the stream ended without its end marker"),
        }
    }
}

impl Error for UiReadError {}
