use std::fmt;
use std::sync::Arc;

use ai_provider::{
    AssistantMessage, AttemptEvent, LanguageModel, Message, ModelError, ProviderOptions, Settings, ToolCall,
    ToolChoice, Usage,
};
use async_trait::async_trait;

use super::event::RunEnd;
use crate::run::{Run, RunSnapshot, StepRecord, ToolRecord, Verdict};
use crate::tool::{ToolContext, ToolSet, ToolStream};

/// The loop's one seam: what a layer above takes part in. One value serves one run.
///
/// The async methods are awaited in the run's own future: they run only while the stream is polled.
#[async_trait]
pub trait LoopControl: Send + Sync {
    /// Once, before anything else of the run. An interrupted run is told too.
    async fn on_start(&self) {}

    /// Before each step: what this step shall have otherwise.
    async fn prepare_step(&self, _step: &StepView<'_>) -> StepOverrides {
        StepOverrides::default()
    }

    /// Before a tool runs. Calls of one step run side by side, and so do these.
    async fn on_tool_start(&self, _call: &ToolCall, _ctx: &ToolContext) {}

    /// Wraps the run of a tool. `run` is lazy: nothing has happened before it is polled.
    fn around_tool(&self, _call: &ToolCall, run: ToolStream) -> ToolStream {
        run
    }

    /// When a call is over, before its result is shown: once for each call, whether or not it ran. For calls that
    /// were cut or never ran, at the end of the step.
    async fn on_tool_end(&self, _record: &ToolRecord) {}

    /// When an attempt to call a model is reported. Must not block.
    fn on_attempt(&self, _event: &AttemptEvent) {}

    /// After each step.
    async fn on_step_end(&self, _step: &Arc<StepRecord>) {}

    /// At the end of a step after which the run could go on: whether it shall.
    async fn stop_when(&self, _step: &StepView<'_>) -> Vec<Verdict> {
        Vec::new()
    }

    /// When a model call failed.
    async fn on_step_error(&self, _failure: &StepFailure<'_>) -> OnError {
        OnError::Abort
    }

    /// Once, when the run is over and the consumer has asked for its end. Not called if the stream is dropped
    /// before.
    async fn on_end(&self, _end: &RunEnd) {}

    /// Exactly once for every run, from `Drop` if need be. Must not block.
    fn settled(&self, _end: &RunEnd) {}
}

impl fmt::Debug for dyn LoopControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LoopControl")
    }
}

/// Takes no part.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoControl;

impl LoopControl for NoControl {}

/// A run as seen between its steps.
#[derive(Debug)]
pub struct StepView<'a> {
    run: &'a Run,
}

impl<'a> StepView<'a> {
    /// The view of this run.
    pub fn new(run: &'a Run) -> Self {
        Self { run }
    }

    /// The number of the step that comes next, or that has just ended; counts from 1.
    pub fn step(&self) -> u32 {
        self.run.step()
    }

    /// The steps that are complete.
    pub fn steps(&self) -> &'a [Arc<StepRecord>] {
        self.run.steps()
    }

    /// The history.
    pub fn messages(&self) -> &'a [Arc<Message>] {
        self.run.messages()
    }

    /// What all steps took.
    pub fn usage(&self) -> &'a Usage {
        self.run.usage()
    }

    /// The run as it stands.
    pub fn snapshot(&self) -> RunSnapshot {
        self.run.snapshot()
    }
}

/// What a step shall have otherwise. Holds for this step, but for [`history`](Self::history).
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct StepOverrides {
    /// Another model, used as it is: no wrapper is put around it.
    pub model: Option<Arc<dyn LanguageModel>>,
    /// Other instructions.
    pub system: Option<String>,
    /// Another transcript for this step alone.
    pub messages: Option<Vec<Arc<Message>>>,
    /// Another history, from here on.
    pub history: Option<Vec<Arc<Message>>>,
    /// Another tool choice.
    pub tool_choice: Option<ToolChoice>,
    /// Other tools. A run that is resumed in the middle of such a step has those of its loop.
    pub tools: Option<ToolSet>,
    /// Only the tools with these names, of those active in the run: the others are neither shown nor run.
    pub active_tools: Option<Vec<String>>,
    /// Other settings, instead of those of the loop.
    pub settings: Option<Settings>,
    /// Options merged over those of the loop.
    pub options: ProviderOptions,
}

/// A model call that failed.
#[derive(Debug)]
#[non_exhaustive]
pub struct StepFailure<'a> {
    /// The step; counts from 1.
    pub step: u32,
    /// What failed.
    pub error: &'a ModelError,
    /// What the model had said: shown to the consumer already.
    pub partial: &'a AssistantMessage,
    /// Whether [`OnError::Retry`] would be followed.
    pub may_retry: bool,
}

impl<'a> StepFailure<'a> {
    /// A failure, for a control that passes on what it was told.
    pub fn new(step: u32, error: &'a ModelError, partial: &'a AssistantMessage, may_retry: bool) -> Self {
        Self { step, error, partial, may_retry }
    }
}

/// What to do about a model call that failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum OnError {
    /// End the run.
    #[default]
    Abort,
    /// Take back what the step has shown and try it again, while the run's bound allows it.
    Retry,
}
