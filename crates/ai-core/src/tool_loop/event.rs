use std::sync::Arc;

use ai_provider::{
    AttemptEvent, ErrorRecord, Message, ModelError, StreamPart, TargetId, ToolApprovalResponse, ToolCall,
    ToolResult, Usage,
};

use crate::run::{Outcome, PendingApproval, RunSnapshot, StepRecord, ToolRecord};

/// What happens in a run, in order.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum LoopEvent {
    /// A step begins.
    StepStart(StepStart),
    /// The model says something.
    Part(StreamPart),
    /// A tool runs.
    Tool(ToolEvent),
    /// A model call is tried again, elsewhere or with another key.
    Attempt(Box<AttemptEvent>),
    /// What the step has shown since its start is taken back: it failed and is tried again.
    StepReset(StepReset),
    /// A step is complete.
    StepEnd(Arc<StepRecord>, RunSnapshot),
    /// The run is over. Nothing follows.
    End(Box<RunEnd>),
}

/// A step begins.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StepStart {
    /// Counts from 1.
    pub step: u32,
    /// What is asked.
    pub target: TargetId,
}

impl StepStart {
    pub(super) fn new(step: u32, target: TargetId) -> Self {
        Self { step, target }
    }
}

/// A step is tried again.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StepReset {
    /// Counts from 1; the step that follows has the same number.
    pub step: u32,
    /// What failed.
    pub error: ErrorRecord,
}

impl StepReset {
    pub(super) fn new(step: u32, error: ErrorRecord) -> Self {
        Self { step, error }
    }
}

/// A tool runs.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ToolEvent {
    /// A call of this side waits for a person. A call at the provider that does is told as a
    /// [part](LoopEvent::Part), `StreamPart::ToolApprovalRequest`, and decided in the same way.
    ApprovalRequested(PendingApproval),
    /// A person has decided about a call.
    ApprovalAnswered(ToolApprovalResponse),
    /// A call begins to run.
    Started(ToolCall),
    /// It has a result so far.
    Preliminary(ToolResult),
    /// A call is over, whether or not it ran.
    Finished(Box<ToolRecord>),
}

/// The end of a run.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RunEnd {
    /// How it ended.
    pub outcome: Outcome,
    /// The error, with its sources, if something failed.
    pub error: Option<ModelError>,
    /// What all steps took.
    pub usage: Usage,
    /// The steps that are complete.
    pub steps: Vec<Arc<StepRecord>>,
    /// The run as it stands, to go on with it: where it waits for approval, its steps are not all in
    /// [`new_messages`](Self::new_messages) yet.
    pub snapshot: RunSnapshot,
    /// What the run added to the history, ready to be appended to it.
    pub new_messages: Vec<Arc<Message>>,
}
