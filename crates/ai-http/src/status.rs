//! What a status means, for codecs whose API says no more.

use ai_provider::{ErrorClass, ModelError};
use http::StatusCode;
use serde_json::Value;

use crate::excerpt::excerpt;

#[cfg(test)]
mod tests;

/// The class of an error response by its status alone.
pub fn class_of_status(status: StatusCode) -> ErrorClass {
    match status.as_u16() {
        401 | 403 => ErrorClass::Auth,
        402 => ErrorClass::Quota,
        404 => ErrorClass::NotFound,
        408 => ErrorClass::Timeout,
        413 => ErrorClass::ContextTooLong,
        429 => ErrorClass::RateLimit,
        503 | 529 => ErrorClass::Overloaded,
        // A conflict is a matter of the server's state, and goes away.
        409 | 500.. => ErrorClass::Server,
        _ => ErrorClass::InvalidRequest,
    }
}

/// Whether the same target may be tried again after this status: 408, 409, 429 and all from 500.
pub fn is_retryable_status(status: StatusCode) -> bool {
    matches!(status.as_u16(), 408 | 409 | 429 | 500..)
}

/// Reads an error response of any API: class and verdict by the status, refined by what the body says; the
/// message and code out of the JSON shapes that are in use, else the body's text. The labels on the body do
/// not matter.
///
/// A codec that knows its API's own error types maps those first.
///
/// ```
/// use ai_provider::ErrorClass;
/// use http::StatusCode;
/// let error = ai_http::error_of_response(StatusCode::BAD_GATEWAY, b"<h1>Bad Gateway</h1>");
/// assert_eq!((error.class(), error.message()), (ErrorClass::Server, "Bad Gateway"));
/// assert!(error.retryable());
/// ```
pub fn error_of_response(status: StatusCode, body: &[u8]) -> ModelError {
    let said = json_in(body).as_ref().map(Said::read).unwrap_or_default();
    let class = refine(class_of_status(status), &said);
    let excerpt = excerpt(body);
    let message = match &said.message {
        Some(message) => crate::excerpt(message.as_bytes()),
        None if excerpt.is_empty() => {
            status.canonical_reason().unwrap_or("the server gave no reason").to_owned()
        }
        None => excerpt.clone(),
    };
    let mut error = ModelError::new(class, message)
        .with_status(status.as_u16())
        .with_retryable(is_retryable_status(status) && class != ErrorClass::Quota);
    if let Some(code) = said.code {
        error = error.with_code(code);
    }
    if !excerpt.is_empty() && excerpt != error.message() {
        error = error.with_excerpt(excerpt);
    }
    error
}

/// The body as JSON, or that of its first event: some servers answer a request for a stream with one even then.
fn json_in(body: &[u8]) -> Option<Value> {
    let event = |line: &[u8]| serde_json::from_slice(line.strip_prefix(b"data:")?.trim_ascii()).ok();
    let whole = serde_json::from_slice(body.trim_ascii()).ok();
    whole.or_else(|| body.split(|byte| matches!(byte, b'\n' | b'\r')).find_map(event))
}

/// What an error body says.
#[derive(Debug, Default, PartialEq, Eq)]
struct Said {
    message: Option<String>,
    code: Option<String>,
    kind: Option<String>,
}

impl Said {
    fn read(body: &Value) -> Self {
        // Some APIs wrap the error in a list.
        let body = body.get(0).unwrap_or(body);
        let error = match body.get("error") {
            Some(error @ Value::Object(_)) => error,
            _ => body,
        };
        let text = |value: &Value| match value {
            Value::String(text) if !text.trim().is_empty() => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        };
        let first = |names: &[&str]| names.iter().find_map(|name| text(error.get(name)?));
        Self {
            message: first(&["message", "msg", "detail", "error_description", "error", "title"]),
            code: first(&["code", "type", "status", "error_code"]),
            kind: first(&["type", "status"]),
        }
    }

    fn mentions(&self, words: &[&str]) -> bool {
        let texts = [&self.message, &self.code, &self.kind];
        texts.into_iter().flatten().any(|text| {
            let text = text.to_ascii_lowercase();
            words.iter().any(|word| text.contains(word))
        })
    }
}

/// The statuses 400, 403, 413, 422 and 429 each stand for several things, which only the body tells apart.
fn refine(class: ErrorClass, said: &Said) -> ErrorClass {
    match class {
        ErrorClass::RateLimit | ErrorClass::Auth
            if said.mentions(&[
                "insufficient_quota",
                "insufficient balance",
                "billing",
                "credit balance",
            ]) =>
        {
            ErrorClass::Quota
        }
        ErrorClass::InvalidRequest
            if said.mentions(&[
                "context_length",
                "context length",
                "context window",
                "prompt is too long",
                "input is too long",
                "too many tokens",
            ]) =>
        {
            ErrorClass::ContextTooLong
        }
        ErrorClass::InvalidRequest
            if said.mentions(&["content_filter", "content_policy", "content management"]) =>
        {
            ErrorClass::ContentRefused
        }
        class => class,
    }
}
