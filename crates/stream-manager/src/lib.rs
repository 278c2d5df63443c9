//! One live stream per conversation: many readers, steering, stop, approvals, persistence.

pub mod port;
pub mod record;
