use std::time::Duration;

use ai_provider::{ErrorClass, ModelError};

/// How much of a response is held in memory. Passing a limit is a
/// [`TooLarge`](ErrorClass::TooLarge) error and closes the connection.
///
/// ```
/// use ai_http::Limits;
/// let mut limits = Limits::default();
/// limits.body = 1024 * 1024;
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Bytes of one line. Default 32 MiB: an image comes as one line of base64, and APIs stop at 20 MiB.
    pub line: usize,
    /// Lines of one event, whatever their field. Default 65,536: pretty-printed JSON has one per field,
    /// nothing has more.
    pub event_lines: usize,
    /// Bytes of the data of one event. Default 32 MiB, as for a line.
    pub event_bytes: usize,
    /// Bytes between two events that are no data: comments, blank lines, other fields. They show that the
    /// server is alive, and so no time limit ends them. Default 4 MiB: a comment each second for more than a
    /// day.
    pub idle_bytes: usize,
    /// Bytes of a body that is read whole. Default 64 MiB: several images in one answer. A streamed body has
    /// no limit, since no more than one event of it is held.
    pub body: usize,
    /// Bytes of the body of an error that are read. Default 64 KiB: errors are short, and what is longer is
    /// a page for people. The rest is not read and is no error of its own.
    pub error_body: usize,
}

impl Default for Limits {
    fn default() -> Self {
        const MIB: usize = 1024 * 1024;
        Self {
            line: 32 * MIB,
            event_lines: 65_536,
            event_bytes: 32 * MIB,
            idle_bytes: 4 * MIB,
            body: 64 * MIB,
            error_body: 64 * 1024,
        }
    }
}

/// How long a call waits for the server. There is no limit on the whole: a long answer is not a fault. For
/// that, set [`CallContext::deadline`](ai_provider::CallContext::deadline).
///
/// The timers run only while the stream is polled and waits: the consumer's own time never counts. The time
/// to connect is the transport's.
///
/// ```
/// use std::time::Duration;
/// use ai_http::Timeouts;
/// let mut timeouts = Timeouts::default();
/// timeouts.idle = Some(Duration::from_secs(30));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Timeouts {
    /// From sending the request to the head of the response. Default 10 minutes: an answer in one body has
    /// no head before it is done, and that is how long providers let one take.
    pub first_byte: Option<Duration>,
    /// Between two reads of the body. Default 5 minutes: a model that reasons sends nothing meanwhile.
    pub idle: Option<Duration>,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self { first_byte: Some(Duration::from_secs(600)), idle: Some(Duration::from_secs(300)) }
    }
}

pub(crate) fn too_large(what: &str, limit: usize, unit: &str) -> ModelError {
    ModelError::new(ErrorClass::TooLarge, format!("{what} is larger than the limit of {limit} {unit}"))
}
