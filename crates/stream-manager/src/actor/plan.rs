use std::sync::Arc;

use agent_loop::{UiMessage, UiPart, UiRole, UiUserPart};
use ai_provider::{Message, UserMessage};

use crate::attempt::message_of;
use crate::core::{Begin, BeginKind, NotBegun, Planned};
use crate::history::{self, Partials};
use crate::port::{Conversation, Refusal};
use crate::record::{
    Author, InputBody, Known, Row, RowContent, RowId, RowMessage, RowStatus, StoredInput, TopicId,
};
use crate::source::Resume;

/// What an attempt writes, and is given.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) row: Row,
    pub(super) history: Vec<Arc<Message>>,
    pub(super) resume: Option<Resume>,
    /// Whether the row's message began in an attempt before.
    pub(super) goes_on: bool,
}

/// Reads off a conversation what attempts that begin shall write.
#[derive(Debug)]
pub(super) struct Planner<'a> {
    pub(super) topic: &'a TopicId,
    pub(super) begin: &'a Begin,
    pub(super) conversation: &'a Conversation,
    pub(super) partials: Partials,
    /// Milliseconds since 1970.
    pub(super) now: u64,
}

impl Planner<'_> {
    /// The user's rows to write, and what each attempt writes and is given.
    pub(super) fn plan(&self) -> Result<(Vec<Row>, Vec<Plan>), NotBegun> {
        match &self.begin.kind {
            BeginKind::Messages(inputs) => self.messages(inputs),
            BeginKind::Regenerate { row, .. } => {
                let row = self.find(row)?;
                let below = if row.author == Author::User { Some(&row.id) } else { row.parent.as_ref() };
                Ok((Vec::new(), self.answers(below)?))
            }
            BeginKind::Append { beside, .. } => {
                Ok((Vec::new(), self.answers(self.find(beside)?.parent.as_ref())?))
            }
            BeginKind::Continue { inputs, .. } => {
                let mut row = self.reopened()?;
                for stored in inputs {
                    if let Some(InputBody::Message { message, .. }) = stored.input.body.known() {
                        let steer = Some(stored.input.id.clone());
                        row.content.messages.push(RowMessage { message: Arc::clone(message), steer });
                    }
                }
                let mut history = self.history(row.parent.as_ref())?;
                history.extend(history::row_for_model(&row, self.partials));
                Ok((Vec::new(), vec![Plan { row, history, resume: None, goes_on: true }]))
            }
            BeginKind::Resume { answers, .. } => {
                let mut row = self.reopened()?;
                let run = row.content.run.take().ok_or(NotBegun::Failed)?;
                let resume = Some(Resume::new(run, answers.clone()));
                Ok((Vec::new(), vec![Plan { row, history: Vec::new(), resume, goes_on: false }]))
            }
        }
    }

    fn find(&self, id: &RowId) -> Result<&Row, NotBegun> {
        let row = self.conversation.rows.iter().find(|row| row.id == *id);
        row.ok_or(NotBegun::Refused(Refusal::NoSuchRow))
    }

    fn messages(&self, inputs: &[StoredInput]) -> Result<(Vec<Row>, Vec<Plan>), NotBegun> {
        let named = inputs.iter().find_map(|stored| match stored.input.body.known() {
            Some(InputBody::Message { parent, .. }) => parent.clone(),
            _ => None,
        });
        let mut parent = named.or_else(|| history::leaf(self.conversation).map(|row| row.id.clone()));
        let mut history = self.history(parent.as_ref())?;
        let mut users = Vec::new();
        for stored in inputs {
            let Some(message) = message_of(stored) else { continue };
            let id = stored.input.id.as_str();
            let mut content = RowContent::new(user_message(id, message));
            let message = Arc::new(Message::User(message.clone()));
            content.messages.push(RowMessage::from(Arc::clone(&message)));
            let mut row = Row::user(id, self.topic.clone(), self.begin.turn, content, self.now);
            row.parent = parent.replace(row.id.clone());
            history.push(message);
            users.push(row);
        }
        let plans = self.begin.attempts.iter();
        Ok((users, plans.map(|planned| self.answer(planned, parent.as_ref(), &history)).collect()))
    }

    /// New answers below a row.
    fn answers(&self, parent: Option<&RowId>) -> Result<Vec<Plan>, NotBegun> {
        let history = self.history(parent)?;
        let plans = self.begin.attempts.iter();
        Ok(plans.map(|planned| self.answer(planned, parent, &history)).collect())
    }

    fn answer(&self, planned: &Planned, parent: Option<&RowId>, history: &[Arc<Message>]) -> Plan {
        let id = planned.row.as_str();
        let content = RowContent::new(empty_message(id));
        let mut row =
            Row::assistant(id, self.topic.clone(), self.begin.turn, planned.attempt, content, self.now);
        row.parent = parent.cloned();
        row.model.clone_from(&planned.model);
        row.slot = planned.slot;
        Plan { row, history: history.to_vec(), resume: None, goes_on: false }
    }

    fn reopened(&self) -> Result<Row, NotBegun> {
        let planned = self.begin.attempts.first().ok_or(NotBegun::Failed)?;
        let mut row = self.find(&planned.row)?.clone();
        row.status = Known::Is(RowStatus::Open);
        row.attempt = Some(planned.attempt);
        row.turn = self.begin.turn;
        row.content.partial = None;
        row.content.error = None;
        row.updated_at = self.now;
        Ok(row)
    }

    fn history(&self, leaf: Option<&RowId>) -> Result<Vec<Arc<Message>>, NotBegun> {
        let Some(leaf) = leaf else { return Ok(Vec::new()) };
        let path = history::path(self.conversation, leaf).ok_or(NotBegun::Refused(Refusal::NoSuchRow))?;
        Ok(history::for_model(&path, self.partials))
    }
}

/// The message of a row that holds nothing yet.
pub(super) fn empty_message(id: &str) -> UiMessage {
    UiMessage::new(id, UiRole::Assistant)
}

fn user_message(id: &str, message: &UserMessage) -> UiMessage {
    let mut shown = UiMessage::new(id, UiRole::User);
    let parts = UiUserPart::of(message).into_iter().filter_map(|part| match part {
        UiUserPart::Text { text, provider_metadata } => {
            Some(UiPart::Text { text, state: None, citations: None, provider_metadata })
        }
        UiUserPart::File { media_type, url, filename, provider_metadata, .. } => {
            Some(UiPart::File { media_type, url, filename, provider_metadata })
        }
        _ => None,
    });
    shown.parts = parts.collect();
    shown
}
