use std::collections::VecDeque;
use std::error::Error;
use std::fmt;
use std::future::Future;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::entry::AuditEntry;

/// Entries on their way to where writing them takes time. Taking one in never waits.
///
/// It is bounded. Where it is full a new sample is left out and counted, and so is an old one that stands in the way of
/// what has to be kept. Everything else is kept up to eight times the bound, since without it the audit would not be
/// true; beyond that it comes back as an error, and what becomes of the run is the caller's to say.
///
/// ```
/// use agent_loop::{Agent, Audit, AuditQueue};
/// use std::sync::Arc;
/// use std::time::Duration;
///
/// # async fn write(_: agent_loop::AuditEntry) -> std::io::Result<()> { Ok(()) }
/// # async fn f(agent: Agent) {
/// let queue = Arc::new(AuditQueue::new(1024));
/// let sink = Arc::clone(&queue);
/// let agent = agent.with_audit(Audit::new(move |entry| {
///     if let Err(full) = sink.push(entry) {
///         eprintln!("{full}");
///     }
/// }));
/// // Now and then, and before the program ends:
/// let left = queue.flush(Duration::from_secs(5), write).await;
/// # }
/// ```
#[derive(Debug)]
pub struct AuditQueue {
    bound: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    entries: VecDeque<AuditEntry>,
    samples: usize,
    dropped: u64,
}

impl AuditQueue {
    /// How many times the bound may be kept of what is no sample: runs go on for a while when a disk hangs.
    const KEPT: usize = 8;

    /// An empty queue; `bound` is how many entries there may be before samples are left out.
    pub fn new(bound: usize) -> Self {
        Self { bound, state: Mutex::default() }
    }

    /// Takes an entry.
    ///
    /// # Errors
    /// If it is no sample and there is no room for it: it is in the error.
    pub fn push(&self, entry: AuditEntry) -> Result<(), AuditFull> {
        let mut state = self.lock();
        if entry.is_sample() {
            if state.entries.len() >= self.bound {
                state.dropped += 1;
            } else {
                state.samples += 1;
                state.entries.push_back(entry);
            }
            return Ok(());
        }
        if state.entries.len() >= self.bound && state.samples > 0 {
            let oldest = state.entries.iter().position(AuditEntry::is_sample);
            if let Some(at) = oldest {
                state.entries.remove(at);
                state.samples -= 1;
                state.dropped += 1;
            }
        }
        if state.entries.len() >= self.bound.saturating_mul(Self::KEPT) {
            return Err(AuditFull(Box::new(entry)));
        }
        state.entries.push_back(entry);
        Ok(())
    }

    /// The oldest entry, if there is one.
    pub fn pop(&self) -> Option<AuditEntry> {
        let mut state = self.lock();
        let entry = state.entries.pop_front()?;
        state.samples -= usize::from(entry.is_sample());
        Some(entry)
    }

    /// Writes what is there, for at most so long. Gives how many entries are left: those that came too late, and from
    /// one that could not be written on. None of them is lost: they stay in the queue.
    pub async fn flush<E, F>(&self, limit: Duration, mut write: impl FnMut(AuditEntry) -> F) -> usize
    where
        F: Future<Output = Result<(), E>>,
    {
        let all = async {
            loop {
                // It stays in its place until it is written.
                let Some(entry) = self.first() else { return };
                if write(entry.clone()).await.is_err() {
                    return;
                }
                self.written(&entry);
            }
        };
        let _ = tokio::time::timeout(limit, all).await;
        self.len()
    }

    /// How many entries wait.
    pub fn len(&self) -> usize {
        self.lock().entries.len()
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many samples were left out.
    pub fn dropped(&self) -> u64 {
        self.lock().dropped
    }

    fn first(&self) -> Option<AuditEntry> {
        self.lock().entries.front().cloned()
    }

    /// Takes away an entry, unless it gave its place to another one meanwhile.
    fn written(&self, entry: &AuditEntry) {
        let mut state = self.lock();
        if state.entries.front().is_some_and(|first| first.seq == entry.seq && first.run == entry.run) {
            state.entries.pop_front();
            state.samples -= usize::from(entry.is_sample());
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A queue had no room for an entry that has to be kept.
#[derive(Clone, Debug, PartialEq)]
pub struct AuditFull(Box<AuditEntry>);

impl AuditFull {
    /// The entry.
    pub fn into_entry(self) -> AuditEntry {
        *self.0
    }
}

impl fmt::Display for AuditFull {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the audit is behind: no room for entry {} of run {}", self.0.seq, self.0.run)
    }
}

impl Error for AuditFull {}

#[cfg(test)]
mod tests;
