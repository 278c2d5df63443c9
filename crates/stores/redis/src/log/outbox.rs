use std::collections::VecDeque;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use stream_manager::Fold;
use stream_manager::port::{Lease, StoreError, StoreErrorKind, UiChunk, encode};
use stream_manager::record::{AttemptId, Terminal};
use tokio::sync::watch;
use tokio::time::Instant;

use super::LogKeys;
use super::entry::{self, ABANDONED, CHUNKS, TERMINAL};
use crate::lease::Held;
use crate::lock::lock;
use crate::server::{Args, Server};
use crate::settings::RedisSettings;
use crate::store::Scripts;

/// An entry is full at so many bytes, and is sent at once: more would be a long command for others to wait behind.
const FULL: usize = 16 * 1024;

/// So many bytes wait to be sent while the server does not take them. Beyond, they are let go of, and what the message
/// holds by then is sent in their place: readers begin anew with it.
const MOST_WAITING: usize = 4 * 1024 * 1024;

/// A snapshot is made each time so many bytes were sent since the last, and half of what that one held: so that what all of
/// them take stays in proportion to the message.
const SNAPSHOT_EVERY: usize = 64 * 1024;

/// How long what a writer left is tried to be sent.
const AFTERMATH: Duration = Duration::from_secs(60);

/// What one writer has to send, and what is known of what was sent.
#[derive(Debug)]
pub(super) struct Outbox {
    keys: LogKeys,
    lease: Lease,
    attempt: AttemptId,
    held: Arc<Held>,
    state: Mutex<State>,
    progress: watch::Sender<Progress>,
    /// Whether it stands in the list of the sender.
    pub(super) is_listed: AtomicBool,
}

/// How far sending is.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Progress {
    /// The number of the last record that everybody can read.
    pub(super) sent: u64,
    /// How often sending failed, and how it did last.
    pub(super) failures: u64,
    pub(super) kind: Option<StoreErrorKind>,
}

#[derive(Debug)]
struct State {
    fold: Fold,
    /// The number of the last record; that of the last chunk is what a snapshot goes through.
    last: u64,
    last_chunk: u64,
    waiting: VecDeque<Batch>,
    waiting_bytes: usize,
    sent: Sent,
    terminal: Option<Terminal>,
    ended: Option<StoreErrorKind>,
    /// When the writer went away.
    left: Option<Instant>,
}

/// What stands in the log.
#[derive(Debug, Default)]
struct Sent {
    /// The last record of each entry that is kept, and its bytes.
    kept: VecDeque<(u64, usize)>,
    kept_bytes: usize,
    snapshot: u64,
    snapshot_size: usize,
    since_snapshot: usize,
    /// Something may be missing in the log.
    is_unsure: bool,
    refreshed: Option<Instant>,
}

/// An entry to be.
#[derive(Clone, Debug)]
struct Batch {
    kind: &'static str,
    first: u64,
    last: u64,
    data: String,
    /// It may have been sent: the same id must hold the same for good.
    is_closed: bool,
}

impl Batch {
    fn new(kind: &'static str, first: u64, data: String) -> Self {
        Self { kind, first, last: first, data, is_closed: false }
    }
}

/// What became of sending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sending {
    /// All of it is sent, or never will be.
    Over,
    /// Something waits still: it failed, or was added meanwhile.
    More,
    Failed,
}

impl Outbox {
    pub(super) fn new(
        keys: LogKeys,
        lease: &Lease,
        attempt: AttemptId,
        fold: Fold,
        held: Arc<Held>,
    ) -> Arc<Self> {
        Arc::new(Self {
            keys,
            lease: lease.clone(),
            attempt,
            held,
            state: Mutex::new(State {
                fold,
                last: 0,
                last_chunk: 0,
                waiting: VecDeque::new(),
                waiting_bytes: 0,
                sent: Sent::default(),
                terminal: None,
                ended: None,
                left: None,
            }),
            progress: watch::Sender::default(),
            is_listed: AtomicBool::new(false),
        })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// Adds a chunk. Returns its number, and whether it wants to be sent now, or later.
    pub(super) fn push(&self, chunk: &UiChunk) -> (u64, Wish) {
        let mut state = self.lock();
        state.last += 1;
        if state.terminal.is_some() || state.ended.is_some() {
            return (state.last, Wish::Nothing);
        }
        state.fold.push(chunk);
        state.last_chunk = state.last;
        let is_full = state.write(chunk);
        let wish = if is_full || !entry::can_wait(chunk) { Wish::Now } else { Wish::Soon };
        (state.last, wish)
    }

    pub(super) fn message(&self) -> stream_manager::port::UiMessage {
        self.lock().fold.message().clone()
    }

    pub(super) fn is_fenced(&self) -> bool {
        self.lock().ended == Some(StoreErrorKind::Fenced) || self.held.check(&self.lease).is_err()
    }

    /// Adds the last record.
    pub(super) fn seal(&self, terminal: Terminal) -> Result<(), StoreError> {
        let mut state = self.lock();
        match &state.terminal {
            Some(sealed) if *sealed == terminal => return Ok(()),
            Some(_) => return Err(self.error(StoreErrorKind::Conflict)),
            None => {}
        }
        let data = encode(&terminal)?;
        state.last += 1;
        let last = state.last;
        state.waiting.push_back(Batch::new(TERMINAL, last, data));
        state.terminal = Some(terminal);
        Ok(())
    }

    /// The writer is gone.
    pub(super) fn leave(&self) {
        let mut state = self.lock();
        state.left = Some(Instant::now());
        if state.terminal.is_none() && state.ended.is_none() {
            let last = state.last + 1;
            state.waiting.push_back(Batch::new(ABANDONED, last, String::new()));
        }
    }

    pub(super) fn watch(&self) -> watch::Receiver<Progress> {
        self.progress.subscribe()
    }

    /// Whether everything was sent, and what is in the way for good.
    pub(super) fn is_sent(&self) -> Result<bool, StoreError> {
        self.held.check(&self.lease)?;
        let state = self.lock();
        match state.ended {
            Some(kind) => Err(self.error(kind)),
            None => Ok(state.waiting.is_empty()),
        }
    }

    pub(super) fn error(&self, kind: StoreErrorKind) -> StoreError {
        StoreError::new(kind, self.what())
    }

    fn what(&self) -> String {
        format!("writing the log of attempt {} of topic {}", self.attempt, self.lease.topic)
    }

    /// Sends what waits, in one command.
    pub(super) async fn send(&self, server: &Server, scripts: &Scripts, settings: &RedisSettings) -> Sending {
        if self.held.check(&self.lease).is_err() {
            return self.end(StoreErrorKind::Fenced);
        }
        let breaks = server.breaks();
        let Some((args, through, sending)) = self.lock().command(&self.lease, settings) else {
            return Sending::Over;
        };
        let answer: Result<i64, _> =
            server.run(self.what(), &scripts.log.append, &self.keys.for_writing(), args).await;
        match answer {
            Ok(-1) => self.end(StoreErrorKind::Fenced),
            Ok(-2) => self.end(StoreErrorKind::NotFound),
            Ok(_) => {
                let mut state = self.lock();
                state.acknowledge(through, &sending);
                // Another server may have taken over meanwhile, without what was sent to the one before.
                state.sent.is_unsure |= server.breaks() != breaks;
                let more = !state.waiting.is_empty() || state.sent.is_unsure;
                drop(state);
                self.progress.send_modify(|progress| progress.sent = sending.last);
                if more { Sending::More } else { Sending::Over }
            }
            Err(error) if error.is_transient() => {
                let mut state = self.lock();
                state.sent.is_unsure = true;
                let is_late = state.left.is_some_and(|left| left.elapsed() > AFTERMATH);
                drop(state);
                self.progress.send_modify(|progress| {
                    progress.failures += 1;
                    progress.kind = Some(error.kind());
                });
                if is_late { self.end(error.kind()) } else { Sending::Failed }
            }
            Err(error) => self.end(error.kind()),
        }
    }

    /// Nothing is sent any more.
    fn end(&self, kind: StoreErrorKind) -> Sending {
        let mut state = self.lock();
        state.ended = Some(kind);
        state.waiting.clear();
        state.waiting_bytes = 0;
        drop(state);
        self.progress.send_modify(|progress| {
            progress.failures += 1;
            progress.kind = Some(kind);
        });
        Sending::Over
    }
}

/// When something wants to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wish {
    Nothing,
    /// It can wait for others.
    Soon,
    Now,
}

/// What is on its way.
#[derive(Debug)]
struct OnItsWay {
    last: u64,
    snapshot_size: Option<usize>,
    trimmed: usize,
    is_refreshed: bool,
}

impl State {
    /// Writes a chunk into the entry that is being filled. Returns whether that is full.
    fn write(&mut self, chunk: &UiChunk) -> bool {
        if self.waiting_bytes > MOST_WAITING {
            self.waiting.clear();
            self.waiting_bytes = 0;
            self.sent.is_unsure = true;
        }
        let seq = self.last;
        let goes_on = |batch: &Batch| {
            batch.kind == CHUNKS && !batch.is_closed && batch.last + 1 == seq && batch.data.len() < FULL
        };
        if !self.waiting.back().is_some_and(goes_on) {
            self.waiting.push_back(Batch::new(CHUNKS, seq, String::new()));
        }
        let Some(batch) = self.waiting.back_mut() else { return false };
        // JSON is text. What could not be written would leave a gap, and a reader begins anew there.
        let Ok(line) = serde_json::to_string(chunk) else {
            self.sent.is_unsure = true;
            return true;
        };
        batch.last = seq;
        batch.data.push_str(&line);
        batch.data.push('\n');
        self.waiting_bytes += line.len() + 1;
        batch.data.len() >= FULL
    }

    /// The command that sends all that waits.
    fn command(&mut self, lease: &Lease, settings: &RedisSettings) -> Option<(Args, u64, OnItsWay)> {
        let last = match self.waiting.back() {
            Some(batch) => batch.last,
            None if self.sent.is_unsure => self.last,
            None => return None,
        };
        let since = self.sent.since_snapshot + self.waiting_bytes;
        let is_due = since > SNAPSHOT_EVERY.max(self.sent.snapshot_size / 2);
        let snapshot = if is_due || self.sent.is_unsure { encode(&self.fold.chunks()).ok() } else { None };
        let through = if snapshot.is_some() { self.last_chunk } else { self.sent.snapshot };
        let (trim, trimmed) = self.sent.trim(through, settings.log_bytes);
        let keep = match &self.terminal {
            Some(_) => Some(settings.log_kept),
            None if self.sent.refreshed.is_none_or(|at| at.elapsed() > settings.log_idle / 4) => {
                Some(settings.log_idle)
            }
            None => None,
        };

        let args = Args::new().text(lease.topic.as_str()).number(lease.epoch);
        let args = args.text(trim.map(|number| entry::id(lease.epoch, number)).unwrap_or_default());
        let args = match keep {
            Some(keep) => args.millis(keep),
            None => args.text(""),
        };
        let snapshot_size = snapshot.as_ref().map(String::len);
        let mut args = match snapshot {
            Some(chunks) => args.number(through).text(chunks),
            None => args.text("").text(""),
        };
        for batch in &mut self.waiting {
            batch.is_closed = true;
            args = args.text(entry::id(lease.epoch, batch.last)).number(batch.first);
            args = args.text(batch.kind).text(batch.data.as_str());
        }
        Some((args, through, OnItsWay { last, snapshot_size, trimmed, is_refreshed: keep.is_some() }))
    }

    fn acknowledge(&mut self, through: u64, sending: &OnItsWay) {
        while self.waiting.front().is_some_and(|batch| batch.last <= sending.last) {
            let Some(batch) = self.waiting.pop_front() else { return };
            self.waiting_bytes = self.waiting_bytes.saturating_sub(batch.data.len());
            self.sent.since_snapshot += batch.data.len();
            self.sent.kept_bytes += batch.data.len();
            self.sent.kept.push_back((batch.last, batch.data.len()));
        }
        for (_, bytes) in self.sent.kept.drain(..sending.trimmed.min(self.sent.kept.len())) {
            self.sent.kept_bytes = self.sent.kept_bytes.saturating_sub(bytes);
        }
        if let Some(size) = sending.snapshot_size {
            self.sent.snapshot = through;
            self.sent.snapshot_size = size;
            self.sent.since_snapshot = 0;
            self.sent.is_unsure = false;
        }
        if sending.is_refreshed {
            self.sent.refreshed = Some(Instant::now());
        }
    }
}

impl Sent {
    /// Before which record the log can be trimmed, and how many entries that is: what a snapshot has, as far as there is too
    /// much.
    fn trim(&self, snapshot: u64, most: usize) -> (Option<u64>, usize) {
        let (mut bytes, mut count, mut before) = (self.kept_bytes, 0, None);
        for (last, size) in &self.kept {
            if bytes <= most || *last > snapshot {
                break;
            }
            bytes = bytes.saturating_sub(*size);
            count += 1;
            before = Some(*last + 1);
        }
        (before, count)
    }
}
