//! One live stream per conversation: many readers, steering, stop, approvals, persistence.

mod agents;
mod core;
mod fold;
mod history;
pub mod memory;
pub mod port;
pub mod record;
mod reminder;
mod source;

pub use agents::Agents;
pub use fold::Fold;
pub use history::Partials;
pub use source::{
    CallAnswer, InputWaits, OpenError, Redirect, Resume, TurnEnd, TurnEnding, TurnEvent, TurnRequest,
    TurnRun, TurnSource,
};
