//! One live stream for each conversation: many readers on one running answer, users who type while it runs, stop,
//! approvals that wait for hours, a process that dies.
//!
//! | you want to | look at |
//! |---|---|
//! | answer a conversation | [`StreamManager`], [`Send`], [`Agents`], [`TurnSource`] |
//! | read an answer while it is written, from any place | [`StreamManager::attach`], [`reader::Attach`], [`reader::SseBody`] |
//! | say something to a running answer, or behind it | [`StreamManager::steer`], [`StreamManager::follow_up`] |
//! | stop, answer anew, ask several models, decide about a call | [`StreamManager::stop`], [`StreamManager::regenerate`], [`Send::with_models`], [`StreamManager::approve`] |
//! | know how topics stand, without their chunks | [`StreamManager::watch`], [`StreamManager::events`] |
//! | set limits and policies | [`Settings`] |
//! | keep conversations, or share them between processes | [`port`], [`memory`] and the store crates |
//! | start and end in order | [`StreamManager::recover`], [`StreamManager::pause`], [`StreamManager::drain`], [`StreamManager::shut_down`] |
//!
//! # What holds
//!
//! - An input is written down before anything else happens to it, and ends once: consumed, together with the rows of the
//!   answer, or returned to its sender with a reason ([`record::Fate`]).
//! - A topic has at most one live turn. Each attempt of it ends once, and its end is told after it is durable.
//! - The chunks of an attempt are numbered from 1 without a gap. A reader is a place in that series: it gets each chunk
//!   once, or is told to begin anew with the message as it stands. Slow readers cost nothing to the answer or to others.
//! - Detaching is not stopping. A stop names its turn and returns once it is durable.
//! - Of a process that dies, everything is kept but what was said of a step since the last write: accepted inputs and
//!   finished steps are never lost, and nothing runs again by itself.
//!
//! # Example
//!
//! ```
//! use agent_loop::{Agent, visible_text};
//! use stream_manager::reader::Attach;
//! use stream_manager::{Send, StreamManager};
//!
//! # async fn f(agent: Agent) -> Result<(), Box<dyn std::error::Error>> {
//! let manager = StreamManager::builder(agent).build().await?;
//! let topic = "chat-1".into();
//! manager.send(&topic, Send::text("How is Rome?")).await?;
//!
//! let mut reader = manager.attach(&topic, Attach::new()).await?;
//! while let Some(item) = reader.next().await {
//!     if let Some(text) = item?.chunk().and_then(visible_text) {
//!         print!("{text}");
//!     }
//! }
//! # Ok(())
//! # }
//! ```

mod actor;
mod agents;
mod attempt;
mod core;
mod facts;
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
