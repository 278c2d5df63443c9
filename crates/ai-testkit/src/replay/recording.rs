use std::io;
use std::path::Path;

use bytes::Bytes;
use http::StatusCode;

use crate::cut::Cut;
use crate::recordings::read_body;
use crate::wire::{WireFraming, WireReply};

/// A body as a server sent it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recording {
    body: Bytes,
    events: bool,
}

impl Recording {
    /// Server-sent events.
    pub fn events(body: impl Into<Bytes>) -> Self {
        Self { body: body.into(), events: true }
    }

    /// A JSON document: an answer in one body, or an error.
    pub fn document(body: impl Into<Bytes>) -> Self {
        Self { body: body.into(), events: false }
    }

    /// Reads a file by the kind its name tells: `.sse` as it is, `.chunks.txt` (one payload a line) wrapped in
    /// the events of the API, `.json` as a document.
    ///
    /// # Errors
    /// `InvalidInput` for another kind; those of reading, with the path.
    pub fn read(api: &str, path: &Path) -> io::Result<Self> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let events = match () {
            () if name.ends_with(".chunks.txt") || name.ends_with(".sse") => true,
            () if name.ends_with(".json") => false,
            () => {
                let message = format!(
                    "{}: the name of a recording ends with .sse (a stream as it came), .chunks.txt (a stream, one \
                     payload a line) or .json (an answer in one body, or an error)",
                    path.display()
                );
                return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
            }
        };
        Ok(Self { body: read_body(api, path)?, events })
    }

    /// The reply that sends it, under this status (500 if it is none) and cut like this.
    pub fn reply(&self, status: u16, cut: Cut) -> WireReply {
        let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let reply = WireReply::new(status, self.body.clone()).cut(cut);
        if self.events {
            reply.header("content-type", "text/event-stream").framing(WireFraming::Chunked)
        } else {
            reply.header("content-type", "application/json")
        }
    }
}
