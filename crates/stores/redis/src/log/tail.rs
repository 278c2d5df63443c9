use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::Waker;

use stream_manager::port::{LogBody, LogRecord, StoreError, StoreErrorKind};
use tokio::time::Instant;

use super::LogKeys;
use super::entry::Entry;
use crate::lock::lock;

/// What a record takes beside its JSON, about: its allocation, what it holds in parsed form, its place in the list.
const AROUND: usize = 200;

/// The end of a log that this node follows, shared by all of its readers here.
#[derive(Debug)]
pub(super) struct Tail {
    pub(super) keys: LogKeys,
    /// How many bytes of records are kept.
    most: usize,
    state: Mutex<State>,
}

#[derive(Debug)]
pub(super) struct State {
    /// The id of the last entry that was read.
    pub(super) position: String,
    records: VecDeque<(Arc<LogRecord>, usize)>,
    bytes: usize,
    /// The number of the last record.
    pub(super) last: u64,
    /// Whether all that stood in the log when it was first followed is read.
    pub(super) is_primed: bool,
    pub(super) has_end: bool,
    /// Nobody writes it any more, as far as can be told.
    pub(super) is_abandoned: bool,
    /// Why it cannot be read on, and whether that is for good.
    pub(super) failure: Option<(StoreErrorKind, bool)>,
    /// When something was last heard of it.
    heard: Instant,
    wakers: HashMap<u64, Waker>,
    readers: u64,
}

impl Tail {
    pub(super) fn new(keys: LogKeys, most: usize) -> Self {
        Self {
            keys,
            most,
            state: Mutex::new(State {
                position: "0-0".to_owned(),
                records: VecDeque::new(),
                bytes: 0,
                last: 0,
                is_primed: false,
                has_end: false,
                is_abandoned: false,
                failure: None,
                heard: Instant::now(),
                wakers: HashMap::new(),
                readers: 0,
            }),
        }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// Whether more can come.
    pub(super) fn is_live(&self) -> bool {
        let state = self.lock();
        !state.has_end && !matches!(state.failure, Some((_, true)))
    }

    /// Takes entries: ids, and fields. `most` is how many were asked for.
    pub(super) fn take(&self, entries: Vec<(String, Vec<String>)>, most: usize) {
        let mut state = self.lock();
        state.heard = Instant::now();
        state.failure = None;
        state.is_primed |= entries.len() < most;
        for (id, fields) in entries {
            match Entry::read(&fields) {
                Ok(entry) => state.add(entry),
                Err(error) => {
                    state.failure = Some((error.kind(), true));
                    break;
                }
            }
            state.position = id;
        }
        state.shrink(self.most);
        drop(state);
        self.wake();
    }

    pub(super) fn abandon(&self) {
        self.lock().is_abandoned = true;
        self.wake();
    }

    pub(super) fn fail(&self, kind: StoreErrorKind, for_good: bool) {
        self.lock().failure = Some((kind, for_good));
        self.wake();
    }

    /// Whether nothing was heard of it for a while; asks once each time.
    pub(super) fn is_quiet(&self, time: std::time::Duration) -> bool {
        let mut state = self.lock();
        let is_quiet = state.heard.elapsed() >= time;
        if is_quiet {
            state.heard = Instant::now();
        }
        is_quiet
    }

    fn wake(&self) {
        let wakers: Vec<_> = self.lock().wakers.drain().map(|(_, waker)| waker).collect();
        wakers.into_iter().for_each(Waker::wake);
    }

    pub(super) fn join(&self) -> u64 {
        let mut state = self.lock();
        state.readers += 1;
        state.readers
    }

    pub(super) fn leave(&self, reader: u64) {
        self.lock().wakers.remove(&reader);
    }

    pub(super) fn error(&self, kind: StoreErrorKind) -> StoreError {
        StoreError::new(kind, format!("reading {:?}", self.keys.stream))
    }
}

impl State {
    fn add(&mut self, entry: Entry) {
        match entry {
            Entry::Opened => {}
            Entry::Abandoned => self.is_abandoned = true,
            Entry::Records(first, bodies) => {
                let first = first.unwrap_or(self.last + 1);
                if first > self.last + 1 {
                    // What lies between was trimmed, or lost by the server: readers begin anew behind it.
                    self.records.clear();
                    self.bytes = 0;
                    self.last = first.saturating_sub(1);
                }
                for (seq, (body, size)) in (first..).zip(bodies) {
                    if seq <= self.last || self.has_end {
                        continue;
                    }
                    self.has_end = matches!(body, LogBody::Terminal(_));
                    self.last = seq;
                    self.bytes += size + AROUND;
                    self.records.push_back((Arc::new(LogRecord { seq, body }), size + AROUND));
                }
            }
        }
    }

    fn shrink(&mut self, most: usize) {
        while self.bytes > most && self.records.len() > 1 {
            let Some((_, size)) = self.records.pop_front() else { break };
            self.bytes -= size;
        }
    }

    /// The number behind which everything is here.
    pub(super) fn begins_behind(&self) -> u64 {
        self.records.front().map_or(self.last, |(record, _)| record.seq.saturating_sub(1))
    }

    /// Records behind a number that is here, at most so many.
    pub(super) fn behind(&self, after: u64, most: usize) -> impl Iterator<Item = &Arc<LogRecord>> {
        let skip = usize::try_from(after.saturating_sub(self.begins_behind())).unwrap_or(usize::MAX);
        let start = skip.min(self.records.len());
        self.records.range(start..).take(most).map(|(record, _)| record)
    }

    pub(super) fn wait(&mut self, reader: u64, waker: &Waker) {
        self.wakers.insert(reader, waker.clone());
    }
}
