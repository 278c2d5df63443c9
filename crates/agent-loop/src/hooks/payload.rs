use std::sync::Arc;
use std::time::Duration;

use ai_core::RunEnd;
use ai_core::run::{Outcome, RunSnapshot, StepRecord, ToolRecord};
use ai_provider::{AssistantMessage, LanguageModel, Message, ModelError, RunScope, TargetId, ToolCall};
use serde_json::Value;

use crate::failure::Failure;

/// A run begins.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RunStart {
    /// Where handlers keep what belongs to this run; all its hooks get the same one.
    pub scope: RunScope,
}

/// A step is about to begin.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PrepareStep {
    /// Counts from 1.
    pub step: u32,
    /// The messages of the step, as the handler before left them.
    pub messages: Vec<Arc<Message>>,
    /// The model of the run.
    pub model: Arc<dyn LanguageModel>,
    /// The run with its earlier steps, usage and history. To be let go at the end of the handler: the run copies its
    /// lists when they grow while somebody holds them.
    pub run: RunSnapshot,
    /// Where handlers keep what belongs to this run.
    pub scope: RunScope,
}

/// A step is complete.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct StepFinish {
    /// The step.
    pub record: Arc<StepRecord>,
    /// Where handlers keep what belongs to this run.
    pub scope: RunScope,
}

/// A tool is about to run.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ToolStart {
    /// The call, with its input as the tool gets it.
    pub call: ToolCall,
    /// The history up to the answer that made the call, without that answer.
    pub messages: Arc<Vec<Arc<Message>>>,
    /// The model that made it.
    pub target: TargetId,
    /// Where handlers keep what belongs to this run.
    pub scope: RunScope,
}

impl ToolStart {
    /// The input as JSON; `null` if it is none.
    pub fn input(&self) -> Value {
        self.call.input_json().unwrap_or_default()
    }
}

/// A tool has run.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ToolEnd {
    /// What [`on_tool_execution_start`](super::Hooks::on_tool_execution_start) was told.
    pub start: ToolStart,
    /// How the call ended, with its result.
    pub record: Arc<ToolRecord>,
}

impl ToolEnd {
    /// From the first poll of the tool to its last result, without the time of hooks.
    pub fn duration(&self) -> Duration {
        self.record.duration
    }
}

/// A run is over.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RunFinish {
    /// How it ended.
    pub end: Arc<RunEnd>,
    /// Where handlers keep what belongs to this run.
    pub scope: RunScope,
}

/// Something failed.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ErrorContext {
    /// The step; counts from 1.
    pub step: u32,
    /// What failed.
    pub cause: ErrorCause,
    /// The same as plain data, with provider, model and a key for translations.
    pub failure: Failure,
    /// What the model had said in the step that failed: shown to the consumer already.
    pub partial: AssistantMessage,
    /// Whether [`OnError::Retry`](ai_core::OnError::Retry) would be followed.
    pub may_retry: bool,
    /// Where handlers keep what belongs to this run.
    pub scope: RunScope,
}

/// What failed.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ErrorCause {
    /// A model call, or something else that gave an error of its own.
    Model(ModelError),
    /// The run met a limit, or a trusted tool ended it.
    Ended(Outcome),
}
