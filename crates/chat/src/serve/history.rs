//! What is stored: one chat, and the list of them.

use agent_loop::UiMessage;
use ai_provider::{Message, UserPart};
use axum::Json;
use axum::extract::{Query, State};
use serde::Deserialize;
use serde_json::{Value, json};
use stream_manager::port::{Conversation, Page, TopicSummary};
use stream_manager::record::{Fate, InputBody, Known, Row, RowStatus, StoredInput, TopicState, TopicStatus};

use super::error::ApiError;
use super::state::{Chat, Shared};
use crate::failure::sentence;

/// The most inputs that were returned and are still told of.
const RETURNED: usize = 50;

/// `GET /api/chat/{id}`.
pub(super) async fn one(State(app): State<Shared>, Chat(topic): Chat) -> Result<Json<Value>, ApiError> {
    let conversation = app.manager.history(&topic).await?.ok_or_else(ApiError::no_such_chat)?;
    let status = standing(app.manager.status(&topic).await?, &conversation);
    let shown = conversation.shown();
    let messages: Vec<&UiMessage> = shown
        .iter()
        .filter(|row| row.status.known() != Some(&RowStatus::Open))
        .filter_map(|row| row.content.ui.known())
        .collect();
    let times = conversation.rows.iter().map(|row| row.updated_at);
    let accepted = conversation.inputs.iter().map(|stored| stored.accepted_at);
    Ok(Json(json!({
        "id": topic,
        "title": conversation.inputs.iter().find_map(|stored| stored.input.title()).unwrap_or_default(),
        "createdAt": accepted.clone().chain(conversation.rows.iter().map(|row| row.created_at)).min(),
        "updatedAt": times.chain(accepted).max(),
        "status": status_json(&status),
        "messages": messages,
        "rows": shown.iter().map(|row| row_json(row)).collect::<Vec<_>>(),
        "inputs": inputs(&conversation.inputs),
    })))
}

/// How a topic stands; by its rows, where nothing was heard of it since the program began.
fn standing(status: TopicStatus, conversation: &Conversation) -> TopicStatus {
    let Some(last) = conversation.shown().last().copied().filter(|_| status.epoch == 0) else {
        return status;
    };
    let mut status = status;
    status.turn = Some(last.turn);
    let rows = conversation.rows.iter().filter(|row| row.turn == last.turn);
    let waits = rows.filter(|row| row.status.known() == Some(&RowStatus::AwaitingApproval));
    status.awaiting = waits.map(|row| row.id.clone()).collect();
    status.state = match last.status.known() {
        _ if !status.awaiting.is_empty() => TopicState::AwaitingApproval,
        Some(RowStatus::Complete) => TopicState::Done,
        Some(RowStatus::Stopped) => TopicState::Stopped,
        Some(RowStatus::Failed | RowStatus::Interrupted) => TopicState::Failed,
        _ => TopicState::Idle,
    };
    status
}

/// A status, with its lists also where they are empty.
pub(super) fn status_json(status: &TopicStatus) -> Value {
    let mut json = json!(status);
    if let Value::Object(fields) = &mut json {
        for list in ["attempts", "awaiting"] {
            fields.entry(list).or_insert_with(|| json!([]));
        }
    }
    json
}

fn row_json(row: &Row) -> Value {
    let mut json = json!({
        "id": row.id,
        "author": row.author,
        "status": row.status,
        "turn": row.turn,
        "slot": row.slot,
        "createdAt": row.created_at,
        "updatedAt": row.updated_at,
    });
    let optional = [
        ("parent", row.parent.as_ref().map(|id| json!(id))),
        ("attempt", row.attempt.map(|id| json!(id))),
        ("model", row.model.as_ref().map(|name| json!(name))),
        ("error", error_json(row)),
    ];
    if let Value::Object(fields) = &mut json {
        fields.extend(optional.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))));
    }
    json
}

/// What failed, in our own words: those of a server may hold what is not for everyone.
fn error_json(row: &Row) -> Option<Value> {
    let error = row.content.error.as_ref()?;
    Some(json!({ "class": error.class, "message": sentence(error.class) }))
}

fn inputs(stored: &[StoredInput]) -> Vec<Value> {
    let told = |stored: &&StoredInput| matches!(stored.fate, Known::Is(Fate::Queued | Fate::Returned { .. }));
    let mut returned = 0;
    let mut inputs: Vec<_> = stored
        .iter()
        .rev()
        .filter(told)
        .filter_map(input_json)
        .filter(|(_, is_queued)| {
            returned += usize::from(!is_queued);
            *is_queued || returned <= RETURNED
        })
        .map(|(input, _)| input)
        .collect();
    inputs.reverse();
    inputs
}

/// A message that waits or was returned; answers to calls are no messages.
fn input_json(stored: &StoredInput) -> Option<(Value, bool)> {
    let InputBody::Message { message, queue, .. } = stored.input.body.known()? else { return None };
    let input = json!({
        "id": stored.input.id,
        "seq": stored.seq,
        "queue": queue,
        "text": text(message),
        "fate": stored.fate,
        "acceptedAt": stored.accepted_at,
    });
    Some((input, stored.is_queued()))
}

fn text(message: &Message) -> String {
    let Message::User(message) = message else { return String::new() };
    let texts = message.parts.iter().filter_map(|part| match part {
        UserPart::Text(text) => Some(text.text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// The query of `GET /api/chats`.
#[derive(Debug, Deserialize)]
pub(super) struct Listed {
    limit: Option<String>,
    after: Option<String>,
}

/// `GET /api/chats`.
pub(super) async fn list(
    State(app): State<Shared>,
    Query(listed): Query<Listed>,
) -> Result<Json<Value>, ApiError> {
    let limit = listed.limit.as_deref().map_or(Some(50), |limit| limit.parse().ok());
    let limit = limit.filter(|limit| (1..=200).contains(limit));
    let limit = limit.ok_or_else(|| ApiError::field("limit", "must be 1 to 200"))?;
    let after = listed.after.as_deref().map(|after| {
        let read = after.split_once('~').and_then(|(at, topic)| Some((at.parse().ok()?, topic.into())));
        read.ok_or_else(|| ApiError::bad("bad_cursor", "after is no `next` of this server."))
    });
    let page = Page { limit, after: after.transpose()? };
    let summaries = app.manager.list(&page).await?;
    let next = summaries.last().filter(|_| summaries.len() == limit);
    let next = next.map(|last| format!("{}~{}", last.updated_at, last.topic));
    let mut chats = Vec::new();
    for summary in &summaries {
        let status = app.manager.status(&summary.topic).await?;
        chats.push(summary_json(summary, status.state));
    }
    Ok(Json(json!({ "chats": chats, "next": next })))
}

fn summary_json(summary: &TopicSummary, state: TopicState) -> Value {
    json!({
        "id": summary.topic,
        "title": summary.title,
        "createdAt": summary.created_at,
        "updatedAt": summary.updated_at,
        "messages": summary.rows,
        "state": state,
    })
}
