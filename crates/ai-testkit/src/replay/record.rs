use std::fmt;
use std::future::poll_fn;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use ai_http::{Body, HttpCall, HttpResponse, Transport};
use ai_provider::ModelError;
use async_trait::async_trait;
use bytes::Bytes;
use futures_util::stream;
use http::header::CONTENT_TYPE;
use tokio::time::timeout;

use super::mask::Masker;

/// A recording is never longer: a server that does not end fills no disk. Above any answer there is.
const LIMIT: u64 = 256 << 20;

/// How long [`Recorder::finish`] waits for each further piece.
const PATIENCE: Duration = Duration::from_secs(30);

/// A transport that writes down the body of what comes through it, with secrets taken out.
#[derive(Clone)]
pub struct Recorder {
    transport: Arc<dyn Transport>,
    tape: Arc<Mutex<Tape>>,
}

struct Tape {
    out: Box<dyn Write + Send>,
    masker: Masker,
    /// The rest of the body; the adapter reads it through here, and may leave it.
    body: Option<Body>,
    recorded: Recorded,
    error: Option<io::Error>,
}

/// What was recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Recorded {
    /// The status of the response; absent if none came.
    pub status: Option<u16>,
    /// Its `content-type`.
    pub content_type: Option<String>,
    /// How many bytes came.
    pub bytes: u64,
    /// How the body broke off, if it did.
    pub broken: Option<String>,
}

impl Recorder {
    /// Writes what comes through `transport` to `out`, without these secrets and their usual encodings.
    pub fn new<'a>(
        transport: Arc<dyn Transport>,
        out: impl Write + Send + 'static,
        secrets: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let tape = Tape {
            out: Box::new(out),
            masker: Masker::new(secrets),
            body: None,
            recorded: Recorded::default(),
            error: None,
        };
        Self { transport, tape: Arc::new(Mutex::new(tape)) }
    }

    /// Reads what the adapter has left of the body, and ends the recording.
    ///
    /// # Errors
    /// Those of the writer.
    pub async fn finish(self) -> io::Result<Recorded> {
        loop {
            match timeout(PATIENCE, poll_fn(|cx| lock(&self.tape).poll_next(cx))).await {
                Ok(Some(Ok(_))) => {}
                Ok(Some(Err(_)) | None) => break,
                Err(_) => {
                    let message = format!("nothing came for {} s", PATIENCE.as_secs());
                    lock(&self.tape).recorded.broken.get_or_insert(message);
                    break;
                }
            }
        }
        let mut tape = lock(&self.tape);
        let rest = tape.masker.end();
        tape.write(&rest);
        let flushed = tape.out.flush();
        match tape.error.take() {
            Some(error) => Err(error),
            None => flushed.map(|()| tape.recorded.clone()),
        }
    }
}

impl Tape {
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, ModelError>>> {
        let Some(body) = &mut self.body else { return Poll::Ready(None) };
        let item = ready!(body.as_mut().poll_next(cx));
        match &item {
            Some(Ok(piece)) => self.take(piece),
            Some(Err(error)) => {
                self.recorded.broken = Some(error.to_string());
                self.body = None;
            }
            None => self.body = None,
        }
        Poll::Ready(item)
    }

    fn take(&mut self, piece: &[u8]) {
        self.recorded.bytes += piece.len() as u64;
        if self.recorded.bytes > LIMIT {
            self.recorded.broken = Some(format!("longer than {LIMIT} bytes"));
            self.body = None;
            return;
        }
        let safe = self.masker.push(piece);
        self.write(&safe);
    }

    /// Writes at once, so that a recording which is broken off holds what came.
    fn write(&mut self, bytes: &[u8]) {
        if self.error.is_none() {
            self.error = self.out.write_all(bytes).and_then(|()| self.out.flush()).err();
        }
    }
}

#[async_trait]
impl Transport for Recorder {
    async fn send(&self, call: HttpCall) -> Result<HttpResponse, ModelError> {
        let mut response = self.transport.send(call).await?;
        let content_type = response.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let mut tape = lock(&self.tape);
        tape.recorded.status = Some(response.status.as_u16());
        tape.recorded.content_type = content_type.map(str::to_owned);
        let shared = Arc::clone(&self.tape);
        let through: Body = Box::pin(stream::poll_fn(move |cx| lock(&shared).poll_next(cx)));
        tape.body = Some(std::mem::replace(&mut response.body, through));
        Ok(response)
    }
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorder").field("recorded", &lock(&self.tape).recorded).finish_non_exhaustive()
    }
}

fn lock(tape: &Mutex<Tape>) -> MutexGuard<'_, Tape> {
    tape.lock().unwrap_or_else(PoisonError::into_inner)
}
