use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use super::error::StoreError;
use crate::record::{Input, InputId, NodeId, ReturnReason, RowId, TopicId, TopicStatus, TurnId};

/// Carries verbs to the node that owns a topic. In one process that is a call of a function.
#[async_trait]
pub trait Commands: fmt::Debug + Send + Sync + 'static {
    /// Sends a command to a node and waits for its reply, at most `limit`.
    ///
    /// # Errors
    /// [`NotFound`](super::StoreErrorKind::NotFound) if the node does not listen;
    /// [`Unavailable`](super::StoreErrorKind::Unavailable) if there was no reply in time: it may have been done.
    async fn call(
        &self,
        node: &NodeId,
        topic: &TopicId,
        command: Command,
        limit: Duration,
    ) -> Result<Reply, StoreError>;

    /// Hands the commands for a node to its handler, until what is returned is dropped.
    ///
    /// # Errors
    /// If the carrier does not answer.
    async fn serve(
        &self,
        node: &NodeId,
        handler: Arc<dyn CommandHandler>,
    ) -> Result<Box<dyn Serving>, StoreError>;
}

/// Keeps a node listening.
pub trait Serving: fmt::Debug + Send + Sync {}

/// Does what commands ask for.
#[async_trait]
pub trait CommandHandler: Send + Sync + 'static {
    /// Does it.
    async fn handle(&self, topic: TopicId, command: Command) -> Reply;
}

/// A verb, on its way to the owner of a topic.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum Command {
    /// Take this input.
    Submit {
        /// The input.
        input: Input,
        /// What to do with a message while a turn is live.
        when_live: WhenLive,
        /// Refuse it unless this turn is the live one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        turn: Option<TurnId>,
    },
    /// Stop a turn, and reply when that is durable.
    Stop {
        /// The turn.
        turn: TurnId,
    },
    /// Stop one of several models of a turn.
    StopRow {
        /// The row it writes.
        row: RowId,
    },
    /// Give a queued input back.
    Withdraw {
        /// The input.
        input: InputId,
    },
    /// Say how the topic stands.
    Status,
    /// Delete the topic. A live turn is stopped first.
    Delete,
}

/// What to do with a message for a topic whose turn is live.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum WhenLive {
    /// Say it to the running turn, at its next step.
    #[default]
    Steer,
    /// Answer it in a turn of its own, afterwards.
    FollowUp,
    /// Refuse it.
    Reject,
    /// Stop the running turn, then answer it.
    Interrupt,
}

/// The answer to a [`Command`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum Reply {
    /// An input is written down.
    Accepted {
        /// Its place among the inputs of its topic.
        seq: u64,
        /// The turn that it is for: started by it, or live. Absent where it waits for one to come.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        turn: Option<TurnId>,
        /// Whether the same input was accepted before; this one changes nothing.
        duplicate: bool,
    },
    /// An input is written down, but the turn that should have answered it could not be started: it goes back.
    NotStarted {
        /// Why.
        why: ReturnReason,
    },
    /// A turn is stopped, durably.
    Stopped {
        /// The inputs that were waiting for it, returned to their senders.
        returned: Vec<Input>,
    },
    /// It is done.
    Done,
    /// How the topic stands.
    Status {
        /// The status.
        status: TopicStatus,
    },
    /// It is not done.
    Refused {
        /// Why.
        why: Refusal,
    },
    /// The node does not own the topic (any more): ask for its owner again.
    NotOwner,
}

/// Why a verb was refused. Nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Refusal {
    /// A turn is live.
    TopicBusy,
    /// The turn that was named is not the live one.
    StaleTurn,
    /// Nothing is live.
    NotLive,
    /// There is no such row, or it cannot be answered: it is the user's, or open.
    NoSuchRow,
    /// No such call waits for a decision or a result.
    NoSuchCall,
    /// It was decided otherwise before.
    AlreadyDecided,
    /// No such input waits.
    NoSuchInput,
    /// The message has nothing in it, or is not the user's.
    EmptyInput,
    /// A model was named twice.
    DuplicateModel,
    /// There is no such model.
    NoSuchModel,
    /// Too many inputs wait.
    QueueFull,
    /// The manager is paused, or shuts down.
    NotAdmitting,
    /// The store cannot be written at the moment; the outcome of the last turn waits for it.
    StoreBlocked,
}

impl Refusal {
    /// The name used in messages, for example `topic-busy`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::TopicBusy => "topic-busy",
            Self::StaleTurn => "stale-turn",
            Self::NotLive => "not-live",
            Self::NoSuchRow => "no-such-row",
            Self::NoSuchCall => "no-such-call",
            Self::AlreadyDecided => "already-decided",
            Self::NoSuchInput => "no-such-input",
            Self::EmptyInput => "empty-input",
            Self::DuplicateModel => "duplicate-model",
            Self::NoSuchModel => "no-such-model",
            Self::QueueFull => "queue-full",
            Self::NotAdmitting => "not-admitting",
            Self::StoreBlocked => "store-blocked",
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
