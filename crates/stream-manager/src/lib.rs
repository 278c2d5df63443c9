//! One live stream per conversation: many readers, steering, stop, approvals, persistence.

mod actor;
mod agents;
mod attempt;
mod core;
mod fold;
mod history;
mod inspect;
pub mod listener;
mod manager;
pub mod memory;
pub mod port;
pub mod reader;
pub mod record;
mod reminder;
mod settings;
mod shared;
mod source;

pub use agents::Agents;
pub use fold::Fold;
pub use history::Partials;
pub use inspect::{AttemptInspection, Inspection, TopicEvent};
pub use manager::{Builder, Hold, ManagerError, PromptStream, Receipt, Send, StreamManager};
pub use settings::{LeftBehind, Settings, TurnLimits, WithoutReaders};
pub use source::{
    CallAnswer, InputWaits, OpenError, Redirect, Resume, TurnEnd, TurnEnding, TurnEvent, TurnRequest,
    TurnRun, TurnSource,
};
