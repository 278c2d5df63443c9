//! What happened in a run, for those who have to answer for it.

mod entry;
mod fold;
mod queue;
mod record;
mod redact;
mod timeline;

pub use entry::{AuditEntry, AuditEvent, AuditPart, Decider, Digest, Withdrawn};
pub use fold::Audit;
pub(crate) use fold::Auditing;
pub use queue::{AuditFull, AuditQueue};
pub use record::AuditRecord;
pub use timeline::CallTimeline;
