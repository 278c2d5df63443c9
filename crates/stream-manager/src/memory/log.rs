use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex};

use agent_loop::UiMessage;
use async_trait::async_trait;

use super::lock;
use crate::port::{Lease, LogReader, LogWriter, ReplayLog, StoreError, StoreErrorKind};
use crate::record::{AttemptId, Terminal, TopicId};

mod attempt;
mod reader;
mod wakers;
mod window;
mod writer;

use attempt::AttemptLog;
use reader::MemoryReader;
use writer::MemoryWriter;

/// What of an attempt is kept to be read again: the last records, bounded in number and in bytes. A reader behind it gets
/// the message as it stands instead.
#[derive(Clone, Copy, Debug)]
struct Limits {
    entries: usize,
    bytes: usize,
}

/// The logs of attempts, in memory.
///
/// A record is written once, into one allocation that all readers share. Readers are places in the log: nothing is
/// queued for them, so that a slow or dead one costs the writer nothing. Beside its records each log has the message they
/// give, so that a reader whose place is gone begins anew with that.
///
/// Logs stay until they are [forgotten](ReplayLog::forget). Of each topic it keeps the greatest epoch, so that a late
/// writer stays refused.
#[derive(Debug)]
pub struct MemoryLog {
    limits: Limits,
    topics: Mutex<HashMap<TopicId, Topic>>,
}

#[derive(Debug, Default)]
struct Topic {
    epoch: u64,
    attempts: HashMap<AttemptId, Arc<AttemptLog>>,
}

impl Topic {
    /// An owner acts. One with a greater epoch fences all writers.
    fn enter(&mut self, epoch: u64) {
        if epoch > self.epoch {
            self.epoch = epoch;
            self.attempts.values().for_each(|log| log.fence());
        }
    }
}

impl Default for MemoryLog {
    fn default() -> Self {
        Self {
            limits: Limits { entries: Self::MAX_ENTRIES, bytes: Self::MAX_BYTES },
            topics: Mutex::default(),
        }
    }
}

impl MemoryLog {
    /// How many records of an attempt are kept, unless set: a long answer.
    pub const MAX_ENTRIES: usize = 10_000;
    /// How many bytes the records of an attempt may take, with what holds them, unless set. A reader that lags so far is
    /// better served by the message.
    pub const MAX_BYTES: usize = 1024 * 1024;

    /// No attempt is there.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets how many records of an attempt are kept: at least the last one.
    #[must_use]
    pub fn with_max_entries(mut self, entries: usize) -> Self {
        self.limits.entries = entries;
        self
    }

    /// Sets how many bytes the records of an attempt may take. The last record is kept however large it is.
    #[must_use]
    pub fn with_max_bytes(mut self, bytes: usize) -> Self {
        self.limits.bytes = bytes;
        self
    }
}

#[async_trait]
impl ReplayLog for MemoryLog {
    async fn create(
        &self,
        lease: &Lease,
        attempt: AttemptId,
        seed: UiMessage,
    ) -> Result<Box<dyn LogWriter>, StoreError> {
        let what = || format!("creating the log of attempt {attempt} of topic {}", lease.topic);
        let mut topics = lock(&self.topics);
        let topic = topics.entry(lease.topic.clone()).or_default();
        if lease.epoch < topic.epoch {
            return Err(StoreError::fenced(what()));
        }
        topic.enter(lease.epoch);
        let Entry::Vacant(place) = topic.attempts.entry(attempt) else {
            return Err(StoreError::new(StoreErrorKind::Conflict, what()));
        };
        let log = place.insert(Arc::new(AttemptLog::new(self.limits, seed)));
        Ok(Box::new(MemoryWriter::new(Arc::clone(log), attempt)))
    }

    async fn read(
        &self,
        topic: &TopicId,
        attempt: AttemptId,
        after: Option<u64>,
    ) -> Result<Option<Box<dyn LogReader>>, StoreError> {
        let topics = lock(&self.topics);
        let log = topics.get(topic).and_then(|topic| topic.attempts.get(&attempt));
        Ok(log.map(|log| -> Box<dyn LogReader> {
            Box::new(MemoryReader::new(Arc::clone(log), after.unwrap_or_default()))
        }))
    }

    async fn seal_orphan(
        &self,
        lease: &Lease,
        attempt: AttemptId,
        terminal: Terminal,
    ) -> Result<(), StoreError> {
        let mut topics = lock(&self.topics);
        let topic = topics.entry(lease.topic.clone()).or_default();
        if lease.epoch < topic.epoch {
            return Err(StoreError::fenced(format!(
                "ending the log of attempt {attempt} of topic {}",
                lease.topic
            )));
        }
        topic.enter(lease.epoch);
        if let Some(log) = topic.attempts.get(&attempt) {
            log.seal_orphan(terminal);
        }
        Ok(())
    }

    async fn forget(&self, topic: &TopicId, attempt: AttemptId) -> Result<(), StoreError> {
        let mut topics = lock(&self.topics);
        let log = topics.get_mut(topic).and_then(|topic| topic.attempts.remove(&attempt));
        if let Some(log) = log {
            log.forget();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
