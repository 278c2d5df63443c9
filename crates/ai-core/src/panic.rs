use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use ai_provider::{ErrorClass, ModelError};

/// What a panic said.
pub(crate) fn panic_text(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}

/// Drops what is not ours: a panic in there ends nothing but itself.
pub(crate) fn drop_quietly<T>(value: T) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| drop(value))) {
        tracing::error!(error = panic_text(&*panic), "something panicked when it was dropped");
    }
}

/// The error of a model, or of something around it, that panicked.
pub(crate) fn model_panicked(payload: &(dyn Any + Send)) -> ModelError {
    ModelError::new(
        ErrorClass::Protocol,
        format!("the stream of the model panicked: {}", panic_text(payload)),
    )
}
