use rusqlite::{Error, ErrorCode, ffi};
use stream_manager::port::{StoreError, StoreErrorKind};

/// What SQLite says, as an error of a store; `what` says what could not be done.
pub(crate) fn store_error(what: &str, error: Error) -> StoreError {
    StoreError::new(kind(&error), what).with_source(error)
}

fn kind(error: &Error) -> StoreErrorKind {
    let Error::SqliteFailure(failure, _) = error else {
        // A column of another type than ours.
        return StoreErrorKind::Corrupt;
    };
    match (failure.code, failure.extended_code) {
        // No room for the index of the log is told as an I/O error.
        (ErrorCode::DiskFull, _) | (_, ffi::SQLITE_IOERR_SHMSIZE) => StoreErrorKind::Full,
        (ErrorCode::TooBig, _) => StoreErrorKind::Conflict,
        (
            ErrorCode::DatabaseBusy
            | ErrorCode::DatabaseLocked
            | ErrorCode::CannotOpen
            | ErrorCode::PermissionDenied
            | ErrorCode::ReadOnly
            | ErrorCode::SystemIoFailure
            | ErrorCode::FileLockingProtocolFailed
            | ErrorCode::OperationInterrupted
            | ErrorCode::OutOfMemory,
            _,
        ) => StoreErrorKind::Unavailable,
        // The file is damaged, or not ours: a table is missing, a rule of ours is broken.
        _ => StoreErrorKind::Corrupt,
    }
}

pub(crate) fn corrupt(what: impl Into<String>) -> StoreError {
    StoreError::new(StoreErrorKind::Corrupt, what)
}

/// SQLite counts to 2⁶³. Times and epochs beyond are not ours to keep.
pub(crate) fn to_sql(number: u64) -> Result<i64, StoreError> {
    let conflict = |_| StoreError::new(StoreErrorKind::Conflict, format!("the number {number} is too large"));
    i64::try_from(number).map_err(conflict)
}

pub(crate) fn from_sql(number: i64) -> Result<u64, StoreError> {
    u64::try_from(number).map_err(|_| corrupt(format!("the number {number} is below zero")))
}
