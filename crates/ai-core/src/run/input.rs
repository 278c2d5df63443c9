use std::error::Error;
use std::fmt;
use std::sync::Arc;

use ai_provider::{Assembled, AssistantMessage, ErrorRecord, Id, Message, TargetId, ToolCall, ToolResult};
use serde::{Deserialize, Serialize};

use super::outcome::BudgetKind;
use super::record::ToolRecord;

/// What came of the thing [`Run::next`](super::Run::next) asked for.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Input {
    /// The step is prepared.
    Prepared(Prepared),
    /// The model answered.
    Answered(Box<Answer>),
    /// The model call failed.
    ModelFailed {
        /// What failed.
        error: ErrorRecord,
        /// What the model had said.
        partial: AssistantMessage,
        /// Whether to try the step again; counts only while [`Run::may_retry`](super::Run::may_retry).
        retry: bool,
    },
    /// Calls with wrong input were looked at: the call to run instead, by the id of the original.
    Repaired(Vec<(Id, Option<ToolCall>)>),
    /// The policies have spoken.
    Decided(Vec<(Id, ApprovalVerdict)>),
    /// A person has spoken.
    Answer {
        /// The call.
        call_id: Id,
        /// Yes or no.
        approved: bool,
        /// Why.
        reason: Option<String>,
    },
    /// A call is over.
    ToolFinished(Box<ToolRecord>),
    /// The calls that were handed over have come back: one result for each, in any order. The run goes on.
    Returned(Vec<ToolResult>),
    /// The stop conditions have spoken.
    Verdicts(Vec<Verdict>),
    /// The run cannot go on, at any point: what drives it met something it cannot deal with.
    Broken(ErrorRecord),
    /// The run is cut from outside, at any point. A cancel is taken even when the run is done and has not
    /// failed: until its end is handed out, the caller's word counts.
    Interrupted {
        /// By what.
        by: Interruption,
        /// What the model had said in the step that is cut.
        partial: Option<AssistantMessage>,
    },
}

impl Input {
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Prepared(_) => "Prepared",
            Self::Answered(_) => "Answered",
            Self::ModelFailed { .. } => "ModelFailed",
            Self::Repaired(_) => "Repaired",
            Self::Decided(_) => "Decided",
            Self::Answer { .. } => "Answer",
            Self::ToolFinished(_) => "ToolFinished",
            Self::Returned(_) => "Returned",
            Self::Verdicts(_) => "Verdicts",
            Self::Broken(_) => "Broken",
            Self::Interrupted { .. } => "Interrupted",
        }
    }
}

/// What a step may use.
#[derive(Clone, Debug, Default)]
pub struct Prepared {
    /// The tools that are active in this step.
    pub tools: Vec<ToolFacts>,
    /// Whether calls with wrong input can be repaired.
    pub repair: bool,
    /// Takes the place of the history from here on.
    pub history: Option<Vec<Arc<Message>>>,
}

/// What the run needs to know about a tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolFacts {
    /// Its name.
    pub name: String,
    /// Whether it runs on this side; if not, its calls are handed over to the caller.
    pub executable: bool,
    /// Whether its calls may need consent.
    pub approval: bool,
    /// Whether it runs at the provider and may give its result in a later step than that of its call.
    #[serde(default, skip_serializing_if = "is_false")]
    pub deferred: bool,
}

fn is_false(value: &bool) -> bool {
    !value
}

/// An answer of the model, whole or as far as it came.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Answer {
    /// What was asked.
    pub target: TargetId,
    /// What came.
    pub assembled: Assembled,
    /// Calls whose input is not what their tool takes, and what is wrong with it.
    pub invalid: Vec<(Id, String)>,
}

impl Answer {
    /// An answer in whose calls nothing wrong was found.
    pub fn new(target: TargetId, assembled: Assembled) -> Self {
        Self { target, assembled, invalid: Vec::new() }
    }
}

/// What a policy says of a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum ApprovalVerdict {
    /// It may run.
    Approved,
    /// It may not.
    Denied {
        /// Why.
        reason: Option<String>,
    },
    /// A person shall decide.
    AskUser {
        /// Pairs the question with its answer.
        approval_id: Id,
    },
}

impl ApprovalVerdict {
    /// A person shall decide about this call, under an id made of the call's own.
    pub fn ask(call_id: &Id) -> Self {
        Self::AskUser { approval_id: format!("approval_{call_id}").into() }
    }
}

/// Why a run shall not go on although it could.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum Verdict {
    /// Input is waiting.
    SteerYield,
    /// A budget is spent.
    Budget {
        /// Which.
        kind: BudgetKind,
    },
    /// The same call was repeated too often.
    LoopGuard {
        /// Which tool.
        tool: String,
    },
    /// The same call was repeated; the run goes on, and the model is told.
    LoopWarning {
        /// Which tool.
        tool: String,
        /// In how many steps in a row.
        times: u32,
    },
    /// The last of the steps with tools is over; one without them follows.
    ClosingStep,
    /// A condition of the caller's holds; the run is finished.
    Stop {
        /// Its name.
        condition: String,
    },
}

impl Verdict {
    /// Whether it ends the run.
    pub fn ends(&self) -> bool {
        !matches!(self, Self::LoopWarning { .. } | Self::ClosingStep)
    }
}

/// What cuts a run from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Interruption {
    /// The caller.
    Cancelled,
    /// The deadline.
    TimeUp,
}

/// An input came that the run did not ask for. The run is unchanged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutOfOrder {
    pub(super) input: &'static str,
    pub(super) phase: &'static str,
    pub(super) detail: Option<String>,
}

impl fmt::Display for OutOfOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the input `{}` came while the run was at `{}`", self.input, self.phase)?;
        self.detail.iter().try_for_each(|detail| write!(f, ": {detail}"))
    }
}

impl Error for OutOfOrder {}
