use std::io::Write;
use std::time::Duration;

use agent_loop::{SSE_DONE, UiChunk, UiProtocol, encode_sse};
use futures_core::stream::BoxStream;
use futures_util::{FutureExt, StreamExt, stream};
use tokio::time::timeout;

use super::TopicReader;
use super::cursor::Cursor;
use super::item::{ReaderBody, ReaderItem};
use crate::port::StoreError;
use crate::record::{RowId, RowStatus, Terminal};

/// How a body of server-sent events is written.
#[derive(Clone, Copy, Debug)]
#[must_use]
pub struct SseSettings {
    protocol: UiProtocol,
    heartbeat: Duration,
    ids: bool,
}

impl Default for SseSettings {
    fn default() -> Self {
        Self { protocol: UiProtocol::default(), heartbeat: HEARTBEAT, ids: true }
    }
}

/// Proxies close a connection that is silent for 30 s and more.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// A body is given out in pieces of about this size, in bytes, when there is so much at once.
const PIECE: usize = 16 * 1024;

impl SseSettings {
    /// Level 7, a comment every 15 s of silence, events with ids.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the level of the UI message stream that the client knows.
    pub fn with_protocol(mut self, protocol: UiProtocol) -> Self {
        self.protocol = protocol;
        self
    }

    /// Sets after how much silence a comment is sent, which clients pass over: at least 1 s.
    pub fn with_heartbeat(mut self, heartbeat: Duration) -> Self {
        self.heartbeat = heartbeat.max(Duration::from_secs(1));
        self
    }

    /// Leaves the ids out.
    pub fn without_ids(mut self) -> Self {
        self.ids = false;
        self
    }
}

/// One row as the body of an HTTP response: what `useChat` and other clients of the AI SDK read. Send it with
/// [`SSE_HEADERS`](agent_loop::SSE_HEADERS).
///
/// All attempts of the row are one message: one `start`, one end, then `[DONE]`. The id of an event is the
/// [`Cursor`] behind it, for `Last-Event-ID`. A reader whose place is gone gets the message as it stands; its first event is
/// then named `rebase` (clients that do not ask for ids never need to look at it). In the middle of a body that cannot be
/// said to a client that folds parts, so the body ends there without `[DONE]`, as a broken connection would, and the client
/// comes back. The same if the log does not answer, or nobody ends the row.
///
/// Of several rows it writes the one it hears of first; attach with [`with_row`](super::Attach::with_row) to choose.
#[derive(Debug)]
pub struct SseBody {
    reader: TopicReader,
    encoder: Encoder,
    heartbeat: Duration,
    failed: Option<StoreError>,
}

impl SseBody {
    /// Writes what a reader gets.
    pub fn new(reader: TopicReader, settings: SseSettings) -> Self {
        Self { reader, encoder: Encoder::new(settings), heartbeat: settings.heartbeat, failed: None }
    }

    /// The next piece of the body: what is there, or a comment after a silence. `None` at the end. Dropping the future
    /// loses nothing but the piece it was about to give.
    ///
    /// # Errors
    /// If the log does not answer; the body is over then.
    pub async fn next(&mut self) -> Option<Result<Vec<u8>, StoreError>> {
        if let Some(error) = self.failed.take() {
            return Some(Err(error));
        }
        let mut out = Vec::new();
        while !self.encoder.over && out.len() < PIECE {
            let next = self.reader.next();
            let item = if out.is_empty() {
                match timeout(self.heartbeat, next).await {
                    Ok(item) => item,
                    Err(_) => return Some(Ok(b":\n\n".to_vec())),
                }
            } else {
                let Some(item) = next.now_or_never() else { break };
                item
            };
            match item {
                Some(Ok(item)) => self.encoder.push(&item, &mut out),
                Some(Err(error)) => {
                    self.encoder.over = true;
                    self.failed = Some(error);
                }
                None => self.encoder.end(&mut out),
            }
        }
        if out.is_empty() { self.failed.take().map(Err) } else { Some(Ok(out)) }
    }

    /// The pieces as a stream.
    pub fn into_stream(self) -> BoxStream<'static, Result<Vec<u8>, StoreError>> {
        stream::unfold(self, |mut body| async move { Some((body.next().await?, body)) }).boxed()
    }
}

/// Writes the items of a row.
#[derive(Debug)]
struct Encoder {
    settings: SseSettings,
    row: Option<RowId>,
    /// Whether anything was written of the row.
    started: bool,
    /// Whether its `start` was.
    opened: bool,
    /// The end that the attempt gave, until it is known whether another goes on.
    held: Option<(Option<Cursor>, UiChunk)>,
    over: bool,
}

impl Encoder {
    fn new(settings: SseSettings) -> Self {
        Self { settings, row: None, started: false, opened: false, held: None, over: false }
    }

    fn push(&mut self, item: &ReaderItem, out: &mut Vec<u8>) {
        if self.over || *self.row.get_or_insert_with(|| item.row.clone()) != item.row {
            return;
        }
        let cursor = item.cursor();
        if let Some(chunk) = item.chunk() {
            self.chunk(Some(cursor), chunk, out);
        } else if let Some(terminal) = item.terminal() {
            self.terminal(cursor, terminal, out);
        } else if let ReaderBody::Rebase(snapshot) = &item.body {
            if self.started {
                self.over = true;
                return;
            }
            if self.settings.ids {
                out.extend_from_slice(b"event: rebase\n");
            }
            for (at, chunk) in snapshot.chunks.iter().enumerate() {
                // Only who has all of it has come so far.
                let is_last = at + 1 == snapshot.chunks.len();
                self.chunk(is_last.then_some(cursor), chunk, out);
            }
        } else {
            self.over = true;
        }
    }

    fn chunk(&mut self, cursor: Option<Cursor>, chunk: &UiChunk, out: &mut Vec<u8>) {
        self.flush(out);
        match chunk {
            UiChunk::Start { message_metadata, .. } if self.opened => {
                if let Some(message_metadata) = message_metadata.clone() {
                    self.write(cursor, &UiChunk::MessageMetadata { message_metadata }, out);
                }
            }
            UiChunk::Finish { .. } | UiChunk::Abort { .. } | UiChunk::Error { .. } => {
                self.held = Some((cursor, chunk.clone()));
            }
            chunk => {
                self.opened |= matches!(chunk, UiChunk::Start { .. });
                self.write(cursor, chunk, out);
            }
        }
        self.started = true;
    }

    fn terminal(&mut self, cursor: Cursor, terminal: &Terminal, out: &mut Vec<u8>) {
        if terminal.continues.is_some() {
            self.held = None;
            return;
        }
        // A row that was ended in the place of its task has no words for it.
        let said = self.held.take().map_or_else(|| end(terminal.status), |(_, chunk)| chunk);
        // Who has the end has all.
        self.write(Some(cursor), &said, out);
        out.extend_from_slice(SSE_DONE);
        self.over = true;
    }

    /// Nothing more can be read. If that is so from the beginning, the client has had it all.
    fn end(&mut self, out: &mut Vec<u8>) {
        self.over = true;
        if self.row.is_none() {
            out.extend_from_slice(SSE_DONE);
        }
    }

    fn flush(&mut self, out: &mut Vec<u8>) {
        if let Some((cursor, chunk)) = self.held.take() {
            self.write(cursor, &chunk, out);
        }
    }

    fn write(&self, cursor: Option<Cursor>, chunk: &UiChunk, out: &mut Vec<u8>) {
        let is_bare = matches!(
            chunk,
            UiChunk::TextDelta { provider_metadata: None, .. }
                | UiChunk::ReasoningDelta { provider_metadata: None, .. }
                | UiChunk::ToolInputDelta { .. }
        );
        let adapted = if is_bare { None } else { Some(self.settings.protocol.adapt(chunk.clone())) };
        let chunk = match &adapted {
            None => chunk,
            Some(Some(adapted)) => adapted,
            Some(None) => return,
        };
        if let Some(cursor) = cursor.filter(|_| self.settings.ids) {
            // A buffer takes all that is written.
            writeln!(out, "id: {cursor}").ok();
        }
        encode_sse(chunk, out);
    }
}

/// The end of a message, by what became of its row.
fn end(status: RowStatus) -> UiChunk {
    match status {
        RowStatus::Complete | RowStatus::AwaitingApproval | RowStatus::Open => {
            UiChunk::Finish { finish_reason: None, message_metadata: None }
        }
        RowStatus::Stopped => UiChunk::Abort { reason: None },
        RowStatus::Failed | RowStatus::Interrupted => {
            UiChunk::Error { error_text: "The answer was interrupted.".to_owned() }
        }
    }
}
