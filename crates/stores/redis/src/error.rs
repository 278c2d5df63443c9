use redis::{ErrorKind, RedisError, ServerErrorKind};
use stream_manager::port::{StoreError, StoreErrorKind};

/// What the server or the way to it says, as an error of a store; `what` says what could not be done.
pub(crate) fn store_error(what: impl Into<String>, error: RedisError) -> StoreError {
    StoreError::new(kind(&error), what).with_source(error)
}

fn kind(error: &RedisError) -> StoreErrorKind {
    match (error.kind(), error.code()) {
        (_, Some("OOM")) => StoreErrorKind::Full,
        // A key of ours holds something else.
        (_, Some("WRONGTYPE")) => StoreErrorKind::Corrupt,
        (ErrorKind::Parse | ErrorKind::UnexpectedReturnType, _) => StoreErrorKind::Corrupt,
        _ => StoreErrorKind::Unavailable,
    }
}

/// Whether the same may succeed in a moment: the connection broke, or the server starts or changes its role.
pub(crate) fn passes(error: &RedisError) -> bool {
    let starts = matches!(
        error.kind(),
        ErrorKind::Server(
            ServerErrorKind::BusyLoading
                | ServerErrorKind::TryAgain
                | ServerErrorKind::MasterDown
                | ServerErrorKind::ReadOnly
        )
    );
    starts || (error.is_io_error() && !error.is_timeout()) || error.is_connection_dropped()
}

pub(crate) fn corrupt(what: impl Into<String>) -> StoreError {
    StoreError::new(StoreErrorKind::Corrupt, what)
}

pub(crate) fn unavailable(what: impl Into<String>) -> StoreError {
    StoreError::new(StoreErrorKind::Unavailable, what)
}
