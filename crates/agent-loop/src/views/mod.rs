//! What different readers see of one stream.

mod markdown;
mod pending;

pub use pending::{PendingBlock, PendingView, visible_text};
