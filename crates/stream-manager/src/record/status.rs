use serde::{Deserialize, Serialize};

use super::id::{AttemptId, RowId, TopicId, TurnId};

/// How a topic stands, for those who do not read its chunks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct TopicStatus {
    /// The topic.
    pub topic: TopicId,
    /// What it does.
    pub state: TopicState,
    /// Its turn: the running one, or the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<TurnId>,
    /// The answers that can be read now, in the order in which they are shown: those of the running turn, and of the
    /// last one for a while.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attempts: Vec<ActiveAttempt>,
    /// Rows that wait for a person.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub awaiting: Vec<RowId>,
    /// How many inputs wait.
    #[serde(default)]
    pub queued: u32,
    /// When a turn was last completed: milliseconds since 1970. Kept through what follows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_completed_at: Option<u64>,
    /// Grows with each change of the topic, within one ownership.
    pub revision: u64,
    /// Which ownership of the topic says so. A status of an earlier one is out of date.
    pub epoch: u64,
}

impl TopicStatus {
    /// A topic that has done nothing yet.
    pub fn idle(topic: TopicId) -> Self {
        Self {
            topic,
            state: TopicState::Idle,
            turn: None,
            attempts: Vec::new(),
            awaiting: Vec::new(),
            queued: 0,
            last_completed_at: None,
            revision: 0,
            epoch: 0,
        }
    }

    /// Whether this one is of later than the other.
    pub fn supersedes(&self, other: &Self) -> bool {
        (self.epoch, self.revision) > (other.epoch, other.revision)
    }
}

/// What a topic does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum TopicState {
    /// Nothing, and nothing has happened yet that it remembers.
    Idle,
    /// A turn has begun; no model has said anything.
    Pending,
    /// A model speaks, or its tools run.
    Streaming,
    /// A stop was asked for and is not durable yet.
    Stopping,
    /// A row waits for a person.
    AwaitingApproval,
    /// The last turn is complete.
    Done,
    /// The last turn was stopped.
    Stopped,
    /// The last turn failed.
    Failed,
}

impl TopicState {
    /// Whether a turn runs.
    pub fn is_live(self) -> bool {
        matches!(self, Self::Pending | Self::Streaming | Self::Stopping)
    }
}

/// An answer whose chunks can be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ActiveAttempt {
    /// The attempt that writes it, or did last.
    pub attempt: AttemptId,
    /// The attempts before it in the same row and turn: with the first of them the row's stream begins.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<AttemptId>,
    /// The row.
    pub row: RowId,
    /// The model that answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

impl ActiveAttempt {
    /// An answer of the topic's default model, in its first attempt.
    pub fn new(attempt: AttemptId, row: RowId) -> Self {
        Self { attempt, earlier: Vec::new(), row, model: None }
    }
}
