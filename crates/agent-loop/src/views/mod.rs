//! What different readers see of one stream.

mod audit;
mod markdown;
mod missing;
mod pending;
mod transcript;

pub(crate) use audit::Auditing;
pub use audit::{
    Audit, AuditEntry, AuditEvent, AuditFull, AuditPart, AuditQueue, AuditRecord, CallTimeline, Decider,
    Digest, Withdrawn,
};
pub use missing::{Missing, Unresolved};
pub use pending::{PendingBlock, PendingView, visible_text};
pub use transcript::{Interrupted, Transcript, TranscriptEntry, TranscriptView};
