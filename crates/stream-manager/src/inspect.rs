use crate::record::{AttemptId, Fate, InputId, TopicId, TopicState, TopicStatus, TurnId};

/// How a topic stands, in detail: for tests and operators. Nothing is changed by looking.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Inspection {
    /// Its status.
    pub status: TopicStatus,
    /// The attempts that have a task, oldest first.
    pub attempts: Vec<AttemptInspection>,
    /// How many messages were about something that was over, and were dropped.
    pub stale: u64,
    /// How many tasks run for it.
    pub tasks: usize,
}

impl Inspection {
    pub(crate) fn new(
        status: TopicStatus,
        attempts: Vec<AttemptInspection>,
        stale: u64,
        tasks: usize,
    ) -> Self {
        Self { status, attempts, stale, tasks }
    }
}

/// An attempt that has a task.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AttemptInspection {
    /// The attempt.
    pub attempt: AttemptId,
    /// Whether it was told to end.
    pub cancelled: bool,
}

impl AttemptInspection {
    pub(crate) fn new(attempt: AttemptId, cancelled: bool) -> Self {
        Self { attempt, cancelled }
    }
}

/// Something that happened to a topic of this node, for those who do not read its chunks.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TopicEvent {
    /// An input is consumed, or returned.
    Input {
        /// The topic.
        topic: TopicId,
        /// The input.
        input: InputId,
        /// What became of it.
        fate: Fate,
    },
    /// A turn began.
    TurnStarted {
        /// The topic.
        topic: TopicId,
        /// The turn.
        turn: TurnId,
    },
    /// A turn is over.
    TurnEnded {
        /// The topic.
        topic: TopicId,
        /// The turn.
        turn: TurnId,
        /// How it ended.
        state: TopicState,
    },
    /// The end of an attempt cannot be written at the moment: it is tried again, and told to nobody until it is.
    Blocked {
        /// The topic.
        topic: TopicId,
        /// The attempt.
        attempt: AttemptId,
    },
}
