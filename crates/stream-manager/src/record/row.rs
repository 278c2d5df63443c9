use std::sync::Arc;

use agent_loop::UiMessage;
use ai_provider::{AssistantMessage, ErrorRecord, Message, Usage};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::id::{AttemptId, InputId, RowId, TopicId, TurnId};
use super::unknown::Known;

/// The schema of what is stored. A store migrates what an earlier version wrote.
pub const SCHEMA: u32 = 1;

/// A message of a conversation, as it is stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Row {
    /// See [`SCHEMA`].
    pub schema: u32,
    /// Its id, and that of the message the user interface has for it.
    pub id: RowId,
    /// Its conversation.
    pub topic: TopicId,
    /// The row it follows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<RowId>,
    /// Who speaks.
    pub author: Author,
    /// Where it stands.
    pub status: Known<RowStatus>,
    /// The turn it belongs to.
    pub turn: TurnId,
    /// The attempt that writes, or wrote, it. Absent for rows of the user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<AttemptId>,
    /// The model that answers, by the name it was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Its place among the answers of one turn, from 0.
    #[serde(default)]
    pub slot: u32,
    /// What it holds.
    pub content: RowContent,
    /// When it was opened: milliseconds since 1970.
    pub created_at: u64,
    /// When it was last written: milliseconds since 1970.
    pub updated_at: u64,
}

impl Row {
    /// A row of the user: complete, and without an attempt.
    pub fn user(id: impl Into<RowId>, topic: TopicId, turn: TurnId, content: RowContent, now: u64) -> Self {
        Self {
            schema: SCHEMA,
            id: id.into(),
            topic,
            parent: None,
            author: Author::User,
            status: Known::Is(RowStatus::Complete),
            turn,
            attempt: None,
            model: None,
            slot: 0,
            content,
            created_at: now,
            updated_at: now,
        }
    }

    /// A row that an attempt of a model begins to write.
    pub fn assistant(
        id: impl Into<RowId>,
        topic: TopicId,
        turn: TurnId,
        attempt: AttemptId,
        content: RowContent,
        now: u64,
    ) -> Self {
        Self {
            author: Author::Assistant,
            status: Known::Is(RowStatus::Open),
            attempt: Some(attempt),
            ..Self::user(id, topic, turn, content, now)
        }
    }

    /// Whether this attempt may write what the row holds.
    pub fn is_open_for(&self, attempt: AttemptId) -> bool {
        self.attempt == Some(attempt) && self.status == Known::Is(RowStatus::Open)
    }

    /// Whether this attempt may end the row.
    pub fn can_settle(&self, attempt: AttemptId) -> bool {
        self.attempt == Some(attempt) && self.status.known().is_some_and(|status| status.is_pending())
    }

    /// Whether another attempt may go on in this row: it is open, waits for approval, or holds a run that can go on, as
    /// one that waits for calls of the client does.
    pub fn can_reopen(&self) -> bool {
        self.status.known().is_some_and(|status| status.is_pending()) || self.content.run.is_some()
    }
}

/// Who speaks in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Author {
    /// The user.
    User,
    /// The model, with its tools.
    Assistant,
}

/// Where a row stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RowStatus {
    /// An attempt writes it.
    Open,
    /// It is complete.
    Complete,
    /// The user stopped it.
    Stopped,
    /// It failed.
    Failed,
    /// The process that wrote it died.
    Interrupted,
    /// It waits for a person's decision.
    AwaitingApproval,
}

impl RowStatus {
    /// Whether something is still to come: an attempt writes it, or it waits for a person.
    pub fn is_pending(self) -> bool {
        matches!(self, Self::Open | Self::AwaitingApproval)
    }

    /// The name used in stored data, for example `awaiting_approval`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Complete => "complete",
            Self::Stopped => "stopped",
            Self::Failed => "failed",
            Self::Interrupted => "interrupted",
            Self::AwaitingApproval => "awaiting_approval",
        }
    }
}

/// What a row holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct RowContent {
    /// What the user interface shows: the message that folding the chunks gives.
    pub ui: Known<UiMessage>,
    /// What the model gets of it: only what is complete.
    pub messages: Vec<RowMessage>,
    /// The run, where it can go on: `RunSnapshot` as JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<Value>,
    /// What the model had said in a step that was cut: shown, and no fact of what follows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partial: Option<AssistantMessage>,
    /// Why it failed, or was ended by a limit of time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorRecord>,
    /// What it took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
}

impl RowContent {
    /// Content without messages for the model.
    pub fn new(ui: UiMessage) -> Self {
        Self { ui: Known::Is(ui), messages: Vec::new(), run: None, partial: None, error: None, usage: None }
    }

    /// Whether there is nothing to show.
    pub fn is_empty(&self) -> bool {
        self.messages.is_empty() && self.ui.known().is_some_and(|ui| ui.parts.is_empty())
    }
}

/// A message of a row, for the model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RowMessage {
    /// As it was typed or said.
    pub message: Arc<Message>,
    /// The input it was, if the user said it while the row was being written. The model reads it as a reminder in the
    /// middle of its task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steer: Option<InputId>,
}

impl From<Arc<Message>> for RowMessage {
    fn from(message: Arc<Message>) -> Self {
        Self { message, steer: None }
    }
}
