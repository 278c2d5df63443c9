use std::io;

use bytes::{Buf, Bytes, BytesMut};
use httparse::Status;
use tokio::io::{AsyncRead, AsyncReadExt};

/// A request as a [`WireServer`](super::WireServer) received it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RecordedRequest {
    /// The method, for example `POST`.
    pub method: String,
    /// The path as sent, with its query.
    pub path: String,
    /// The headers as sent, in order, names in the case in which they came.
    pub headers: Vec<(String, Bytes)>,
    /// The body, chunks put together: the first 64 MiB of it.
    pub body: Bytes,
    /// How long the body was, in bytes.
    pub body_len: u64,
    /// The connection it came on, counted from 1.
    pub connection: usize,
}

impl RecordedRequest {
    /// The value of the first header of this name, in any case, if it is text.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut values = self.headers.iter().filter(|(ours, _)| ours.eq_ignore_ascii_case(name));
        values.next().and_then(|(_, value)| std::str::from_utf8(value).ok())
    }

    /// The body as JSON.
    ///
    /// # Errors
    /// If it is not JSON.
    pub fn json(&self) -> serde_json::Result<serde_json::Value> {
        serde_json::from_slice(&self.body)
    }
}

/// A line of a request, or all its headers, are never this long: more is no HTTP.
const HEAD_LIMIT: usize = 64 << 10;

/// More header lines than any client sends.
const MAX_HEADERS: usize = 256;

/// Bodies are kept up to here, so that a runaway client fills no memory. Above any real request.
const BODY_KEPT: usize = 64 << 20;

/// The head of a request, and how its body comes.
#[derive(Debug)]
pub(super) struct RequestHead {
    method: String,
    path: String,
    headers: Vec<(String, Bytes)>,
    body: Framing,
    /// Whether the client waits for `100 Continue` before it sends the body.
    pub(super) expects_continue: bool,
    /// Whether another request may follow.
    pub(super) keep_alive: bool,
}

#[derive(Clone, Copy, Debug)]
enum Framing {
    Length(u64),
    Chunked,
}

/// Why no request was read.
#[derive(Debug)]
pub(super) enum NoRequest {
    /// The client closed the connection, or it broke.
    Gone,
    /// What came is no HTTP request.
    Malformed(String),
}

impl From<io::Error> for NoRequest {
    fn from(_: io::Error) -> Self {
        Self::Gone
    }
}

impl From<httparse::Error> for NoRequest {
    fn from(error: httparse::Error) -> Self {
        Self::Malformed(error.to_string())
    }
}

/// Reads a head; `buffer` holds what has been read beyond it.
pub(super) async fn read_head(
    from: &mut (impl AsyncRead + Unpin),
    buffer: &mut BytesMut,
) -> Result<RequestHead, NoRequest> {
    loop {
        if let Some((head, length)) = parse_head(buffer)? {
            buffer.advance(length);
            return Ok(head);
        }
        more(from, buffer).await?;
    }
}

/// Reads the body that belongs to a head.
pub(super) async fn read_body(
    from: &mut (impl AsyncRead + Unpin),
    buffer: &mut BytesMut,
    head: RequestHead,
    connection: usize,
) -> Result<RecordedRequest, NoRequest> {
    let mut body = Body::default();
    match head.body {
        Framing::Length(length) => read_exactly(length, from, buffer, &mut body).await?,
        Framing::Chunked => read_chunks(from, buffer, &mut body).await?,
    }
    Ok(RecordedRequest {
        method: head.method,
        path: head.path,
        headers: head.headers,
        body: body.kept.freeze(),
        body_len: body.length,
        connection,
    })
}

fn parse_head(bytes: &[u8]) -> Result<Option<(RequestHead, usize)>, NoRequest> {
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut request = httparse::Request::new(&mut headers);
    let Status::Complete(length) = request.parse(bytes)? else { return Ok(None) };
    let headers: Vec<_> = (request.headers.iter())
        .map(|header| (header.name.to_owned(), Bytes::copy_from_slice(header.value)))
        .collect();
    let head = RequestHead {
        method: request.method.unwrap_or_default().to_owned(),
        path: request.path.unwrap_or_default().to_owned(),
        body: framing(&headers)?,
        expects_continue: has_token(&headers, "expect", "100-continue"),
        keep_alive: request.version == Some(1) && !has_token(&headers, "connection", "close"),
        headers,
    };
    Ok(Some((head, length)))
}

fn framing(headers: &[(String, Bytes)]) -> Result<Framing, NoRequest> {
    let mut lengths = values(headers, "content-length");
    let length = lengths.next();
    let chunked = has_token(headers, "transfer-encoding", "chunked");
    match (length, chunked) {
        (None, false) => Ok(Framing::Length(0)),
        (None, true) => Ok(Framing::Chunked),
        (Some(_), true) => Err(malformed("a request has both a length and chunks")),
        (Some(length), false) if lengths.all(|other| other == length) => {
            let digits = length.iter().all(u8::is_ascii_digit);
            let length = std::str::from_utf8(length).ok().filter(|_| digits);
            let length = length.and_then(|length| length.parse().ok());
            length.map(Framing::Length).ok_or_else(|| malformed("a content-length is no number"))
        }
        (Some(_), false) => Err(malformed("a request has two lengths")),
    }
}

fn values<'a>(headers: &'a [(String, Bytes)], name: &'a str) -> impl Iterator<Item = &'a Bytes> {
    headers.iter().filter(move |(ours, _)| ours.eq_ignore_ascii_case(name)).map(|(_, value)| value)
}

fn has_token(headers: &[(String, Bytes)], name: &str, token: &str) -> bool {
    values(headers, name)
        .flat_map(|value| value.split(|byte| *byte == b','))
        .any(|ours| ours.trim_ascii().eq_ignore_ascii_case(token.as_bytes()))
}

#[derive(Debug, Default)]
struct Body {
    kept: BytesMut,
    length: u64,
}

impl Body {
    fn push(&mut self, bytes: &[u8]) {
        let room = BODY_KEPT.saturating_sub(self.kept.len());
        self.kept.extend_from_slice(bytes.get(..room).unwrap_or(bytes));
        self.length = self.length.saturating_add(bytes.len() as u64);
    }
}

async fn read_exactly(
    mut length: u64,
    from: &mut (impl AsyncRead + Unpin),
    buffer: &mut BytesMut,
    body: &mut Body,
) -> Result<(), NoRequest> {
    while length > 0 {
        if buffer.is_empty() && read_some(from, buffer).await? == 0 {
            return Err(NoRequest::Gone);
        }
        let here = usize::try_from(length).unwrap_or(usize::MAX).min(buffer.len());
        body.push(&buffer.split_to(here));
        length -= here as u64;
    }
    Ok(())
}

async fn read_chunks(
    from: &mut (impl AsyncRead + Unpin),
    buffer: &mut BytesMut,
    body: &mut Body,
) -> Result<(), NoRequest> {
    loop {
        let parsed = httparse::parse_chunk_size(buffer).map_err(|_| malformed("a chunk has no size"))?;
        let Status::Complete((line, size)) = parsed else {
            more(from, buffer).await?;
            continue;
        };
        buffer.advance(line);
        if size == 0 {
            // Trailers, if there are any, and the blank line.
            while !read_line(from, buffer).await?.is_empty() {}
            return Ok(());
        }
        read_exactly(size, from, buffer, body).await?;
        if !read_line(from, buffer).await?.is_empty() {
            return Err(malformed("a chunk is longer than it says"));
        }
    }
}

async fn read_line(
    from: &mut (impl AsyncRead + Unpin),
    buffer: &mut BytesMut,
) -> Result<BytesMut, NoRequest> {
    loop {
        if let Some(at) = buffer.windows(2).position(|pair| pair == b"\r\n") {
            let line = buffer.split_to(at);
            buffer.advance(2);
            return Ok(line);
        }
        more(from, buffer).await?;
    }
}

/// Reads what is there; 0 at the end.
pub(super) async fn read_some(
    from: &mut (impl AsyncRead + Unpin),
    buffer: &mut BytesMut,
) -> io::Result<usize> {
    buffer.reserve(16 << 10);
    from.read_buf(buffer).await
}

async fn more(from: &mut (impl AsyncRead + Unpin), buffer: &mut BytesMut) -> Result<(), NoRequest> {
    if buffer.len() > HEAD_LIMIT {
        return Err(malformed("a line or the headers are too long"));
    }
    match read_some(from, buffer).await? {
        0 => Err(NoRequest::Gone),
        _ => Ok(()),
    }
}

fn malformed(message: &str) -> NoRequest {
    NoRequest::Malformed(message.to_owned())
}

#[cfg(test)]
mod tests;
