//! The failures of this API by its own names.

use ai_provider::{ErrorClass, Hint, ModelError};
use http::{HeaderMap, StatusCode};
use serde_json::Value;

mod reset;

/// The statuses the API's errors have where they come as responses.
const STATUSES: [(&str, u16); 10] = [
    ("invalid_request_error", 400),
    ("authentication_error", 401),
    ("billing_error", 402),
    ("permission_error", 403),
    ("not_found_error", 404),
    ("request_too_large", 413),
    ("rate_limit_error", 429),
    ("api_error", 500),
    ("timeout_error", 504),
    ("overloaded_error", 529),
];

/// The error an event reports that is named as one, whatever it holds.
pub(crate) fn of_event(data: &str) -> ModelError {
    named(ai_http::error_of_event(data), data)
}

/// The error another frame reports, if it does.
pub(crate) fn of_frame(data: &str) -> Option<ModelError> {
    ai_http::error_of_frame(data).map(|error| named(error, data))
}

/// What a document says that came in place of an answer, if it says anything.
pub(crate) fn of_no_answer(data: &str) -> Option<ModelError> {
    ai_http::error_of_no_answer(data).map(|error| named(error, data))
}

/// The error that a response of this status is.
pub(crate) fn of_response(status: StatusCode, headers: &HeaderMap, body: &[u8]) -> ModelError {
    let error = ai_http::error_of_response(status, body);
    let said = std::str::from_utf8(body).unwrap_or_default();
    let error = with_request_id(refined(error), said);
    match reset::at(headers).filter(|_| error.class() == ErrorClass::RateLimit) {
        Some(at) => error.with_hint(Hint::At(at)),
        None => error,
    }
}

/// An error inside a success, with the status it would have had.
fn named(error: ModelError, data: &str) -> ModelError {
    let status = STATUSES.iter().find(|(name, _)| error.code() == Some(name));
    let error = match status {
        Some((_, status)) => error.with_status(*status),
        None => error,
    };
    with_request_id(refined(error), data)
}

/// What only the words of a message tell apart: this API has one name for all that is wrong with a request.
fn refined(error: ModelError) -> ModelError {
    const STALE: [&str; 3] =
        ["`signature` in `thinking`", "invalid signature in thinking", "`thinking` or `redacted_thinking`"];
    const REFUSED: [&str; 2] = ["content filtering policy", "usage policies"];
    if error.class() != ErrorClass::InvalidRequest {
        return error;
    }
    let message = error.message().to_ascii_lowercase();
    let says = |words: &[&str]| words.iter().any(|words| message.contains(words));
    let class = match () {
        () if says(&STALE) => ErrorClass::StaleReplay,
        () if says(&REFUSED) => ErrorClass::ContentRefused,
        () => return error,
    };
    let mut refined = ModelError::new(class, error.message());
    if let Some(status) = error.status() {
        refined = refined.with_status(status);
    }
    if let Some(code) = error.code() {
        refined = refined.with_code(code);
    }
    if let Some(excerpt) = error.excerpt() {
        refined = refined.with_excerpt(excerpt);
    }
    refined
}

/// The API repeats the id of the request in the body of an error, also where headers are gone.
fn with_request_id(error: ModelError, body: &str) -> ModelError {
    let id = serde_json::from_str::<Value>(body).ok().and_then(|body| {
        let id = body.get("request_id")?.as_str()?.trim();
        (!id.is_empty() && id.len() <= 200).then(|| id.to_owned())
    });
    match id {
        Some(id) => error.with_request_id(id),
        None => error,
    }
}
