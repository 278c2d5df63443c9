use serde::{Deserialize, Serialize};

use super::entry::{AuditEntry, AuditEvent};
use crate::views::missing::Missing;

/// The audit of one run: its entries, in order.
///
/// ```
/// use agent_loop::{Agent, Audit, AuditRecord};
/// use ai_provider::CancellationToken;
/// use std::sync::mpsc;
///
/// # async fn f(agent: Agent) -> Result<(), serde_json::Error> {
/// let (sink, entries) = mpsc::channel();
/// let agent = agent.with_audit(Audit::new(move |entry| drop(sink.send(entry))));
/// let _ = agent.generate("How is Rome?", CancellationToken::new()).await;
/// let record: AuditRecord = entries.try_iter().collect();
/// println!("{}", serde_json::to_string(&record)?);
/// assert!(record.outcome().is_some());
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AuditRecord {
    entries: Vec<AuditEntry>,
}

impl AuditRecord {
    /// Adds an entry.
    pub fn push(&mut self, entry: AuditEntry) {
        self.entries.push(entry);
    }

    /// The entries.
    pub fn entries(&self) -> &[AuditEntry] {
        &self.entries
    }

    /// How the run ended; absent if nobody has told.
    pub fn outcome(&self) -> Option<&str> {
        self.entries.iter().rev().find_map(|entry| match &entry.event {
            AuditEvent::RunEnded { outcome, .. } => Some(outcome.as_str()),
            _ => None,
        })
    }

    /// What is missing in the run; its end, if nobody has told of it.
    pub fn missing(&self) -> &[Missing] {
        let told = self.entries.iter().rev().find_map(|entry| match &entry.event {
            AuditEvent::RunEnded { missing, .. } => Some(missing.as_slice()),
            _ => None,
        });
        told.unwrap_or(&[Missing::Ending])
    }

    /// How many entries were left out: samples for which there was no room.
    pub fn left_out(&self) -> u64 {
        let last = self.entries.last().map_or(0, |last| last.seq);
        last.saturating_sub(u64::try_from(self.entries.len()).unwrap_or(u64::MAX))
    }
}

impl FromIterator<AuditEntry> for AuditRecord {
    fn from_iter<I: IntoIterator<Item = AuditEntry>>(entries: I) -> Self {
        Self { entries: entries.into_iter().collect() }
    }
}

impl Extend<AuditEntry> for AuditRecord {
    fn extend<I: IntoIterator<Item = AuditEntry>>(&mut self, entries: I) {
        self.entries.extend(entries);
    }
}
