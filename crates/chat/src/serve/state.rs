//! What all routes share.

use std::sync::Arc;
use std::time::Duration;

use agent_loop::UiProtocol;
use axum::body::{Body, to_bytes};
use axum::extract::FromRequestParts;
use axum::extract::path::Path;
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, header};
use serde::de::DeserializeOwned;
use stream_manager::StreamManager;
use stream_manager::record::{TopicId, TurnId};
use tokio::sync::broadcast;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::access::{Access, Streams};
use super::error::ApiError;
use super::listen::Client;
use super::metrics::Metrics;
use super::source::Models;
use crate::config::ServeConfig;

/// The server.
#[derive(Debug)]
pub(super) struct App {
    pub(super) manager: StreamManager,
    pub(super) models: Models,
    pub(super) access: Access,
    pub(super) streams: Arc<Streams>,
    pub(super) metrics: Arc<Metrics>,
    pub(super) config: ServeConfig,
    /// Topics that were deleted here.
    pub(super) deleted: broadcast::Sender<TopicId>,
    /// No turn begins any more.
    pub(super) stopping: CancellationToken,
    /// Streams without an end are over.
    pub(super) over: CancellationToken,
}

pub(super) type Shared = Arc<App>;

impl App {
    /// The level of the UI message stream a request asks for.
    pub(super) fn protocol(&self, headers: &HeaderMap) -> Result<UiProtocol, ApiError> {
        let Some(asked) = headers.get("x-ui-protocol") else { return Ok(self.config.ui_protocol) };
        let known = UiProtocol::ALL.into_iter().find(|level| level.as_str().as_bytes() == asked.as_bytes());
        known.ok_or_else(|| ApiError::bad("bad_protocol", "x-ui-protocol is none of 5, 6, 7 and latest."))
    }

    /// The body of a request, as JSON.
    pub(super) async fn read<T: DeserializeOwned>(
        &self,
        headers: &HeaderMap,
        body: Body,
    ) -> Result<T, ApiError> {
        let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let essence = kind.split(';').next().unwrap_or_default().trim();
        if !essence.eq_ignore_ascii_case("application/json") {
            let message = "The body must be application/json.";
            return Err(ApiError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type", message));
        }
        let limits = &self.config.limits;
        let most = usize::try_from(limits.body_bytes.get()).unwrap_or(usize::MAX);
        let bytes = timeout(limits.body_time.0, to_bytes(body, most)).await.map_err(|_| {
            ApiError::new(StatusCode::REQUEST_TIMEOUT, "timeout", "The body did not come in time.")
        })?;
        let bytes = bytes.map_err(|error| too_large(&error))?;
        let mut json = serde_json::Deserializer::from_slice(&bytes);
        let read = serde_path_to_error::deserialize(&mut json).map_err(|error| {
            let (path, inner) = (error.path().to_string(), error.into_inner());
            match inner.classify() {
                serde_json::error::Category::Data => ApiError::field(&path, &inner.to_string()),
                _ => ApiError::bad("bad_json", format!("The body is no JSON: {inner}.")),
            }
        })?;
        json.end().map_err(|error| ApiError::bad("bad_json", format!("The body is no JSON: {error}.")))?;
        Ok(read)
    }

    /// Whether a further turn may begin.
    pub(super) fn admit(&self, models: &[String]) -> Result<(), ApiError> {
        if self.stopping.is_cancelled() {
            return Err(ApiError::shutting_down());
        }
        if let Some(unknown) = models.iter().find(|model| !self.models.has(model)) {
            let name: String = unknown.chars().take(60).collect();
            return Err(ApiError::bad("no_such_model", format!("There is no model {name:?}.")));
        }
        let most = usize::try_from(self.config.limits.turns.get()).unwrap_or(usize::MAX);
        if self.models.running() >= most {
            return Err(ApiError::too_many("too_many_chats", "Too many answers are being written."));
        }
        Ok(())
    }

    /// Whether there is such a chat.
    pub(super) async fn must_exist(&self, topic: &TopicId) -> Result<(), ApiError> {
        match self.manager.history(topic).await? {
            Some(_) => Ok(()),
            None => Err(ApiError::no_such_chat()),
        }
    }
}

/// A body is too long, or broke off.
fn too_large(error: &axum::Error) -> ApiError {
    let mut source = std::error::Error::source(error);
    while let Some(inner) = source {
        if inner.to_string().contains("length limit") {
            return ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", "The body is too long.");
        }
        source = inner.source();
    }
    ApiError::bad("bad_request", "The body broke off.")
}

/// The chat that a path names.
#[derive(Clone, Debug)]
pub(super) struct Chat(pub(super) TopicId);

impl<S: Send + Sync> FromRequestParts<S> for Chat {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let path = Path::<String>::from_request_parts(parts, state).await;
        path.map_err(|_| bad_id()).and_then(|Path(id)| chat_id(&id)).map(Self)
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Client {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let missing =
            || ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", "The client has no address.");
        parts.extensions.get().copied().ok_or_else(missing)
    }
}

/// The most bytes of the id of a chat.
const CHAT_ID: usize = 128;

/// An id that is safe in paths, cookies and logs.
pub(super) fn chat_id(id: &str) -> Result<TopicId, ApiError> {
    let fits = (1..=CHAT_ID).contains(&id.len()) && id != "." && id != "..";
    let known = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.:".contains(&byte);
    if fits && id.bytes().all(known) { Ok(id.into()) } else { Err(bad_id()) }
}

fn bad_id() -> ApiError {
    ApiError::bad("bad_id", "The id of a chat is 1 to 128 of A-Z a-z 0-9 _ - . : and neither . nor ..")
}

/// The turn a body names.
pub(super) fn turn_id(turn: &str) -> Result<TurnId, ApiError> {
    turn.parse().map_err(|_| ApiError::field("turn", "is no id of a turn"))
}

/// How long a stop may take: as long as the store may.
pub(super) const STOP: Duration = Duration::from_secs(30);
