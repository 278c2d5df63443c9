//! What goes wrong, as a reply: a status and `{"error": {"code", "message"}}`.

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;
use stream_manager::ManagerError;
use stream_manager::port::{Refusal, StoreError};
use stream_manager::reader::AttachError;

/// A reply that says why a request was not done. The words hold no secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ApiError {
    pub(super) status: StatusCode,
    pub(super) code: &'static str,
    pub(super) message: String,
    /// Seconds until it makes sense to ask again.
    retry_after: Option<u32>,
}

impl ApiError {
    pub(super) fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self { status, code, message: message.into(), retry_after: None }
    }

    pub(super) fn bad(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, code, message)
    }

    /// A field of a body that makes no sense.
    pub(super) fn field(name: &str, what: &str) -> Self {
        Self::bad("bad_request", format!("{name}: {what}"))
    }

    pub(super) fn no_such_chat() -> Self {
        Self::new(StatusCode::NOT_FOUND, "no_such_chat", "There is no such chat.")
    }

    pub(super) fn too_many(code: &'static str, message: &str) -> Self {
        let mut error = Self::new(StatusCode::TOO_MANY_REQUESTS, code, message);
        error.retry_after = Some(1);
        error
    }

    pub(super) fn shutting_down() -> Self {
        Self::unavailable("shutting_down", "The server is shutting down.")
    }

    fn unavailable(code: &'static str, message: &str) -> Self {
        let mut error = Self::new(StatusCode::SERVICE_UNAVAILABLE, code, message);
        error.retry_after = Some(2);
        error
    }
}

impl From<Refusal> for ApiError {
    fn from(why: Refusal) -> Self {
        let conflict = |code, message: &str| Self::new(StatusCode::CONFLICT, code, message);
        let missing = |code, message: &str| Self::new(StatusCode::NOT_FOUND, code, message);
        match why {
            Refusal::TopicBusy => conflict("topic_busy", "A turn is running in this chat."),
            Refusal::StaleTurn => conflict("stale_turn", "This is not the running turn."),
            Refusal::NotLive => conflict("not_live", "No turn is running."),
            Refusal::AlreadyDecided => conflict("already_decided", "The call was decided otherwise before."),
            Refusal::NoSuchRow => {
                missing("no_such_message", "There is no such message, or it is being written.")
            }
            Refusal::NoSuchCall => missing("no_such_call", "No such call waits."),
            Refusal::NoSuchInput => missing("no_such_input", "No such input waits."),
            Refusal::EmptyInput => Self::bad("empty_message", "The message is empty."),
            Refusal::DuplicateModel => Self::bad("duplicate_model", "A model is named twice."),
            Refusal::NoSuchModel => Self::bad("no_such_model", "There is no such model."),
            Refusal::QueueFull => Self::too_many("queue_full", "Too many messages wait in this chat."),
            Refusal::NotAdmitting => Self::shutting_down(),
            _ => Self::unavailable("store_unavailable", "The conversations cannot be written at the moment."),
        }
    }
}

impl From<ManagerError> for ApiError {
    fn from(error: ManagerError) -> Self {
        match error {
            ManagerError::Refused(why) => why.into(),
            ManagerError::Store(error) => error.into(),
            ManagerError::NotStarted(_) => {
                Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", "The answer could not be started.")
            }
            _ => Self::unavailable("store_unavailable", "The chat's owner does not answer."),
        }
    }
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        tracing::warn!(%error, "a store does not do what it was asked");
        Self::unavailable("store_unavailable", "The conversations cannot be read or written at the moment.")
    }
}

impl From<AttachError> for ApiError {
    fn from(error: AttachError) -> Self {
        match error {
            AttachError::Store(error) => error.into(),
            _ => Self::new(StatusCode::NOT_FOUND, "no_such_attempt", "There is nothing to read."),
        }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let body = json!({ "error": { "code": self.code, "message": self.message } });
        let mut response = (self.status, Json(body)).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if let Some(seconds) = self.retry_after {
            headers.insert(header::RETRY_AFTER, seconds.into());
        }
        if self.status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}
