use std::collections::HashMap;
use std::sync::Arc;

use agent_loop::{UiMessage, UiRole};
use ai_provider::{AssistantMessage, AssistantPart, Message, TextPart};

use crate::port::Conversation;
use crate::record::{Author, Known, Row, RowId, RowMessage, RowStatus};
use crate::reminder::reminder;

/// The rows that lead to this one, from the beginning, it included. `None` if it is not there, or its parents go round
/// in a circle.
pub(crate) fn path<'a>(conversation: &'a Conversation, leaf: &RowId) -> Option<Vec<&'a Row>> {
    let rows: HashMap<&RowId, &Row> = conversation.rows.iter().map(|row| (&row.id, row)).collect();
    let mut path = Vec::new();
    let mut next = Some(leaf);
    while let Some(id) = next {
        let row = rows.get(id)?;
        if path.len() == rows.len() {
            return None;
        }
        path.push(*row);
        next = row.parent.as_ref();
    }
    path.reverse();
    Some(path)
}

impl Conversation {
    /// The rows of the conversation as it stands, in order: those that lead to its end, and the answers of other models
    /// beside them. Answers that were asked for anew, and what followed them, are left out.
    pub fn shown(&self) -> Vec<&Row> {
        let mut shown = Vec::new();
        for row in leaf(self).and_then(|leaf| path(self, &leaf.id)).unwrap_or_default() {
            if row.author != Author::Assistant {
                shown.push(row);
                continue;
            }
            shown.extend(side_by_side(self, row));
        }
        shown
    }
}

/// The answers beside a row, it among them, in the order in which they are shown. Of each place the latest: an answer may
/// be replaced while others of its turn are still written.
fn side_by_side<'a>(conversation: &'a Conversation, row: &Row) -> Vec<&'a Row> {
    let mut beside: Vec<&Row> = Vec::new();
    for other in conversation.rows.iter().filter(|other| is_beside(row, other)) {
        beside.retain(|known| known.slot != other.slot);
        beside.push(other);
    }
    beside.sort_by_key(|row| row.slot);
    beside
}

fn is_beside(row: &Row, other: &Row) -> bool {
    other.author == Author::Assistant && other.parent == row.parent && other.turn == row.turn
}

/// The row that a conversation goes on from: the latest; of several answers to one message, the first that is complete.
pub(crate) fn leaf(conversation: &Conversation) -> Option<&Row> {
    let last = conversation.rows.last()?;
    if last.author != Author::Assistant {
        return Some(last);
    }
    let beside = side_by_side(conversation, last);
    let complete = |row: &&&Row| row.status.known() == Some(&RowStatus::Complete);
    beside.iter().find(complete).or(beside.first()).copied()
}

/// What a user interface shows of a conversation. A message that is being written is not among it: its stream has all of
/// it. Nor is a cut answer that has nothing to show.
pub(crate) fn messages(conversation: &Conversation) -> Vec<UiMessage> {
    let rows = conversation.shown().into_iter().filter(|row| row.status != Known::Is(RowStatus::Open));
    let messages = rows.filter_map(|row| row.content.ui.known());
    messages.filter(|message| message.role == UiRole::User || !message.parts.is_empty()).cloned().collect()
}

/// What a model gets of these rows.
pub(crate) fn for_model(rows: &[&Row], partials: Partials) -> Vec<Arc<Message>> {
    rows.iter().flat_map(|row| row_for_model(row, partials)).collect()
}

/// What a model gets of one row.
pub(crate) fn row_for_model(row: &Row, partials: Partials) -> Vec<Arc<Message>> {
    let mut messages: Vec<_> = row.content.messages.iter().map(shown_to_model).collect();
    if partials == Partials::Marked
        && let Some(partial) = row.content.partial.as_ref().and_then(marked)
    {
        messages.push(Arc::new(Message::Assistant(partial)));
    }
    messages
}

pub(crate) fn shown_to_model(message: &RowMessage) -> Arc<Message> {
    match message.steer {
        Some(_) => reminder(&message.message),
        None => Arc::clone(&message.message),
    }
}

/// What a model gets of an answer that was cut: by a stop, a failure or a crash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Partials {
    /// Only its complete steps.
    #[default]
    LeftOut,
    /// Its text too, with a mark behind it that says that it was cut.
    Marked,
}

/// The text that was cut, with its mark. Reasoning and half calls are left out: neither can be replayed.
fn marked(partial: &AssistantMessage) -> Option<AssistantMessage> {
    let mut parts: Vec<_> =
        partial.parts.iter().filter(|part| matches!(part, AssistantPart::Text(_))).cloned().collect();
    if parts.is_empty() {
        return None;
    }
    parts.push(AssistantPart::Text(TextPart::new("[The answer was cut off here.]")));
    Some(AssistantMessage { parts, ..AssistantMessage::default() })
}
