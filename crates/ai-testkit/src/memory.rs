use std::collections::VecDeque;
use std::future::pending;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ai_http::{Body, HttpCall, HttpResponse, Transport};
use ai_provider::{ErrorClass, ModelError};
use async_trait::async_trait;
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use tokio::time::sleep;

use crate::cut::Cut;

/// A [`Transport`] without a network: answers with given replies and remembers the calls.
///
/// All waiting is done on tokio's clock, so a test with a paused clock needs no time. Clones share replies
/// and records.
///
/// ```
/// use ai_http::{HttpCall, Transport};
/// use ai_testkit::{Cut, MemoryReply, MemoryTransport};
/// use futures_util::TryStreamExt;
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), ai_provider::ModelError> {
/// let transport = MemoryTransport::new().reply(MemoryReply::sse("data: 1\n\ndata: 2\n\n").cut(Cut::Event));
/// let response = transport.send(HttpCall::get("http://localhost/v1")).await?;
/// let pieces: Vec<_> = response.body.try_collect().await?;
/// assert_eq!(pieces, ["data: 1\n\n", "data: 2\n\n"]);
/// assert_eq!(transport.calls().len(), 1);
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, Default)]
pub struct MemoryTransport(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    replies: VecDeque<MemoryReply>,
    given: usize,
    repeat: Option<MemoryReply>,
    calls: Vec<HttpCall>,
    dropped: usize,
}

impl MemoryTransport {
    /// A transport without replies.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the answer to the next call that has none. A call beyond the last answer fails with
    /// `InvalidRequest`, which nobody tries again.
    #[must_use]
    pub fn reply(self, reply: MemoryReply) -> Self {
        let mut state = lock(&self.0);
        state.replies.push_back(reply);
        state.given += 1;
        drop(state);
        self
    }

    /// Sets the answer to every call beyond those that have one of their own.
    #[must_use]
    pub fn repeat(self, reply: MemoryReply) -> Self {
        lock(&self.0).repeat = Some(reply);
        self
    }

    /// All calls, in the order in which they were sent.
    pub fn calls(&self) -> Vec<HttpCall> {
        lock(&self.0).calls.clone()
    }

    /// How many calls were dropped before their end: while they waited for the head, or before the body gave
    /// its error or its `None`. A body of which the last chunk was read and no more is not at its end.
    pub fn dropped(&self) -> usize {
        lock(&self.0).dropped
    }
}

#[async_trait]
impl Transport for MemoryTransport {
    async fn send(&self, call: HttpCall) -> Result<HttpResponse, ModelError> {
        let url = call.url.clone();
        let reply = take_reply(&self.0, call)?;
        let mut open = Open { state: Arc::clone(&self.0), over: false };
        pause(reply.head_delay).await;
        match reply.head() {
            Ok((status, headers)) => Ok(HttpResponse { status, headers, url, body: reply.into_body(open) }),
            Err(error) => {
                open.over = true;
                Err(error)
            }
        }
    }
}

fn take_reply(state: &Mutex<State>, call: HttpCall) -> Result<MemoryReply, ModelError> {
    let mut state = lock(state);
    state.calls.push(call);
    let reply = state.replies.pop_front().or_else(|| state.repeat.clone());
    reply.ok_or_else(|| {
        let (call, replies) = (state.calls.len(), state.given);
        ModelError::new(
            ErrorClass::InvalidRequest,
            format!("call {call} came to a memory transport with {replies} replies"),
        )
    })
}

/// What a [`MemoryTransport`] answers.
#[derive(Clone, Debug)]
pub struct MemoryReply {
    status: StatusCode,
    headers: Vec<(String, String)>,
    body: Bytes,
    cut: Cut,
    head_delay: Duration,
    body_delay: Duration,
    chunk_delay: Duration,
    end: MemoryEnd,
    failure: Option<ModelError>,
}

/// How a body ends after its last byte.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub enum MemoryEnd {
    /// Properly.
    #[default]
    Clean,
    /// With this error, as a connection that breaks.
    Error(ModelError),
    /// Never.
    Hang,
}

impl MemoryReply {
    /// A status and a body without headers.
    pub fn new(status: StatusCode, body: impl Into<Bytes>) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body: body.into(),
            cut: Cut::Whole,
            head_delay: Duration::ZERO,
            body_delay: Duration::ZERO,
            chunk_delay: Duration::ZERO,
            end: MemoryEnd::Clean,
            failure: None,
        }
    }

    /// Status 200 and a body without headers.
    pub fn ok(body: impl Into<Bytes>) -> Self {
        Self::new(StatusCode::OK, body)
    }

    /// Status 200 and server-sent events.
    pub fn sse(body: impl Into<Bytes>) -> Self {
        Self::ok(body).header("content-type", "text/event-stream")
    }

    /// A status and a body of JSON text.
    pub fn json(status: StatusCode, body: impl Into<Bytes>) -> Self {
        Self::new(status, body).header("content-type", "application/json")
    }

    /// No response: sending fails with this error, after the delay of the head.
    pub fn fail(error: ModelError) -> Self {
        Self { failure: Some(error), ..Self::ok(Bytes::new()) }
    }

    /// Adds a header. One that HTTP does not allow makes the call fail with `InvalidRequest`.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Sets how the body is cut into chunks; whole by default.
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

    /// Sets the wait between the head and the first chunk.
    #[must_use]
    pub fn body_delay(mut self, time: Duration) -> Self {
        self.body_delay = time;
        self
    }

    /// Sets the wait before each further chunk, and before the end.
    #[must_use]
    pub fn chunk_delay(mut self, time: Duration) -> Self {
        self.chunk_delay = time;
        self
    }

    /// Sets how the body ends; properly by default.
    #[must_use]
    pub fn ending(mut self, end: MemoryEnd) -> Self {
        self.end = end;
        self
    }

    fn head(&self) -> Result<(StatusCode, HeaderMap), ModelError> {
        if let Some(error) = &self.failure {
            return Err(error.clone());
        }
        let mut headers = HeaderMap::new();
        for (name, value) in &self.headers {
            let header = (name.parse::<HeaderName>().ok()).zip(HeaderValue::from_str(value).ok());
            let (name, value) = header.ok_or_else(|| {
                let message = format!("the reply's header {name:?}: {value:?} is not allowed in HTTP");
                ModelError::new(ErrorClass::InvalidRequest, message)
            })?;
            headers.append(name, value);
        }
        Ok((self.status, headers))
    }

    fn into_body(self, open: Open) -> Body {
        let chunks = self.cut.cut(&self.body).into();
        let delays = (self.body_delay, self.chunk_delay);
        let feed = Feed { chunks, next_delay: delays.0, chunk_delay: delays.1, end: self.end, open };
        let items = stream::unfold(feed, |mut feed| async move { Some((feed.next().await?, feed)) });
        // An unfold panics when it is polled after its end.
        Box::pin(items.fuse())
    }
}

/// The rest of a body.
struct Feed {
    chunks: VecDeque<Bytes>,
    next_delay: Duration,
    chunk_delay: Duration,
    end: MemoryEnd,
    open: Open,
}

impl Feed {
    async fn next(&mut self) -> Option<Result<Bytes, ModelError>> {
        if self.open.over {
            return None;
        }
        pause(self.next_delay).await;
        self.next_delay = self.chunk_delay;
        if let Some(chunk) = self.chunks.pop_front() {
            return Some(Ok(chunk));
        }
        if matches!(self.end, MemoryEnd::Hang) {
            pending::<()>().await;
        }
        self.open.over = true;
        match std::mem::take(&mut self.end) {
            MemoryEnd::Error(error) => Some(Err(error)),
            MemoryEnd::Clean | MemoryEnd::Hang => None,
        }
    }
}

/// Counts a call that is dropped before it is over.
struct Open {
    state: Arc<Mutex<State>>,
    over: bool,
}

impl Drop for Open {
    fn drop(&mut self) {
        if !self.over {
            lock(&self.state).dropped += 1;
        }
    }
}

/// Waits; without a delay it needs no clock.
async fn pause(time: Duration) {
    if !time.is_zero() {
        sleep(time).await;
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
