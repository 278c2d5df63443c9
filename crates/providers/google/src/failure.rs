//! What Google says when it fails, beyond what errors of all APIs have in common: a status in words, and details
//! that name the reason, the limit that was passed and when to try again.

use std::time::Duration;

use ai_http::{error_of_event, error_of_frame, error_of_response};
use ai_provider::{ErrorClass, Hint, ModelError};
use http::StatusCode;
use serde_json::Value;

/// The error a frame of a success reports, if it does.
pub(crate) fn of_frame(data: &str) -> Option<ModelError> {
    Some(refined(error_of_frame(data)?, data.as_bytes()))
}

/// An event that is named as an error, whatever it holds.
pub(crate) fn of_event(data: &str) -> ModelError {
    refined(error_of_event(data), data.as_bytes())
}

/// The error that a response of this status is.
pub(crate) fn of_response(status: StatusCode, body: &[u8]) -> ModelError {
    refined(error_of_response(status, body), body)
}

fn refined(error: ModelError, body: &[u8]) -> ModelError {
    let Ok(body) = serde_json::from_slice::<Value>(body.trim_ascii()) else { return error };
    let body = body.get(0).unwrap_or(&body);
    let Some(said) = body.get("error").filter(|error| error.is_object()) else { return error };
    let details = Details::read(said);
    let status = said.get("status").and_then(Value::as_str);
    let class = details.class(status, &error);
    let mut refined = match class == error.class() {
        true => error,
        false => again(&error, class),
    };
    if let Some(status) = status.filter(|status| !status.is_empty()) {
        refined = refined.with_code(status);
    }
    match details.retry_after {
        Some(after) => refined.with_hint(Hint::After(after)),
        None => refined,
    }
}

/// The error with another class, and the verdict that goes with it.
fn again(error: &ModelError, class: ErrorClass) -> ModelError {
    let mut new = ModelError::new(class, error.message());
    if let Some(status) = error.status() {
        new = new.with_status(status);
    }
    if let Some(code) = error.code() {
        new = new.with_code(code);
    }
    if let Some(excerpt) = error.excerpt() {
        new = new.with_excerpt(excerpt);
    }
    if let Some(url) = error.url() {
        new = new.with_url(url);
    }
    if let Some(id) = error.request_id() {
        new = new.with_request_id(id);
    }
    match error.hint() {
        Some(hint) => new.with_hint(hint),
        None => new,
    }
}

/// What the details of an error name.
#[derive(Debug, Default)]
struct Details<'a> {
    /// Reasons of `ErrorInfo`.
    reasons: Vec<&'a str>,
    /// Ids of the limits that were passed.
    limits: Vec<&'a str>,
    retry_after: Option<Duration>,
}

impl<'a> Details<'a> {
    fn read(error: &'a Value) -> Self {
        let mut details = Self::default();
        for detail in error.get("details").and_then(Value::as_array).into_iter().flatten() {
            let text = |name: &str| detail.get(name).and_then(Value::as_str);
            let kind = text("@type").and_then(|url| url.rsplit(['/', '.']).next()).unwrap_or_default();
            match kind {
                "ErrorInfo" => details.reasons.extend(text("reason")),
                "RetryInfo" => {
                    details.retry_after = details.retry_after.or(detail.get("retryDelay").and_then(delay))
                }
                "QuotaFailure" => {
                    let violations = detail.get("violations").and_then(Value::as_array).into_iter().flatten();
                    details
                        .limits
                        .extend(violations.filter_map(|violation| violation.get("quotaId")?.as_str()));
                }
                _ => {}
            }
        }
        details
    }

    fn class(&self, status: Option<&str>, error: &ModelError) -> ErrorClass {
        let has = |reason: &str| self.reasons.contains(&reason);
        if has("BILLING_DISABLED") {
            return ErrorClass::Quota;
        }
        // A wrong key comes as an invalid argument.
        if self
            .reasons
            .iter()
            .any(|reason| reason.starts_with("API_KEY_") || reason.starts_with("ACCESS_TOKEN_"))
        {
            return ErrorClass::Auth;
        }
        let message = error.message().to_ascii_lowercase();
        match status.unwrap_or_default() {
            "RESOURCE_EXHAUSTED" => self.exhausted(&message),
            "INVALID_ARGUMENT" | "FAILED_PRECONDITION" => match message {
                text if text.contains("api key") && !text.contains("billing") => ErrorClass::Auth,
                text if text.contains("billing") => ErrorClass::Quota,
                text if text.contains("thought signature") || text.contains("thought_signature") => {
                    ErrorClass::StaleReplay
                }
                text if text.contains("token count") && text.contains("exceeds") => {
                    ErrorClass::ContextTooLong
                }
                _ => error.class(),
            },
            "DEADLINE_EXCEEDED" => ErrorClass::Timeout,
            _ => error.class(),
        }
    }

    /// Google has one status for limits that pass by and for credit that is used up.
    fn exhausted(&self, message: &str) -> ErrorClass {
        // Who says when to try again means a limit that passes, whatever the message says.
        if self.retry_after.is_some() || self.limits.iter().any(|limit| limit.contains("PerMinute")) {
            return ErrorClass::RateLimit;
        }
        let used_up = ["billing", "current quota", "prepayment", "credit"];
        match self.limits.is_empty() {
            false if self.limits.iter().any(|limit| limit.contains("PerDay")) => ErrorClass::Quota,
            true if used_up.iter().any(|words| message.contains(words)) => ErrorClass::Quota,
            _ => ErrorClass::RateLimit,
        }
    }
}

/// A protobuf duration: seconds with up to nine decimals and an `s`. Zero, less and nonsense are none.
fn delay(value: &Value) -> Option<Duration> {
    let text = value.as_str()?.trim().strip_suffix('s')?;
    let (seconds, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(seconds) || !digits(fraction) || fraction.len() > 9 {
        return None;
    }
    let nanos: u32 = format!("{fraction:0<9}").parse().ok()?;
    Some(Duration::new(seconds.parse().ok()?, nanos)).filter(|delay| !delay.is_zero())
}
