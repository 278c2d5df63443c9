use std::fs::{DirBuilder, OpenOptions};
use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode, OpenFlags};
use stream_manager::port::{StoreError, StoreErrorKind};

use crate::error::store_error;
use crate::schema;
use crate::settings::{Durability, SqliteSettings};

/// As many statements as there are kinds of calls, with room: none is compiled twice.
const STATEMENTS: usize = 64;
/// So much of the log stays allocated after a burst, in bytes.
const LOG_BYTES: i64 = 16 * 1024 * 1024;

/// Makes the file with its folders if it is not there, readable by its owner alone, and brings it to the version that is
/// written. Returns the connection that writes.
pub(crate) fn open(path: &Path, settings: &SqliteSettings) -> Result<Connection, StoreError> {
    make(path)?;
    let failed = |error| store_error(&format!("opening the database {}", path.display()), error);
    let mut connection = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE, settings)?;
    // Before there are tables: what is deleted later can be given back to the disk.
    connection.pragma_update(None, "auto_vacuum", "INCREMENTAL").map_err(failed)?;
    let mode = use_log(&connection, settings.busy_timeout).map_err(failed)?;
    if mode != "wal" {
        let what = format!("opening the database {}: its file system cannot share a log", path.display());
        return Err(StoreError::new(StoreErrorKind::Unavailable, what));
    }
    connection.pragma_update(None, "journal_size_limit", LOG_BYTES).map_err(failed)?;
    connection.pragma_update(None, "foreign_keys", true).map_err(failed)?;
    set_durability(&connection, settings.durability).map_err(failed)?;
    schema::migrate(&mut connection)?;
    if let Some(bytes) = settings.max_bytes {
        let page: i64 = connection.pragma_query_value(None, "page_size", |row| row.get(0)).map_err(failed)?;
        let pages = i64::try_from(bytes).unwrap_or(i64::MAX) / page.max(1);
        // Returns the limit that holds, so that it is a query.
        let set = connection.pragma_update_and_check(None, "max_page_count", pages.max(1), |_| Ok(()));
        set.map_err(failed)?;
    }
    Ok(connection)
}

/// A further connection, which only reads.
pub(crate) fn open_reader(path: &Path, settings: &SqliteSettings) -> Result<Connection, StoreError> {
    connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY, settings)
}

pub(crate) fn set_durability(connection: &Connection, durability: Durability) -> rusqlite::Result<()> {
    let level = match durability {
        Durability::Power => "FULL",
        Durability::Process => "NORMAL",
    };
    connection.pragma_update(None, "synchronous", level)
}

fn connect(path: &Path, flags: OpenFlags, settings: &SqliteSettings) -> Result<Connection, StoreError> {
    let failed = |error| store_error(&format!("opening the database {}", path.display()), error);
    let flags = flags | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).map_err(failed)?;
    connection.busy_timeout(settings.busy_timeout).map_err(failed)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    Ok(connection)
}

/// The change to a log takes the whole file, and SQLite does not wait for it by itself where another opens the file at the
/// same moment.
fn use_log(connection: &Connection, timeout: Duration) -> rusqlite::Result<String> {
    let begun = Instant::now();
    loop {
        let mode = connection.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get(0));
        match &mode {
            Err(error)
                if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
                    && begun.elapsed() < timeout =>
            {
                std::thread::sleep(Duration::from_millis(5));
            }
            _ => return mode,
        }
    }
}

fn make(path: &Path) -> Result<(), StoreError> {
    let failed = |error: std::io::Error| {
        let what = format!("making the database {}", path.display());
        StoreError::new(StoreErrorKind::Unavailable, what).with_source(error)
    };
    let (mut folder, mut file) = (DirBuilder::new(), OpenOptions::new());
    folder.recursive(true);
    file.write(true).create(true).truncate(false);
    #[cfg(unix)]
    {
        // Conversations are nobody else's. What SQLite puts beside the file gets the same rights.
        std::os::unix::fs::DirBuilderExt::mode(&mut folder, 0o700);
        std::os::unix::fs::OpenOptionsExt::mode(&mut file, 0o600);
    }
    if let Some(parent) = path.parent() {
        folder.create(parent).map_err(failed)?;
    }
    if !path.exists() {
        file.open(path).map_err(failed)?;
    }
    Ok(())
}
