use std::fmt;

use ai_core::run::ToolStatus;
use ai_provider::Id;

use super::entry::{AuditEntry, AuditEvent, Decider};

/// What happened to the calls of a run, one line each, made of its [audit](AuditEntry) alone.
///
/// ```text
/// call c17 · policy allow · started · ok
/// call c18 · policy allow · started · timed out, delivery unknown, not retried
/// ```
#[derive(Clone, Debug, Default)]
pub struct CallTimeline {
    calls: Vec<(Id, String)>,
}

impl CallTimeline {
    /// An empty one.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an entry; those that are not about calls are passed over.
    pub fn push(&mut self, entry: &AuditEntry) {
        match &entry.event {
            AuditEvent::CallMade { call_id, provider_executed: true, .. } => {
                self.add(call_id, "at the provider")
            }
            AuditEvent::CallAsked { call_id, .. } => self.add(call_id, "asked"),
            AuditEvent::CallDecided { call_id, by, approved, .. } => {
                let by = match by {
                    Decider::Policy => "policy",
                    Decider::Person => "person",
                };
                self.add(call_id, &format!("{by} {}", if *approved { "allow" } else { "deny" }));
            }
            AuditEvent::CallStarted { call_id, .. } => self.add(call_id, "started"),
            AuditEvent::CallEnded { call_id, status, .. } => {
                self.add(call_id, &words(status));
            }
            _ => {}
        }
    }

    /// The lines so far, in the order in which something happened to the calls.
    pub fn lines(&self) -> impl Iterator<Item = &str> {
        self.calls.iter().map(|(_, line)| line.as_str())
    }

    fn add(&mut self, call: &Id, what: &str) {
        let known = self.calls.iter().rposition(|(id, _)| id == call);
        let at = known.unwrap_or_else(|| {
            self.calls.push((call.clone(), format!("call {call}")));
            self.calls.len() - 1
        });
        if let Some((_, line)) = self.calls.get_mut(at) {
            line.push_str(" · ");
            line.push_str(what);
        }
    }
}

impl fmt::Display for CallTimeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, line) in self.lines().enumerate() {
            if at > 0 {
                f.write_str("\n")?;
            }
            f.write_str(line)?;
        }
        Ok(())
    }
}

impl<'a> Extend<&'a AuditEntry> for CallTimeline {
    fn extend<I: IntoIterator<Item = &'a AuditEntry>>(&mut self, entries: I) {
        entries.into_iter().for_each(|entry| self.push(entry));
    }
}

fn words(status: &ToolStatus) -> String {
    match status {
        ToolStatus::DeliveryUnknown(unknown) => {
            let why = if unknown.timed_out { "timed out" } else { "cut off" };
            format!("{why}, delivery unknown, not retried")
        }
        ToolStatus::TooLarge { limit } => format!("result over {limit} bytes"),
        status => status.as_str().replace('-', " "),
    }
}
