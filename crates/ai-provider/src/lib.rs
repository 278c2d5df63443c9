//! The contract every model, provider and layer of the SDK speaks.
//!
//! This crate holds types and traits and no I/O: a provider crate implements [`LanguageModel`], an
//! application holds `Arc<dyn LanguageModel>`, and everything between them (retry, middleware, the tool
//! loop) is a `LanguageModel` around another one.
//!
//! | you want to | look at |
//! |---|---|
//! | call a model | [`LanguageModel`], [`LanguageModelExt::generate`], [`Request`], [`CallContext`] |
//! | read what it says | [`StreamPart`], [`Assembler`], [`Usage`], [`FinishReason`] |
//! | understand a failure | [`ModelError`], [`ErrorClass`], [`Hint`] |
//! | keep a conversation | [`Message`], [`AssistantPart`], [`ToolResult`] |
//! | write a provider | [`Provider`], [`Capabilities`], [`KeySource`] (and the `ai-http` crate) |
//!
//! # Example
//!
//! ```
//! use ai_provider::{CallContext, LanguageModel, LanguageModelExt, Message, Request};
//!
//! # async fn f(model: &dyn LanguageModel) -> Result<(), ai_provider::GenerateError> {
//! let request = Request::new([Message::user("Name three rivers.")]);
//! let answer = model.generate(request, CallContext::new()).await?;
//! println!("{}", answer.text());
//! # Ok(()) }
//! ```

mod assembler;
mod cancel;
mod capabilities;
mod context;
mod embedding;
mod error;
mod event;
mod finish;
mod id;
mod keys;
mod media;
mod message;
mod metadata;
mod model;
mod options;
mod part;
mod provider;
mod request;
mod retry_error;
mod settings;
mod target;
mod tool;
mod usage;
mod warning;

pub use assembler::{Assembled, Assembler, AssemblyLimits, IncompleteCall};
pub use cancel::CancelFlag;
pub use capabilities::{Capabilities, MediaSupport, StructuredOutput};
pub use context::{CallContext, RequestId, RunScope, ScopeKey};
pub use embedding::{EmbeddingModel, EmbeddingRequest, Embeddings};
pub use error::{ErrorClass, ErrorRecord, Hint, ModelError};
pub use event::{AttemptEnd, AttemptEvent, AttemptKind, DelaySource, Event, EventSink};
pub use finish::{FinishReason, UnifiedFinish};
pub use id::Id;
pub use keys::{Account, ApiKey, KeyLabel, KeySource, Keys};
pub use media::{FileData, FilePart, MediaType};
pub use message::{
    AssistantMessage, AssistantPart, CustomPart, Message, ReasoningPart, SystemMessage, TextPart,
    ToolApprovalResponse, ToolMessage, ToolPart, UserMessage, UserPart,
};
pub use metadata::{Origin, ProviderMetadata};
pub use model::{GenerateError, Generation, LanguageModel, LanguageModelExt, ModelStream};
pub use options::{JsonObject, ProviderOptions, merge_json};
pub use part::{Finish, ResponseMetadata, Source, StreamPart, ToolApprovalRequest};
pub use provider::{ModelInfo, ModelKind, Provider};
pub use request::{Delivery, Request};
pub use retry_error::{FailedAttempt, GaveUp, RetryError, SkippedTarget};
pub use settings::{ReasoningEffort, ResponseFormat, Settings};
pub use target::TargetId;
pub use tool::{
    FunctionTool, ProviderTool, ToolCall, ToolChoice, ToolContent, ToolDefinition, ToolOutput, ToolResult,
};
pub use usage::{InputTokens, OutputTokens, Usage};
pub use warning::Warning;

/// Cancels a call from outside; re-exported so that callers need no dependency of their own.
pub use tokio_util::sync::CancellationToken;
