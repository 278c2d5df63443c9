use std::fmt;

use ai_provider::{AssistantMessage, ErrorRecord, FinishReason, Id, IncompleteCall, ToolCall};
use serde::{Deserialize, Serialize};

/// How a run ended. Plain data; only [`Failed`](Self::Failed) is an error.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum Outcome {
    /// The model was done.
    Finished,
    /// The answer was cut at a length limit. None of its calls was run.
    Truncated {
        /// Calls that were being written when the limit was reached.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        incomplete_calls: Vec<IncompleteCall>,
    },
    /// The model wanted to go on after the last step it is allowed.
    StepCap {
        /// The cap, in steps.
        cap: u32,
    },
    /// The same call was repeated too often.
    LoopGuard {
        /// Which tool.
        tool: String,
    },
    /// Calls wait for a person's decision.
    AwaitingApproval {
        /// The calls.
        calls: Vec<ToolCall>,
    },
    /// Calls of tools that run at the caller's.
    HandedOver {
        /// The calls, without results in the history.
        calls: Vec<ToolCall>,
    },
    /// Ended at a step boundary because input is waiting.
    SteerYield,
    /// A trusted tool said that going on makes no sense.
    ToolTerminal(TerminalRecord),
    /// The provider withheld the answer.
    Refused {
        /// Its reason.
        finish: FinishReason,
    },
    /// A budget of the run was spent.
    Budget {
        /// Which.
        kind: BudgetKind,
    },
    /// The caller cancelled, or dropped the stream.
    Cancelled {
        /// What the model had said in the step that was cut; not part of the history.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        partial: Option<Box<AssistantMessage>>,
    },
    /// Something failed.
    Failed {
        /// What.
        error: ErrorRecord,
        /// What the model had said in the step that failed; not part of the history.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        partial: Option<Box<AssistantMessage>>,
    },
}

impl Outcome {
    /// The name used in stored data, for example `step-cap`.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Finished => "finished",
            Self::Truncated { .. } => "truncated",
            Self::StepCap { .. } => "step-cap",
            Self::LoopGuard { .. } => "loop-guard",
            Self::AwaitingApproval { .. } => "awaiting-approval",
            Self::HandedOver { .. } => "handed-over",
            Self::SteerYield => "steer-yield",
            Self::ToolTerminal(_) => "tool-terminal",
            Self::Refused { .. } => "refused",
            Self::Budget { .. } => "budget",
            Self::Cancelled { .. } => "cancelled",
            Self::Failed { .. } => "failed",
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::StepCap { cap } => write!(f, "the limit of {cap} steps was reached"),
            Self::LoopGuard { tool } => write!(f, "the same call of `{tool}` was repeated too often"),
            Self::ToolTerminal(record) => write!(f, "{}", record.message),
            Self::Failed { error, .. } => write!(f, "{error}"),
            other => f.write_str(other.as_str()),
        }
    }
}

/// What was spent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum BudgetKind {
    /// Tokens.
    Tokens,
    /// Money.
    Cost,
    /// Wall-clock time.
    Time,
}

impl BudgetKind {
    /// The name used in stored data, for example `tokens`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Tokens => "tokens",
            Self::Cost => "cost",
            Self::Time => "time",
        }
    }
}

/// A trusted tool's verdict that going on makes no sense, as plain data. Reading one from storage or from a
/// tool's output never ends a run: only a live [`TerminalFailure`](crate::TerminalFailure) does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TerminalRecord {
    /// The call.
    pub tool_call_id: Id,
    /// Which tool.
    pub tool_name: String,
    /// For the user.
    pub message: String,
    /// A stable key for translations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Whether the other calls of the same answer are cut short.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cancel_siblings: bool,
}
