//! One live stream per conversation: many readers, steering, stop, approvals, persistence.

mod core;
pub mod memory;
pub mod port;
pub mod record;
