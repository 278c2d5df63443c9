use std::sync::Arc;

use ai_provider::{Id, Message, ToolOutput, UserPart};
use serde::{Deserialize, Serialize};

use super::id::{AttemptId, InputId, RowId, TurnId};
use super::unknown::Known;

/// Something that was said to a topic.
///
/// It is written down before anything else happens to it, and ends exactly once: consumed by a turn, or returned to
/// its sender.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Input {
    /// Given by the sender. The same id again is the same input.
    pub id: InputId,
    /// What it is.
    pub body: Known<InputBody>,
    /// Which models shall answer; those of the topic's default if empty. Several answer side by side.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<String>,
}

impl Input {
    /// An input for the default model.
    pub fn new(id: impl Into<InputId>, body: InputBody) -> Self {
        Self { id: id.into(), body: Known::Is(body), models: Vec::new() }
    }

    /// Sets which models shall answer.
    #[must_use]
    pub fn with_models<M: Into<String>>(mut self, models: impl IntoIterator<Item = M>) -> Self {
        self.models = models.into_iter().map(Into::into).collect();
        self
    }
}

impl Input {
    /// The beginning of what the user says, as a title: in one line, at most 200 characters. `None` if it is no message
    /// or has no text.
    pub fn title(&self) -> Option<String> {
        let InputBody::Message { message, .. } = self.body.known()? else { return None };
        let Message::User(message) = &**message else { return None };
        let texts = message.parts.iter().filter_map(|part| match part {
            UserPart::Text(text) => Some(text.text.as_str()),
            _ => None,
        });
        let words = texts.flat_map(str::split_whitespace).take(TITLE);
        let mut title: String =
            words.flat_map(|word| [" ", word]).flat_map(str::chars).skip(1).take(TITLE).collect();
        title.truncate(title.trim_end().len());
        (!title.is_empty()).then_some(title)
    }
}

/// A title is a line in a list: more characters are not shown there.
const TITLE: usize = 200;

/// What an input is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum InputBody {
    /// The user speaks. Gives a row of the user and, for each model, one of the assistant.
    Message {
        /// What the user says.
        message: Arc<Message>,
        /// In which queue it waits while a turn is live.
        queue: Queue,
        /// Which row it follows; the end of the conversation if absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parent: Option<RowId>,
    },
    /// A row of the assistant is to be answered anew.
    Regenerate {
        /// The row; it is left out of the history from then on.
        row: RowId,
    },
    /// A further model shall answer beside others of the same turn, live or over.
    Append {
        /// One of their rows.
        beside: RowId,
    },
    /// A person has decided about a call.
    Approval {
        /// The row that waits.
        row: RowId,
        /// The call.
        call_id: Id,
        /// Yes or no.
        approved: bool,
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// A call that the client runs has a result.
    ToolResult {
        /// The row that waits.
        row: RowId,
        /// The call.
        call_id: Id,
        /// What came of it.
        output: ToolOutput,
    },
}

/// In which queue a message waits while a turn is live.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Queue {
    /// For the running turn: it yields at its next step, and goes on in the same row with what was said.
    Steer,
    /// For a turn of its own, once the running one is over.
    FollowUp,
}

/// An input as it is stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct StoredInput {
    /// Counts the inputs of its topic from 1, in the order in which they were accepted.
    pub seq: u64,
    /// The input, as it was sent.
    pub input: Input,
    /// What has become of it.
    pub fate: Known<Fate>,
    /// When it was accepted: milliseconds since 1970.
    pub accepted_at: u64,
}

impl StoredInput {
    /// A new one.
    pub fn queued(seq: u64, input: Input, accepted_at: u64) -> Self {
        Self { seq, input, fate: Known::Is(Fate::Queued), accepted_at }
    }

    /// Whether it still waits.
    pub fn is_queued(&self) -> bool {
        matches!(self.fate, Known::Is(Fate::Queued))
    }
}

/// What becomes of an input. It leaves `Queued` once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum Fate {
    /// It waits.
    Queued,
    /// It stands in the conversation: written together with the rows of the attempt that answers it.
    Consumed {
        /// The turn.
        turn: TurnId,
        /// The attempt; the first of several side by side.
        attempt: AttemptId,
    },
    /// It was not used: the sender may send it again, with another id.
    Returned {
        /// Why.
        why: ReturnReason,
    },
}

/// Why an input was not used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ReturnReason {
    /// The turn it waited for was stopped.
    Stopped,
    /// The turn it waited for failed.
    Failed,
    /// A limit ended the turn it waited for: its step cap, its loop guard or a budget.
    StopCondition,
    /// The turn that should have answered it could not be started.
    LaunchFailed,
    /// The process died before it was used.
    Interrupted,
    /// The manager shut down.
    ShutDown,
    /// What it is about is not there, or is over: the row, the call, the question.
    Stale,
    /// The sender took it back.
    Withdrawn,
    /// The topic was deleted.
    Deleted,
}
