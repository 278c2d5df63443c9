//! What a status means where nothing else says more.

use ai_provider::ErrorClass;
use http::StatusCode;

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
