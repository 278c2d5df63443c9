//! What the manager needs of the world: stores, a log, a bus, a carrier of commands. All of them are in memory by
//! default.

mod commands;
mod conversation;
mod error;
mod json;
mod log;
mod ownership;
mod status;

pub use agent_loop::{UiChunk, UiMessage};
pub use commands::{Command, CommandHandler, Commands, Refusal, Reply, Serving, WhenLive};
pub use conversation::{
    Accepted, Checkpoint, Claim, Claiming, Conversation, ConversationStore, Orphan, Page, Settlement,
    Standing, TopicSummary, Written,
};
pub use error::{StoreError, StoreErrorKind};
pub use json::{MAX_DEPTH, decode, encode};
pub use log::{LogBody, LogReader, LogRecord, LogWriter, Read, ReplayLog, Snapshot};
pub use ownership::{Acquired, Lease, Ownership};
pub use status::StatusBus;
