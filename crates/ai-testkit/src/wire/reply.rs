use std::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};
use http::StatusCode;

use crate::cut::Cut;

/// What a [`WireServer`](super::WireServer) answers, byte by byte.
///
/// ```
/// use std::time::Duration;
/// use ai_testkit::{Cut, WireEnd, WireReply};
/// let slow_then_broken = WireReply::sse("data: 1\n\ndata: 2\n\n")
///     .header("x-request-id", "r1")
///     .cut(Cut::Event)
///     .chunk_delay(Duration::from_millis(20))
///     .ending(WireEnd::ResetAfter(12));
/// # drop(slow_then_broken);
/// ```
#[derive(Clone, Debug)]
pub struct WireReply {
    head: Option<Head>,
    body: Bytes,
    cut: Cut,
    head_delay: Duration,
    body_delay: Duration,
    chunk_delay: Duration,
    end: WireEnd,
}

#[derive(Clone, Debug)]
struct Head {
    status: StatusCode,
    headers: Vec<(String, String)>,
    framing: WireFraming,
}

/// How the client learns where the body ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum WireFraming {
    /// By `content-length`.
    #[default]
    Length,
    /// By chunked transfer encoding, one chunk per piece of the cut.
    Chunked,
    /// By the end of the connection: nothing tells a whole body from a broken one.
    UntilClose,
}

/// How a reply ends. The numbers count bytes of the body; the whole body is sent if it has no more. Unless the
/// end is clean the body never looks complete: the last chunk is missing, or the length promised is larger
/// than what comes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum WireEnd {
    /// Properly, and the connection is kept for the next request.
    #[default]
    Clean,
    /// The server closes the connection after so many bytes (FIN).
    CloseAfter(usize),
    /// The server resets the connection after so many bytes (RST). Bytes that have not left this machine's
    /// send buffer by then are lost with it.
    ResetAfter(usize),
    /// The server sends no more after so many bytes and keeps the connection open, until the client closes it
    /// or the server is dropped.
    HangAfter(usize),
}

impl WireReply {
    /// A status and a body, whose length is announced.
    pub fn new(status: StatusCode, body: impl Into<Bytes>) -> Self {
        let head = Head { status, headers: Vec::new(), framing: WireFraming::Length };
        Self { head: Some(head), ..Self::raw(body) }
    }

    /// Status 200 and a body, whose length is announced.
    pub fn ok(body: impl Into<Bytes>) -> Self {
        Self::new(StatusCode::OK, body)
    }

    /// Status 200 and server-sent events, chunked.
    pub fn sse(body: impl Into<Bytes>) -> Self {
        Self::ok(body).header("content-type", "text/event-stream").framing(WireFraming::Chunked)
    }

    /// A status and a body of JSON text, whose length is announced.
    pub fn json(status: StatusCode, body: impl Into<Bytes>) -> Self {
        Self::new(status, body).header("content-type", "application/json")
    }

    /// These bytes and nothing else, status line included if they hold one; then the connection is closed.
    /// Headers and framing are ignored. An empty one with [`WireEnd::HangAfter`] is a server that never
    /// answers.
    pub fn raw(bytes: impl Into<Bytes>) -> Self {
        Self {
            head: None,
            body: bytes.into(),
            cut: Cut::Whole,
            head_delay: Duration::ZERO,
            body_delay: Duration::ZERO,
            chunk_delay: Duration::ZERO,
            end: WireEnd::Clean,
        }
    }

    /// Adds a header. It is sent as it is, also if HTTP does not allow it.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        if let Some(head) = &mut self.head {
            head.headers.push((name.to_owned(), value.to_owned()));
        }
        self
    }

    /// Sets how the end of the body is told.
    #[must_use]
    pub fn framing(mut self, framing: WireFraming) -> Self {
        if let Some(head) = &mut self.head {
            head.framing = framing;
        }
        self
    }

    /// Sets how the body is cut into writes; whole by default.
    #[must_use]
    pub fn cut(mut self, cut: Cut) -> Self {
        self.cut = cut;
        self
    }

    /// Sets the wait before the head.
    #[must_use]
    pub fn head_delay(mut self, time: Duration) -> Self {
        self.head_delay = time;
        self
    }

    /// Sets the wait between the head and the first piece.
    #[must_use]
    pub fn body_delay(mut self, time: Duration) -> Self {
        self.body_delay = time;
        self
    }

    /// Sets the wait before each further piece, and before the end.
    #[must_use]
    pub fn chunk_delay(mut self, time: Duration) -> Self {
        self.chunk_delay = time;
        self
    }

    /// Sets how it ends; properly by default.
    #[must_use]
    pub fn ending(mut self, end: WireEnd) -> Self {
        self.end = end;
        self
    }

    /// What to write when, and what to do then.
    pub(super) fn plan(&self) -> Plan {
        let limit = match self.end {
            WireEnd::Clean => usize::MAX,
            WireEnd::CloseAfter(limit) | WireEnd::ResetAfter(limit) | WireEnd::HangAfter(limit) => limit,
        };
        let whole = self.end == WireEnd::Clean;
        let mut writes = Vec::new();
        if let Some(head) = &self.head {
            writes.push((self.head_delay, head.bytes(self.announced_length(limit, whole))));
        }
        let chunked = self.head.as_ref().is_some_and(|head| head.framing == WireFraming::Chunked);
        let mut delay = if self.head.is_some() { self.body_delay } else { self.head_delay };
        let mut left = limit;
        for piece in self.cut.cut(&self.body) {
            if left == 0 {
                break;
            }
            writes.push((delay, if chunked { chunk(&piece, left) } else { start(&piece, left) }));
            left = left.saturating_sub(piece.len());
            delay = self.chunk_delay;
        }
        let last = if chunked && whole { Bytes::from_static(b"0\r\n\r\n") } else { Bytes::new() };
        writes.push((delay, last));
        let then = match self.end {
            WireEnd::Clean if self.head.as_ref().is_some_and(Head::ends_by_itself) => Then::Keep,
            WireEnd::Clean | WireEnd::CloseAfter(_) => Then::Close,
            WireEnd::ResetAfter(_) => Then::Reset,
            WireEnd::HangAfter(_) => Then::Hang,
        };
        Plan { writes, then }
    }

    fn announced_length(&self, limit: usize, whole: bool) -> usize {
        let complete = !whole && limit >= self.body.len();
        self.body.len() + usize::from(complete)
    }
}

impl Head {
    fn ends_by_itself(&self) -> bool {
        self.framing != WireFraming::UntilClose
    }

    fn bytes(&self, length: usize) -> Bytes {
        let status = self.status;
        let reason = status.canonical_reason().unwrap_or("Unknown");
        let mut head = format!("HTTP/1.1 {} {reason}\r\n", status.as_str());
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        match self.framing {
            WireFraming::Length => head.push_str(&format!("content-length: {length}\r\n")),
            WireFraming::Chunked => head.push_str("transfer-encoding: chunked\r\n"),
            WireFraming::UntilClose => head.push_str("connection: close\r\n"),
        }
        head.push_str("\r\n");
        head.into()
    }
}

/// A reply as the connection plays it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Plan {
    /// Each a wait and the bytes after it, none at the end of a body whose end needs no bytes.
    pub(super) writes: Vec<(Duration, Bytes)>,
    pub(super) then: Then,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Then {
    Keep,
    Close,
    Reset,
    Hang,
}

fn start(piece: &Bytes, limit: usize) -> Bytes {
    piece.slice(..piece.len().min(limit))
}

/// A piece as a chunk. One that the limit cuts announces its full size and breaks off.
fn chunk(piece: &Bytes, limit: usize) -> Bytes {
    let mut chunk = BytesMut::from(format!("{:x}\r\n", piece.len()).as_str());
    chunk.put(start(piece, limit));
    if limit >= piece.len() {
        chunk.put_slice(b"\r\n");
    }
    chunk.freeze()
}

#[cfg(test)]
mod tests;
