use std::time::Duration;

use ai_provider::{
    AssistantMessage, ErrorRecord, FinishReason, Id, RequestId, ResponseMetadata, TargetId,
    ToolApprovalResponse, ToolCall, ToolResult, Usage, Warning,
};
use serde::{Deserialize, Serialize};

use super::input::Verdict;
use super::outcome::TerminalRecord;

/// One step of a run: a model call and what came of the tools it called.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StepRecord {
    /// Counts the steps of the run from 1.
    pub step: u32,
    /// What was asked.
    pub target: TargetId,
    /// Who answered.
    pub response: ResponseMetadata,
    /// What the model said.
    pub message: AssistantMessage,
    /// Results of the calls that ran on this side, in the order of the calls.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<ToolRecord>,
    /// What was said of the calls at the provider that asked for consent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub approvals: Vec<ToolApprovalResponse>,
    /// Why the model stopped.
    pub finish: FinishReason,
    /// What it took.
    pub usage: Usage,
    /// What could not be done as asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
}

/// What came of one call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolRecord {
    /// What the model gets.
    pub result: ToolResult,
    /// How it went.
    pub status: ToolStatus,
    /// From the start of the tool to its last result.
    pub duration: Duration,
    /// What the tool itself took of models, counted in the run's usage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Box<Usage>>,
    /// Set if the tool ended the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub terminal: Option<TerminalRecord>,
}

impl ToolRecord {
    /// A record of a call that was not run.
    pub fn not_run(result: ToolResult, status: ToolStatus) -> Self {
        Self { result, status, duration: Duration::ZERO, usage: None, terminal: None }
    }
}

/// How a call went.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum ToolStatus {
    /// It gave a result.
    Ok,
    /// It failed, or its input was wrong.
    Failed,
    /// There is no such tool, or it is not active in this step.
    Unknown,
    /// The input is not what the tool takes; it was not run.
    InvalidInput,
    /// It was denied.
    Denied,
    /// Its result was larger than the loop takes.
    TooLarge {
        /// The limit, in bytes.
        limit: usize,
    },
    /// It panicked. The panic went no further.
    Panicked,
    /// It took too long, and running it again does no harm.
    TimedOut,
    /// The run was cancelled before it gave a result.
    Cancelled,
    /// It was not run, because the answer that called it was cut.
    Skipped,
    /// It took too long or was cut off, and may have taken effect all the same. It is never run again.
    DeliveryUnknown(DeliveryUnknown),
}

impl ToolStatus {
    /// The name used in stored data, for example `timed-out`.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Failed => "failed",
            Self::Unknown => "unknown",
            Self::InvalidInput => "invalid-input",
            Self::Denied => "denied",
            Self::TooLarge { .. } => "too-large",
            Self::Panicked => "panicked",
            Self::TimedOut => "timed-out",
            Self::Cancelled => "cancelled",
            Self::Skipped => "skipped",
            Self::DeliveryUnknown(_) => "delivery-unknown",
        }
    }
}

/// A side effect that may or may not have happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeliveryUnknown {
    /// Which tool.
    pub tool: String,
    /// Which call.
    pub call_id: Id,
    /// The target of the step that called it.
    pub target: TargetId,
    /// The request of that step.
    pub request_id: RequestId,
    /// The effects the tool reported before it was cut off.
    pub known_effects: Vec<String>,
    /// Whether its time was up; else the run, or another call of the step, has cut it.
    #[serde(default)]
    pub timed_out: bool,
}

/// A step that failed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FailedStep {
    /// The step's number; the step that takes its place has the same.
    pub step: u32,
    /// What failed.
    pub error: ErrorRecord,
    /// What the model had said: shown, but never part of the history.
    pub partial: AssistantMessage,
}

/// A call that waits for a person.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PendingApproval {
    /// Pairs the question with its answer.
    pub approval_id: Id,
    /// The call.
    pub call: ToolCall,
}

/// A verdict with the step at whose end it was spoken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerdictRecord {
    /// The step.
    pub step: u32,
    /// The verdict.
    pub verdict: Verdict,
}
