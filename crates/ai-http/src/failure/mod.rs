//! What servers say when they fail: under an error status, in a body of a success, in the middle of a stream.

use ai_provider::{ErrorClass, ModelError};
use http::StatusCode;
use serde_json::Value;

use crate::excerpt::excerpt;
use crate::halves;
use crate::status::{class_of_status, is_retryable_status};
use named::Named;

mod named;
#[cfg(test)]
mod tests;

/// The error a frame of a success reports, if it does.
pub fn error_of_frame(data: &str) -> Option<ModelError> {
    let body = value(data)?;
    Some(Said::read(&body, false)?.into_error(None, ErrorClass::Server, data.as_bytes()))
}

/// What a document says that came in place of an answer and is no error of a known form, if it says anything:
/// typed by its code or its status, else a `Protocol` error.
pub fn error_of_no_answer(data: &str) -> Option<ModelError> {
    let body = value(data)?;
    let said = Said::read(&body, true).filter(|said| said.message.is_some() || said.status.is_some())?;
    Some(said.into_error(None, ErrorClass::Protocol, data.as_bytes()))
}

/// An event that is named as an error, whatever it holds.
pub fn error_of_event(data: &str) -> ModelError {
    of_body(None, data.as_bytes())
}

/// The error that a response of this status is, of any API: its class by what the body names, then by the status,
/// then by words of the message; message and code out of the JSON shapes in use, else the body's text. The labels on
/// the body do not matter.
///
/// ```
/// use ai_provider::ErrorClass;
/// use http::StatusCode;
/// let error = ai_http::error_of_response(StatusCode::BAD_GATEWAY, b"<h1>Bad Gateway</h1>");
/// assert_eq!((error.class(), error.message()), (ErrorClass::Server, "Bad Gateway"));
/// assert!(error.retryable());
/// ```
pub fn error_of_response(status: StatusCode, body: &[u8]) -> ModelError {
    of_body(Some(status), body)
}

fn of_body(status: Option<StatusCode>, body: &[u8]) -> ModelError {
    let text = str::from_utf8(body).unwrap_or_default();
    let event = |line: &str| value(line.strip_prefix("data:")?.trim_ascii());
    // Some servers answer a request for a stream with an event even then.
    let json = value(text.trim_ascii()).or_else(|| text.split(['\n', '\r']).find_map(event));
    let said = json.as_ref().and_then(|json| Said::read(json, true)).unwrap_or_default();
    said.into_error(status, ErrorClass::Server, body)
}

/// The JSON of a body; half a character in it is no reason not to read the rest.
fn value(json: &str) -> Option<Value> {
    let read = |json: &str| serde_json::from_str(json).ok();
    read(json).or_else(|| read(&halves::replaced(json)?))
}

/// Where a message stands, beside `message` and `detail`.
const MESSAGES: &[&str] = &[
    "msg",
    "error_description",
    "error",
    "error_message",
    "error_msg",
    "errorMessage",
    "errmsg",
    "errors",
    "Message",
    "title",
    "reason",
    "description",
];

/// Where a status stands as a number.
const STATUSES: &[&str] =
    &["code", "status", "status_code", "statusCode", "http_status", "httpStatus", "error_code", "errorCode"];

/// What a body says about a failure, wherever it says it.
#[derive(Debug, Default)]
struct Said {
    message: Option<String>,
    code: Option<String>,
    kind: Option<String>,
    /// A code that is a number, and no status.
    number: Option<String>,
    /// A status inside the body.
    status: Option<StatusCode>,
    /// What an upstream server said to a gateway.
    beneath: Option<String>,
    /// Code and message beside each other, both in words.
    in_words: bool,
}

impl Said {
    /// Reads the shapes in use: `{error: {…}}`, `{error: "…"}`, `{message, type, code}`, `{detail}`, each also
    /// as the only item of a list. Without a key named `error`, and unless it is `known` to be an error, only a
    /// body without choices is one.
    fn read(body: &Value, known: bool) -> Option<Self> {
        let body = body.get(0).unwrap_or(body);
        if body.is_string() {
            return known.then(|| Self { message: text(body), ..Self::default() });
        }
        let nested = [body.get("error"), body.pointer("/x_groq/error"), body.pointer("/errors/0")];
        let in_choices = body.get("choices").and_then(Value::as_array).into_iter().flatten();
        let error = nested.into_iter().flatten().chain(in_choices.filter_map(|choice| choice.get("error")));
        if let Some(error) = error.into_iter().find(|error| says_something(error)) {
            let mut said = match error {
                Value::Object(_) => Self::object(error),
                other => Self { message: sentence(other), ..Self::default() },
            };
            said.in_words = error.is_string() && body.get("code").is_some_and(Value::is_string);
            said.code = said.code.or_else(|| body.get("code").and_then(text));
            said.kind = said.kind.or_else(|| body.get("type").and_then(text));
            return Some(said);
        }
        if body.get("choices").and_then(Value::as_array).is_some_and(|choices| !choices.is_empty()) {
            return known.then(Self::default);
        }
        let said = Self::object(body);
        let plainly =
            ["object", "type", "status"].iter().any(|name| body.get(name).is_some_and(|is| is == "error"));
        let named = body.get("object").is_some_and(|object| object == "error")
            || said.kind.as_ref().is_some_and(|kind| kind.to_ascii_lowercase().contains("error"));
        let flat = said.message.is_some()
            && (named || said.code.is_some() || said.status.is_some() || body.get("detail").is_some());
        (known || plainly || flat).then_some(said)
    }

    fn object(error: &Value) -> Self {
        let field = |names: &[&str]| names.iter().find_map(|name| error.get(name).and_then(text));
        let status = |name: &&str| {
            let number = error.get(name).and_then(text)?.parse::<u16>().ok()?;
            StatusCode::from_u16(number).ok().filter(|status| (400..600).contains(&status.as_u16()))
        };
        let words = |text: &String| text.parse::<f64>().is_err();
        let no_status = |text: &String| text.parse::<u16>().is_ok_and(|code| !(400..600).contains(&code));
        Self {
            message: error
                .get("message")
                .and_then(sentence)
                .or_else(|| error.get("detail").and_then(sentence))
                .or_else(|| MESSAGES.iter().find_map(|name| error.get(name).and_then(sentence))),
            code: field(&["code"]).filter(words).or_else(|| field(&["error_code", "errorCode"])),
            number: field(&["code"]).filter(no_status),
            kind: field(&["type"]).or_else(|| field(&["status"]).filter(words)),
            status: STATUSES.iter().find_map(status),
            beneath: error.pointer("/metadata/raw").and_then(text),
            in_words: false,
        }
    }

    /// The error, `unsaid` if nothing says its class.
    fn into_error(self, answered: Option<StatusCode>, unsaid: ErrorClass, body: &[u8]) -> ModelError {
        let status = answered.or(self.status);
        let class = self.class(status, unsaid);
        let line = excerpt(body);
        let message = match (&self.message, &self.beneath) {
            (Some(message), Some(beneath)) => excerpt(format!("{message}: {beneath}").as_bytes()),
            (Some(message), None) => excerpt(message.as_bytes()),
            _ if line.is_empty() => match status.and_then(|status| status.canonical_reason()) {
                Some(reason) => reason.to_owned(),
                None => "the server gave no reason".to_owned(),
            },
            _ => line.clone(),
        };
        let mut error = match class {
            ErrorClass::Protocol => {
                let message = format!("the answer is JSON, but not of this API: {message}");
                ModelError::new(class, excerpt(message.as_bytes()))
            }
            _ => ModelError::new(class, message)
                .with_status(status.map_or_else(|| status_of(class), |status| status.as_u16())),
        };
        if let Some(status) = answered {
            let hopeless = matches!(class, ErrorClass::Quota | ErrorClass::ContextTooLong);
            error = error.with_retryable(is_retryable_status(status) && !hopeless);
        } else if self.in_words && class == ErrorClass::Server {
            // Such servers name what may be tried again, and this is not it.
            error = error.with_retryable(false);
        }
        if let Some(code) = self.code.or(self.number).or(self.kind) {
            error = error.with_code(excerpt(code.as_bytes()));
        }
        if !line.is_empty() && line != error.message() {
            error = error.with_excerpt(line);
        }
        error
    }

    /// What the error is named decides before its status, and that before the words of its message.
    fn class(&self, status: Option<StatusCode>, unsaid: ErrorClass) -> ErrorClass {
        if status == Some(StatusCode::PAYLOAD_TOO_LARGE) {
            // Also where it is named a rate limit: the same request never fits.
            return ErrorClass::ContextTooLong;
        }
        let named = [&self.code, &self.kind].into_iter().flatten().filter_map(|name| named::class(name));
        let (mut exact, mut general) = (None, None);
        for name in named {
            match name {
                Named::Exact(class) => exact = exact.or(Some(class)),
                Named::General(class) => general = general.or(Some(class)),
            }
        }
        let texts = || [&self.message, &self.beneath].into_iter().flatten();
        if let Some(class) = exact {
            let says_more = |text: &String| named::class_of_words_within(text, class);
            return texts().find_map(says_more).unwrap_or(class);
        }
        let by_status = status.map(class_of_status);
        let class = match (by_status, general) {
            (Some(ErrorClass::InvalidRequest | ErrorClass::Server) | None, Some(class)) => class,
            (Some(class), _) => class,
            (None, None) => unsaid,
        };
        let words = |text: &String| {
            named::class_of_words_within(text, class).or_else(|| named::class_of_words(text, class))
        };
        texts().find_map(words).unwrap_or(class)
    }
}

/// Null, false, blank and empty are how servers say that there is no error.
fn says_something(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => false,
        Value::String(text) => !text.trim().is_empty(),
        Value::Object(fields) => !fields.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Bool(true) | Value::Number(_) => true,
    }
}

fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if !text.trim().is_empty() => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// A message, also where it is a list of what a validator found.
fn sentence(value: &Value) -> Option<String> {
    match value {
        Value::Array(items) => {
            let found: Vec<_> = items.iter().filter_map(sentence).collect();
            (!found.is_empty()).then(|| found.join("; "))
        }
        Value::Object(_) => {
            let words = ["message", "msg", "detail"].iter().find_map(|name| sentence(value.get(name)?))?;
            let place: Vec<_> =
                value.get("loc").and_then(Value::as_array).into_iter().flatten().filter_map(text).collect();
            Some(if place.is_empty() { words } else { format!("{}: {words}", place.join(".")) })
        }
        other => text(other),
    }
}

/// The status an error inside a success stands for.
fn status_of(class: ErrorClass) -> u16 {
    match class {
        ErrorClass::RateLimit | ErrorClass::Quota => 429,
        ErrorClass::Auth => 401,
        ErrorClass::NotFound => 404,
        ErrorClass::Overloaded => 503,
        ErrorClass::Timeout => 504,
        ErrorClass::InvalidRequest
        | ErrorClass::ContextTooLong
        | ErrorClass::ContentRefused
        | ErrorClass::StaleReplay => 400,
        _ => 500,
    }
}
