use ai_provider::Id;

use super::fact::{StopWhy, Ticket};
use crate::port::Reply;
use crate::record::{
    AttemptId, Input, InputId, ReturnReason, RowId, RowStatus, StoredInput, Terminal, TopicStatus, TurnId,
};
use crate::source::CallAnswer;

/// Something that shall be done. What comes of it is told as a [`Fact`](super::Fact).
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Effect {
    /// Write an input down.
    Accept { ticket: Ticket, input: Input },
    /// Open rows and run attempts.
    Begin(Begin),
    /// Ask an attempt to yield at its next step.
    Yield { attempt: AttemptId },
    /// Hand an input to the driver of an attempt.
    Redirect { attempt: AttemptId, input: StoredInput },
    /// Cancel an attempt.
    Cancel { attempt: AttemptId, why: StopWhy },
    /// Settle an attempt that is over.
    Settle(Settle),
    /// Settle a row whose attempt has no task any more.
    SettleStored(Settle),
    /// Settle a row whose end was given up, whenever the store can be written again. Nobody waits for it.
    Repair(Settle),
    /// Try once more to settle, at once, and then no more.
    LastTry { attempt: AttemptId },
    /// Show the end of an attempt.
    Seal { attempt: AttemptId, terminal: Terminal },
    /// Return inputs that no settlement returns.
    Return { inputs: Vec<InputId>, why: ReturnReason },
    /// Answer a question.
    Reply { ticket: Ticket, reply: Reply },
    /// Tell how the topic stands.
    Publish(TopicStatus),
    /// Rows wait for a person from now on.
    AwaitDecision,
    /// Delete the topic.
    Delete { ticket: Option<Ticket> },
}

/// Rows to open and attempts to run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Begin {
    pub(crate) turn: TurnId,
    pub(crate) attempts: Vec<Planned>,
    pub(crate) kind: BeginKind,
}

impl Begin {
    /// Names it: the first of its attempts.
    pub(crate) fn id(&self) -> AttemptId {
        let none = AttemptId { epoch: 0, number: 0 };
        self.attempts.first().map_or(none, |planned| planned.attempt)
    }
}

/// An attempt to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Planned {
    pub(crate) attempt: AttemptId,
    pub(crate) row: RowId,
    pub(crate) model: Option<String>,
    pub(crate) slot: u32,
}

/// What begins.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum BeginKind {
    /// Answers to what the user said.
    Messages(Vec<StoredInput>),
    /// Another answer in the place of a row.
    Regenerate { input: StoredInput, row: RowId },
    /// A further answer beside a row.
    Append { input: StoredInput, beside: RowId },
    /// The same row goes on with what the user said in the middle.
    Continue { inputs: Vec<StoredInput>, from: AttemptId },
    /// The same row goes on with decisions and results.
    Resume { inputs: Vec<InputId>, from: AttemptId, answers: Vec<(Id, CallAnswer)> },
}

impl BeginKind {
    pub(crate) fn inputs(&self) -> Vec<InputId> {
        match self {
            Self::Messages(inputs) | Self::Continue { inputs, .. } => {
                inputs.iter().map(|stored| stored.input.id.clone()).collect()
            }
            Self::Regenerate { input, .. } | Self::Append { input, .. } => vec![input.input.id.clone()],
            Self::Resume { inputs, .. } => inputs.clone(),
        }
    }
}

/// How an attempt is settled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Settle {
    pub(crate) attempt: AttemptId,
    pub(crate) row: RowId,
    pub(crate) status: RowStatus,
    pub(crate) stop: Option<StopWhy>,
    pub(crate) returned: Vec<(InputId, ReturnReason)>,
}
