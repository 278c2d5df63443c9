//! `POST /api/chat`: what a client says, and the stream that answers it.

use std::time::Duration;

use agent_loop::{UiChunk, UiProtocol};
use axum::body::Body as Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use futures_util::StreamExt;
use futures_util::stream;
use stream_manager::port::{Refusal, WhenLive};
use stream_manager::record::{Fate, InputId, RowId, TopicId, TopicStatus, TurnId};
use stream_manager::{Send, TopicEvent};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::timeout;

use super::calls::{Call, Wanted, has_call, open_calls, says};
use super::error::ApiError;
use super::listen::Client;
use super::said::{Answer, Answered, Body, Said};
use super::state::{App, Shared, chat_id};
use super::stream::{Place, attach, events, events_of, first_of, guarded, only, open, settled_in};

/// How often is looked what became of an input whose news may have been missed, or come from another node.
const LOOK: Duration = Duration::from_millis(500);

/// After how many looks without anything a comment is sent: 15 s.
const SILENT: u32 = 30;

pub(super) async fn post(
    State(app): State<Shared>,
    client: Client,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, ApiError> {
    let protocol = app.protocol(&headers)?;
    let body: Body = app.read(&headers, body).await?;
    let id = body.id.as_ref().and_then(|id| id.as_str());
    let topic = chat_id(id.ok_or_else(|| ApiError::field("id", "must be the id of a chat"))?)?;
    let text_limit = usize::try_from(app.config.limits.message_bytes.get()).unwrap_or(usize::MAX);
    let request = Request { app, topic, protocol, client };
    match body.said(text_limit)? {
        Said::Message { id, message, models, when_live } => {
            let send =
                Send::new(message).with_id(id.as_str()).with_models(models.clone()).when_live(when_live);
            request.message(id.into(), send, &models, when_live).await
        }
        Said::Regenerate { message, models } => request.regenerate(message, models).await,
        Said::Answers { message, answers } => request.answers(message.into(), answers).await,
    }
}

struct Request {
    app: Shared,
    topic: TopicId,
    protocol: UiProtocol,
    client: Client,
}

impl Request {
    async fn message(
        self,
        id: InputId,
        send: Send,
        models: &[String],
        when_live: WhenLive,
    ) -> Result<Response, ApiError> {
        self.app.admit(models)?;
        let guard = self.app.streams.open(self.client.0)?;
        let events_of_topics = self.app.manager.events();
        let receipt = self.app.manager.send(&self.topic, send).await?;
        if let (Some(turn), false, true) = (receipt.turn, receipt.duplicate, when_live != WhenLive::Steer) {
            drop(guard);
            return self.turn(turn).await;
        }
        match self.fate(&id).await? {
            Some(Fate::Consumed { turn, .. }) => {
                drop(guard);
                let is_over = self.app.manager.status(&self.topic).await?.turn > Some(turn);
                if is_over { Ok(nothing()) } else { self.turn(turn).await }
            }
            Some(Fate::Queued) => {
                let waiting = Waiting { request: self, id, heard: events_of_topics };
                Ok(events(guarded(waiting.into_stream(), guard)))
            }
            _ => Ok(nothing()),
        }
    }

    async fn fate(&self, id: &InputId) -> Result<Option<Fate>, ApiError> {
        let stored = self.app.manager.input(&self.topic, id).await?;
        Ok(stored.and_then(|stored| stored.fate.known().cloned()))
    }

    /// The first answer of a turn.
    async fn turn(&self, turn: TurnId) -> Result<Response, ApiError> {
        match first_of(&self.app, &self.topic, turn).await? {
            Some(place) => self.open(place).await,
            None => Ok(nothing()),
        }
    }

    async fn open(&self, place: Place) -> Result<Response, ApiError> {
        open(&self.app, &self.topic, place, self.protocol, self.client).await
    }

    async fn regenerate(&self, message: Option<String>, models: Vec<String>) -> Result<Response, ApiError> {
        self.app.admit(&models)?;
        let conversation = self.app.manager.history(&self.topic).await?.ok_or_else(ApiError::no_such_chat)?;
        let last = || conversation.shown().last().map(|row| row.id.clone());
        let row = message.map(RowId::from).or_else(last).ok_or_else(no_such_message)?;
        let before = self.app.manager.status(&self.topic).await?;
        let receipt = self.app.manager.regenerate(&self.topic, &row, models).await?;
        let Some(turn) = receipt.turn else { return Ok(nothing()) };
        // In a turn that runs already, the new answer is the one that was not there.
        let is_new = |active: &&stream_manager::record::ActiveAttempt| {
            before.turn != Some(turn) || before.attempts.iter().all(|known| known.row != active.row)
        };
        let is_so = |status: &TopicStatus| {
            status.turn > Some(turn)
                || status.turn == Some(turn) && status.attempts.iter().any(|active| is_new(&active))
        };
        let status = settled_in(&self.app, &self.topic, is_so).await?;
        match status.attempts.iter().find(is_new).filter(|_| status.turn == Some(turn)) {
            Some(active) => self.open(Place::whole(turn, active)).await,
            None => Ok(nothing()),
        }
    }

    /// Takes answers to calls that wait in a message; what else the client says of it is not looked at.
    async fn answers(&self, row: RowId, answers: Vec<Answer>) -> Result<Response, ApiError> {
        self.app.admit(&[])?;
        let conversation = self.app.manager.history(&self.topic).await?.ok_or_else(ApiError::no_such_chat)?;
        let stored = conversation.rows.iter().find(|stored| stored.id == row).ok_or_else(no_such_message)?;
        if !answers.iter().any(|answer| has_call(stored, &answer.call)) {
            return Err(Refusal::NoSuchCall.into());
        }
        let (calls, mut turn) = (open_calls(&conversation, stored), None);
        let mut taken = 0;
        for answer in answers {
            let Some(call) = calls.iter().find(|call| call.id.as_str() == answer.call) else { continue };
            if let Some(receipt) = self.answer(&row, call, answer.what).await? {
                turn = receipt.turn.or(turn);
                taken += 1;
            }
        }
        match turn {
            None => self.again(&row).await,
            Some(_) if taken < calls.len() => {
                let (start, finish) =
                    (says(&row), UiChunk::Finish { finish_reason: None, message_metadata: None });
                Ok(events_of(only(&[start, finish])))
            }
            Some(turn) => {
                let goes_on = |status: &TopicStatus| {
                    status.turn > Some(turn)
                        || status
                            .attempts
                            .iter()
                            .any(|active| active.row == row && Some(active.attempt) != stored.attempt)
                };
                let status = settled_in(&self.app, &self.topic, goes_on).await?;
                let active = status.attempts.iter().find(|active| active.row == row);
                match active.filter(|active| Some(active.attempt) != stored.attempt) {
                    Some(active) => self.open(Place::added(status.turn.unwrap_or(turn), active)).await,
                    None => Ok(nothing()),
                }
            }
        }
    }

    async fn answer(
        &self,
        row: &RowId,
        call: &Call,
        what: Answered,
    ) -> Result<Option<stream_manager::Receipt>, ApiError> {
        let manager = &self.app.manager;
        let receipt = match (call.wanted, what) {
            (Wanted::Decision, Answered::Decided { approved, reason }) => {
                let decision = ai_core::Decision { approved, reason };
                manager.approve(&self.topic, row, &call.id, decision).await?
            }
            (Wanted::Result, Answered::Result(output)) => {
                manager.tool_result(&self.topic, row, &call.id, output).await?
            }
            _ => return Ok(None),
        };
        Ok(Some(receipt))
    }

    /// The answers were taken before, or there were none: what goes on, if it does.
    async fn again(&self, row: &RowId) -> Result<Response, ApiError> {
        let status = self.app.manager.status(&self.topic).await?;
        let active = status.attempts.iter().find(|active| active.row == *row && status.state.is_live());
        match (status.turn, active) {
            (Some(turn), Some(active)) => self.open(Place::added(turn, active)).await,
            _ => Ok(nothing()),
        }
    }
}

fn no_such_message() -> ApiError {
    ApiError::new(StatusCode::NOT_FOUND, "no_such_message", "There is no such message.")
}

fn nothing() -> Response {
    StatusCode::NO_CONTENT.into_response()
}

/// A message that waits for a turn of its own.
struct Waiting {
    request: Request,
    id: InputId,
    heard: Receiver<TopicEvent>,
}

impl Waiting {
    /// Comments until the turn begins, then what it says.
    fn into_stream(self) -> super::stream::Pieces {
        enum State {
            Waits(Box<Waiting>),
            Reads(Box<stream_manager::reader::SseBody>),
            Over,
        }
        let state = State::Waits(Box::new(self));
        stream::unfold(state, |state| async move {
            match state {
                State::Waits(mut waiting) => match waiting.turn().await {
                    Ok(Waited::Still) => Some((Ok(b": keep-alive\n\n".to_vec()), State::Waits(waiting))),
                    Ok(Waited::For(mut body)) => {
                        let piece = body.next().await?;
                        Some((piece, State::Reads(body)))
                    }
                    Ok(Waited::InVain) => {
                        let error_text = "The message was not answered.".to_owned();
                        Some((Ok(only(&[UiChunk::Error { error_text }])), State::Over))
                    }
                    Err(error) => {
                        Some((Ok(only(&[UiChunk::Error { error_text: error.message }])), State::Over))
                    }
                },
                State::Reads(mut body) => {
                    let piece = body.next().await?;
                    Some((piece, State::Reads(body)))
                }
                State::Over => None,
            }
        })
        .boxed()
    }

    async fn turn(&mut self) -> Result<Waited, ApiError> {
        let app: &App = &self.request.app;
        for _ in 0..SILENT {
            match self.request.fate(&self.id).await? {
                Some(Fate::Queued) => {}
                Some(Fate::Consumed { turn, .. }) => {
                    let Some(place) = first_of(app, &self.request.topic, turn).await? else {
                        return Ok(Waited::InVain);
                    };
                    let body = attach(app, &self.request.topic, &place, self.request.protocol).await?;
                    return Ok(body.map_or(Waited::InVain, |body| Waited::For(Box::new(body))));
                }
                _ => return Ok(Waited::InVain),
            }
            // What the event says is looked up.
            let _ = timeout(LOOK, heard_of(&mut self.heard, &self.id)).await;
        }
        Ok(Waited::Still)
    }
}

enum Waited {
    Still,
    For(Box<stream_manager::reader::SseBody>),
    InVain,
}

async fn heard_of(heard: &mut Receiver<TopicEvent>, id: &InputId) {
    loop {
        match heard.recv().await {
            Ok(TopicEvent::Input { input, .. }) if input == *id => return,
            Ok(_) => {}
            Err(RecvError::Lagged(_)) => return,
            Err(RecvError::Closed) => std::future::pending().await,
        }
    }
}
