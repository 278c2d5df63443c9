//! Streams: one message, as server-sent events.

use std::sync::Arc;
use std::time::Duration;

use agent_loop::{SSE_DONE, SSE_HEADERS, UiChunk, UiProtocol, encode_sse};
use axum::body::Body;
use axum::extract::{Query, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use serde::Deserialize;
use stream_manager::port::StoreError;
use stream_manager::reader::{Attach, AttachError, Cursor, SseBody, SseSettings};
use stream_manager::record::{ActiveAttempt, AttemptId, RowId, TopicId, TopicStatus, TurnId};
use tokio::time::{Instant, sleep};

use super::access::OpenStream;
use super::error::ApiError;
use super::listen::Client;
use super::state::{App, Chat, Shared};

/// How long a turn that is written down may take to be told of.
const TOLD: Duration = Duration::from_secs(10);

/// How often is looked whether it is.
const LOOK: Duration = Duration::from_millis(5);

/// What to read of a turn.
#[derive(Clone, Debug)]
pub(super) struct Place {
    turn: TurnId,
    row: RowId,
    attempt: AttemptId,
    cursor: Option<Cursor>,
}

impl Place {
    pub(super) fn whole(turn: TurnId, active: &ActiveAttempt) -> Self {
        Self { turn, row: active.row.clone(), attempt: active.attempt, cursor: None }
    }

    /// Only what the attempt itself adds to its message.
    pub(super) fn added(turn: TurnId, active: &ActiveAttempt) -> Self {
        let cursor = Cursor { attempt: active.attempt, seq: 0 };
        Self { cursor: Some(cursor), ..Self::whole(turn, active) }
    }
}

/// `GET /api/chat/{id}/stream`.
pub(super) async fn resume(
    State(app): State<Shared>,
    Chat(topic): Chat,
    client: Client,
    Query(query): Query<Wanted>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let protocol = app.protocol(&headers)?;
    let cursor = headers.get("last-event-id").map(|id| {
        let id = id.to_str().ok().and_then(|id| id.parse::<Cursor>().ok());
        id.ok_or_else(|| ApiError::bad("bad_cursor", "Last-Event-ID is none of this server's ids."))
    });
    let cursor = cursor.transpose()?;
    let wanted = query.attempt.as_deref().map(|id| id.parse::<AttemptId>().map_err(|_| no_such_attempt()));
    let wanted = wanted.transpose()?;
    match place(&app, &topic, cursor, wanted).await? {
        Some(place) => open(&app, &topic, place, protocol, client).await,
        None => {
            app.must_exist(&topic).await?;
            Ok(StatusCode::NO_CONTENT.into_response())
        }
    }
}

/// The query of `GET /api/chat/{id}/stream`.
#[derive(Debug, Deserialize)]
pub(super) struct Wanted {
    attempt: Option<String>,
}

fn no_such_attempt() -> ApiError {
    ApiError::new(StatusCode::NOT_FOUND, "no_such_attempt", "There is no such attempt in this turn.")
}

async fn place(
    app: &App,
    topic: &TopicId,
    cursor: Option<Cursor>,
    wanted: Option<AttemptId>,
) -> Result<Option<Place>, ApiError> {
    let mut status = app.manager.status(topic).await?;
    if status.state.is_live() && status.attempts.is_empty() {
        status =
            settled_in(app, topic, |status| !status.attempts.is_empty() || !status.state.is_live()).await?;
    }
    let Some(turn) = status.turn else { return Ok(None) };
    let of = |attempt| status.attempts.iter().find(|active| wrote(active, attempt));
    Ok(match (cursor, wanted) {
        (Some(cursor), _) => {
            of(cursor.attempt).map(|active| Place { cursor: Some(cursor), ..Place::whole(turn, active) })
        }
        _ if !status.state.is_live() => None,
        (None, Some(attempt)) => Some(Place::whole(turn, of(attempt).ok_or_else(no_such_attempt)?)),
        (None, None) => status.attempts.first().map(|active| Place::whole(turn, active)),
    })
}

fn wrote(active: &ActiveAttempt, attempt: AttemptId) -> bool {
    active.attempt == attempt || active.earlier.contains(&attempt)
}

/// How a topic stands once it stands so.
pub(super) async fn settled_in(
    app: &App,
    topic: &TopicId,
    is_so: impl Fn(&TopicStatus) -> bool,
) -> Result<TopicStatus, ApiError> {
    let until = Instant::now() + TOLD;
    loop {
        let status = app.manager.status(topic).await?;
        if is_so(&status) || Instant::now() > until {
            return Ok(status);
        }
        sleep(LOOK).await;
    }
}

/// The first answer of a turn that has begun: `None` if it is over and gone.
pub(super) async fn first_of(app: &App, topic: &TopicId, turn: TurnId) -> Result<Option<Place>, ApiError> {
    let is_so = |status: &TopicStatus| {
        status.turn > Some(turn) || status.turn == Some(turn) && !status.attempts.is_empty()
    };
    let status = settled_in(app, topic, is_so).await?;
    let first = status.attempts.first().filter(|_| status.turn == Some(turn));
    Ok(first.map(|active| Place::whole(turn, active)))
}

/// The response that reads it.
pub(super) async fn open(
    app: &App,
    topic: &TopicId,
    place: Place,
    protocol: UiProtocol,
    client: Client,
) -> Result<Response, ApiError> {
    let guard = app.streams.open(client.0)?;
    let Some(body) = attach(app, topic, &place, protocol).await? else {
        return Ok(StatusCode::NO_CONTENT.into_response());
    };
    let mut response = events(guarded(body.into_stream(), guard));
    let headers = response.headers_mut();
    let about = [
        ("x-chat-turn", place.turn.to_string()),
        ("x-chat-attempt", place.attempt.to_string()),
        ("x-chat-message", place.row.to_string()),
    ];
    for (name, value) in about {
        if let Ok(value) = HeaderValue::try_from(value) {
            headers.insert(HeaderName::from_static(name), value);
        }
    }
    Ok(response)
}

/// The body that reads it; `None` if it is gone.
pub(super) async fn attach(
    app: &App,
    topic: &TopicId,
    place: &Place,
    protocol: UiProtocol,
) -> Result<Option<SseBody>, ApiError> {
    let mut wants = Attach::new().with_turn(place.turn).with_row(place.row.clone());
    if let Some(cursor) = place.cursor {
        wants = wants.with_cursor(cursor);
    }
    match app.manager.attach(topic, wants).await {
        Ok(reader) => Ok(Some(SseBody::new(reader, SseSettings::new().with_protocol(protocol)))),
        Err(AttachError::NotFound) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

pub(super) type Pieces = BoxStream<'static, Result<Vec<u8>, StoreError>>;

/// Pieces that count as an open stream until they are dropped.
pub(super) fn guarded(pieces: Pieces, guard: OpenStream) -> Pieces {
    let guard = Arc::new(guard);
    pieces
        .map(move |piece| {
            let _open = &guard;
            piece
        })
        .boxed()
}

/// A response of server-sent events.
pub(super) fn events(pieces: Pieces) -> Response {
    let mut response = Body::from_stream(pieces).into_response();
    for (name, value) in SSE_HEADERS {
        // A connection belongs to its server, not to its handlers.
        if name != "connection" {
            response.headers_mut().insert(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
    }
    response
}

/// A stream of these chunks alone.
pub(super) fn only(chunks: &[UiChunk]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for chunk in chunks {
        encode_sse(chunk, &mut bytes);
    }
    bytes.extend_from_slice(SSE_DONE);
    bytes
}

/// A response of these bytes alone.
pub(super) fn events_of(bytes: Vec<u8>) -> Response {
    events(stream::once(async move { Ok(bytes) }).boxed())
}
