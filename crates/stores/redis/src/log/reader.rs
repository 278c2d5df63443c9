use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use stream_manager::port::{
    LogReader, LogRecord, Read, Snapshot, StoreError, StoreErrorKind, UiChunk, decode,
};

use super::LogKeys;
use super::entry;
use super::tail::Tail;
use crate::error::corrupt;
use crate::server::Args;
use crate::store::RedisStore;

/// Reads a log from the tail that this node shares.
pub(super) struct RedisReader {
    tail: Arc<Tail>,
    begin: Begin,
    number: u64,
    after: u64,
    /// It has begun behind this number, so that one beyond the tail is only the tail being late.
    trusted: u64,
    was_told: bool,
    has_failed: bool,
    beginning: Option<BoxFuture<'static, Result<Option<Beginning>, StoreError>>>,
}

/// How to begin anew. It holds the store, without which nobody follows the log.
#[derive(Clone, Debug)]
pub(super) struct Begin {
    pub(super) store: RedisStore,
    pub(super) keys: LogKeys,
}

/// What to begin anew with.
#[derive(Debug)]
struct Beginning {
    /// The number of the last record at the server.
    last: u64,
    snapshot: Snapshot,
}

impl Begin {
    async fn ask(self) -> Result<Option<Beginning>, StoreError> {
        let what = format!("beginning anew with the log of topic {}", self.keys.topic);
        let keys = [self.keys.stream, self.keys.snapshot];
        let found: Vec<String> = self
            .store
            .server()
            .run(what.as_str(), &self.store.scripts().log.begin, &keys, Args::new())
            .await?;
        let [id, row, through, chunks] = found.as_slice() else { return Ok(None) };
        let unreadable = || corrupt(what.as_str());
        let last = entry::number(id).ok_or_else(unreadable)?;
        let through = through.parse().map_err(|_| unreadable())?;
        let chunks: Vec<UiChunk> = decode(chunks)?;
        Ok(Some(Beginning { last, snapshot: Snapshot::new(row.as_str().into(), through, chunks) }))
    }
}

impl RedisReader {
    pub(super) fn new(tail: Arc<Tail>, begin: Begin, after: u64) -> Self {
        let number = tail.join();
        Self { tail, begin, number, after, trusted: 0, was_told: false, has_failed: false, beginning: None }
    }

    /// Reads from the tail. `None` if the reader's place is not in it.
    fn read(
        &mut self,
        cx: &mut Context<'_>,
        most: usize,
        out: &mut Vec<Arc<LogRecord>>,
    ) -> Option<Poll<Result<Read, StoreError>>> {
        let mut state = self.tail.lock();
        let is_ahead = self.after > state.last && self.after > self.trusted;
        if (state.is_primed || state.has_end) && (self.after < state.begins_behind() || is_ahead) {
            return None;
        }
        if self.after < state.last && self.after >= state.begins_behind() {
            let length = out.len();
            out.extend(state.behind(self.after, most.max(1)).cloned());
            if out.len() > length {
                self.after = out.last().map_or(self.after, |record| record.seq);
                return Some(Poll::Ready(Ok(Read::Records)));
            }
        }
        if state.has_end && self.after >= state.last {
            return Some(Poll::Ready(Ok(Read::End)));
        }
        // One that may pass is said once: who reads on waits for the server to come back.
        let had_failed = std::mem::replace(&mut self.has_failed, state.failure.is_some());
        if let Some((kind, for_good)) = state.failure
            && (for_good || !had_failed)
        {
            drop(state);
            return Some(Poll::Ready(Err(self.tail.error(kind))));
        }
        if state.is_abandoned && state.is_primed && !std::mem::replace(&mut self.was_told, true) {
            return Some(Poll::Ready(Ok(Read::Abandoned)));
        }
        state.wait(self.number, cx.waker());
        Some(Poll::Pending)
    }

    /// Begins anew, if the snapshot reaches to what the tail has.
    fn begin(&mut self, beginning: Option<Beginning>) -> Option<Result<Read, StoreError>> {
        let Some(Beginning { last, snapshot }) = beginning else {
            return Some(Err(self.tail.error(StoreErrorKind::NotFound)));
        };
        let state = self.tail.lock();
        if !state.has_end && self.after >= state.begins_behind() && self.after <= last {
            // It is the tail that is late.
            self.trusted = self.after;
            return None;
        }
        if snapshot.through < state.begins_behind() {
            // Lost between the snapshot and what is here: the next snapshot is behind it.
            drop(state);
            return Some(Err(self.tail.error(StoreErrorKind::Unavailable)));
        }
        self.after = snapshot.through;
        self.trusted = snapshot.through;
        Some(Ok(Read::Rebase(Box::new(snapshot))))
    }
}

impl LogReader for RedisReader {
    fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        most: usize,
        out: &mut Vec<Arc<LogRecord>>,
    ) -> Poll<Result<Read, StoreError>> {
        loop {
            if let Some(asked) = &mut self.beginning {
                let Poll::Ready(beginning) = asked.poll_unpin(cx) else { return Poll::Pending };
                self.beginning = None;
                match beginning.map(|beginning| self.begin(beginning)) {
                    Ok(None) => {}
                    Ok(Some(read)) => return Poll::Ready(read),
                    Err(error) => return Poll::Ready(Err(error)),
                }
            }
            match self.read(cx, most, out) {
                Some(read) => return read,
                None => self.beginning = Some(self.begin.clone().ask().boxed()),
            }
        }
    }
}

impl Drop for RedisReader {
    fn drop(&mut self) {
        self.tail.leave(self.number);
    }
}

impl fmt::Debug for RedisReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisReader")
            .field("log", &self.tail.keys.stream)
            .field("after", &self.after)
            .finish_non_exhaustive()
    }
}
