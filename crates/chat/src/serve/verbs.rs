//! What can be said to a chat beside messages: steering, stops, decisions, the end.

use ai_core::Decision;
use ai_provider::Id;
use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use stream_manager::port::{Refusal, WhenLive};
use stream_manager::record::TopicId;
use stream_manager::{ManagerError, Send};

use super::calls::open_calls;
use super::error::ApiError;
use super::said::user_message;
use super::state::{App, Chat, STOP, Shared, turn_id};

type Answer = Result<(StatusCode, Json<Value>), ApiError>;

/// The body of `/steer` and `/follow-up`.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Say {
    turn: String,
    message: Value,
    #[serde(default)]
    models: Vec<String>,
}

pub(super) async fn steer(
    State(app): State<Shared>,
    Chat(topic): Chat,
    headers: HeaderMap,
    body: Body,
) -> Answer {
    let body = app.read(&headers, body).await?;
    say(&app, &topic, body, WhenLive::Steer).await
}

pub(super) async fn follow_up(
    State(app): State<Shared>,
    Chat(topic): Chat,
    headers: HeaderMap,
    body: Body,
) -> Answer {
    let body = app.read(&headers, body).await?;
    say(&app, &topic, body, WhenLive::FollowUp).await
}

async fn say(app: &App, topic: &TopicId, body: Say, when_live: WhenLive) -> Answer {
    app.admit(&body.models)?;
    let text_limit = usize::try_from(app.config.limits.message_bytes.get()).unwrap_or(usize::MAX);
    let (id, message) = user_message(&body.message, text_limit)?;
    let send = Send::new(message).with_id(id).with_models(body.models);
    let send = send.when_live(when_live).for_turn(turn_id(&body.turn)?);
    let receipt = match app.manager.send(topic, send).await {
        Err(error) => return Err(refused(app, topic, error).await),
        Ok(receipt) => receipt,
    };
    Ok((
        StatusCode::ACCEPTED,
        Json(json!({
            "inputId": receipt.id,
            "seq": receipt.seq,
            "turn": body.turn,
            "duplicate": receipt.duplicate,
        })),
    ))
}

/// Nothing runs, or waits, also in a chat that is not there: that is said first.
async fn refused(app: &App, topic: &TopicId, error: ManagerError) -> ApiError {
    match error.refusal() {
        Some(Refusal::NotLive | Refusal::NoSuchInput | Refusal::NoSuchCall) => {
            match app.must_exist(topic).await {
                Err(missing) => missing,
                Ok(()) => error.into(),
            }
        }
        _ => error.into(),
    }
}

/// The body of `/withdraw`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Withdraw {
    input_id: String,
}

pub(super) async fn withdraw(
    State(app): State<Shared>,
    Chat(topic): Chat,
    headers: HeaderMap,
    body: Body,
) -> Answer {
    let body: Withdraw = app.read(&headers, body).await?;
    match app.manager.withdraw(&topic, &body.input_id.as_str().into()).await {
        Ok(()) => Ok((StatusCode::OK, Json(json!({ "inputId": body.input_id })))),
        Err(error) => Err(refused(&app, &topic, error).await),
    }
}

/// The body of `/stop`.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Stop {
    turn: String,
    message: Option<String>,
}

pub(super) async fn stop(
    State(app): State<Shared>,
    Chat(topic): Chat,
    headers: HeaderMap,
    body: Body,
) -> Answer {
    let body: Stop = app.read(&headers, body).await?;
    let turn = turn_id(&body.turn)?;
    let stopped = match body.message {
        None => app.manager.stop(&topic, turn, STOP).await,
        Some(message) => {
            let status = app.manager.status(&topic).await?;
            if status.state.is_live() && status.turn != Some(turn) {
                return Err(Refusal::StaleTurn.into());
            }
            app.manager.stop_row(&topic, &message.into()).await.map(|()| Vec::new())
        }
    };
    match stopped {
        Ok(returned) => {
            let returned: Vec<_> = returned.iter().map(|input| &input.id).collect();
            Ok((StatusCode::OK, Json(json!({ "returned": returned }))))
        }
        Err(error) => Err(refused(&app, &topic, error).await),
    }
}

/// The body of `/approve`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Approve {
    turn: String,
    message: String,
    tool_call_id: String,
    approved: bool,
    reason: Option<String>,
}

pub(super) async fn approve(
    State(app): State<Shared>,
    Chat(topic): Chat,
    headers: HeaderMap,
    body: Body,
) -> Answer {
    let body: Approve = app.read(&headers, body).await?;
    app.admit(&[])?;
    let conversation = app.manager.history(&topic).await?.ok_or_else(ApiError::no_such_chat)?;
    let row = conversation.rows.iter().find(|row| row.id.as_str() == body.message);
    let row = row.ok_or(Refusal::NoSuchRow)?;
    if row.turn != turn_id(&body.turn)? {
        return Err(Refusal::StaleTurn.into());
    }
    let call = Id::from(body.tool_call_id.as_str());
    let decision = Decision { approved: body.approved, reason: body.reason };
    app.manager.approve(&topic, &row.id, &call, decision).await?;
    let waiting = open_calls(&conversation, row).iter().filter(|open| open.id != call).count();
    Ok((StatusCode::ACCEPTED, Json(json!({ "turn": body.turn, "waiting": waiting }))))
}

pub(super) async fn delete(State(app): State<Shared>, Chat(topic): Chat) -> Result<StatusCode, ApiError> {
    app.must_exist(&topic).await?;
    app.manager.delete(&topic).await?;
    // Nobody may be listening.
    let _ = app.deleted.send(topic);
    Ok(StatusCode::NO_CONTENT)
}
