use std::panic::{AssertUnwindSafe, catch_unwind};

/// What a function of the application says; nothing if it panics. A run is polled and dropped around it, and neither may
/// end in somebody else's panic.
pub(crate) fn said<T>(of: &'static str, function: impl FnOnce() -> T) -> Option<T> {
    let said = catch_unwind(AssertUnwindSafe(function));
    if said.is_err() {
        tracing::error!(of, "a function of the application panicked");
    }
    said.ok()
}
