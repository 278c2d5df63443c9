//! An agent as a stream of user-interface chunks.
//!
//! | you want to | look at |
//! |---|---|
//! | run an agent and show what it does | [`Agent::stream`], [`AgentEvent`], [`UiChunk`] |
//! | run it and wait for the reply | [`Agent::generate`], [`AgentReply`], [`AgentError`] |
//! | serve it to a browser | [`AgentStream::chunks`], [`encode_sse`], [`SSE_DONE`], [`SSE_HEADERS`], [`UiProtocol`] |
//! | read such a stream | [`SseReader`], [`UiReducer`], [`UiMessage`] |
//! | turn a client's messages into a history, and back | [`to_model_messages`], [`to_ui_messages`], [`to_ui_messages_with`] |
//! | show what the user says in the middle of an answer | [`AgentStream::show_steering`] |
//! | show an answer while it is written | [`PendingView`], [`visible_text`], [`Chunks::with_progress`] |
//! | keep the conversation as models speak it, also of a run that was cut | [`TranscriptView`], [`Transcript`] |
//! | know what happened, without what was said | [`Agent::with_audit`], [`AuditRecord`], [`CallTimeline`] |
//! | take part in runs | [`Hooks`], [`Feature`], [`Agent::on`] |
//! | limit them | [`Timeouts`] |
//! | go on with a stored one | [`Agent::resume`] |
//! | know what they take | [`Agent::with_usage_metadata`], [`Agent::with_ledger`], [`Prices`] |
//!
//! Chunks are those of the AI SDK's UI message stream, field for field, so that `useChat` and other clients
//! read them. Each run gives a complete message whatever happens to it: the first chunk is `start`, the last
//! is exactly one of `finish`, `error` and `abort`, and what was begun between them is ended.
//!
//! Nothing here spawns a task: a run lives inside the stream that reads it, and dropping that stream ends the
//! model call and the tools where they stand.
//!
//! # Example
//!
//! The body of a response to `useChat`:
//!
//! ```
//! use agent_loop::{Agent, SSE_DONE, encode_sse};
//! use ai_provider::{CancellationToken, Message};
//! use futures_util::StreamExt;
//!
//! # async fn send(_: &[u8]) {}
//! # async fn f(agent: Agent) {
//! let run = agent.stream([Message::user("How is Rome?")], CancellationToken::new());
//! let mut chunks = run.chunks();
//! let mut buffer = Vec::new();
//! while let Some(chunk) = chunks.next().await {
//!     buffer.clear();
//!     encode_sse(&chunk, &mut buffer);
//!     send(&buffer).await;
//! }
//! send(SSE_DONE).await;
//! let to_store = chunks.get_ref().new_messages();
//! # drop(to_store);
//! # }
//! ```

mod agent;
mod assemble;
mod attempt;
mod control;
mod ending;
mod failure;
mod feature;
mod hooks;
mod limits;
mod markers;
mod media;
mod observers;
mod progress;
mod prompt;
mod reply;
mod said;
mod setup;
mod step_model;
mod stream;
mod ui;
mod usage;
mod views;

pub use agent::Agent;
pub use assemble::Assembly;
pub use failure::Failure;
pub use feature::{Feature, FeatureScope};
pub use hooks::{
    ErrorCause, ErrorContext, HookError, Hooks, PrepareStep, RunFinish, RunStart, StepFinish, ToolEnd,
    ToolStart, compose_hooks,
};
pub use limits::Timeouts;
pub use markers::ToolMarkers;
pub use observers::Observer;
pub use progress::{ProgressChunks, ProgressNotice, ProgressNotices};
pub use prompt::Prompt;
pub use reply::{AgentError, AgentReply};
pub use stream::{AgentEvent, AgentStream, Chunks};
pub use ui::{
    DataChunk, SSE_DONE, SSE_HEADERS, SseReader, UiApproval, UiBlockState, UiChunk, UiConvertError,
    UiFinishReason, UiInputEncoding, UiMessage, UiPart, UiProtocol, UiReadError, UiReduceError, UiReducer,
    UiRole, UiToolPart, UiToolState, UiUserPart, encode_sse, to_model_messages, to_ui_messages,
    to_ui_messages_with,
};
pub use usage::{LedgerEnd, LedgerEntry, LedgerRow, Prices};
pub use views::{
    Audit, AuditEntry, AuditEvent, AuditFull, AuditPart, AuditQueue, AuditRecord, CallTimeline, Decider,
    Digest, Interrupted, Missing, PendingBlock, PendingView, Transcript, TranscriptEntry, TranscriptView,
    Unresolved, Withdrawn, visible_text,
};

#[cfg(test)]
mod tests;
