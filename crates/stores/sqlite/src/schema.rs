//! The tables, version by version. The file says in its `user_version` which one it has.

use rusqlite::{Connection, Transaction, TransactionBehavior};
use stream_manager::port::{StoreError, decode};
use stream_manager::record::Input;

use crate::error::{corrupt, store_error};

/// Says that a file is ours: `LLMs`.
const APPLICATION: i32 = 0x4c4c_4d73;
/// The version that is written.
const VERSION: i32 = 2;

/// A topic stays when it is deleted, without its rows and inputs: its epochs go on.
const TABLES: &str = "
    CREATE TABLE topics (
        key INTEGER PRIMARY KEY,
        topic TEXT NOT NULL UNIQUE,
        epoch INTEGER NOT NULL DEFAULT 0,
        live INTEGER NOT NULL DEFAULT 0,
        created_at INTEGER NOT NULL DEFAULT 0,
        updated_at INTEGER NOT NULL DEFAULT 0
    ) STRICT;
    CREATE TABLE rows (
        place INTEGER PRIMARY KEY,
        topic INTEGER NOT NULL REFERENCES topics (key),
        row TEXT NOT NULL,
        turn TEXT NOT NULL,
        attempt TEXT,
        status TEXT NOT NULL,
        created_at INTEGER NOT NULL,
        updated_at INTEGER NOT NULL,
        head TEXT NOT NULL,
        content TEXT NOT NULL,
        UNIQUE (topic, row)
    ) STRICT;
    CREATE TABLE inputs (
        key INTEGER PRIMARY KEY,
        topic INTEGER NOT NULL REFERENCES topics (key),
        input TEXT NOT NULL,
        seq INTEGER NOT NULL,
        queued INTEGER NOT NULL,
        fate TEXT NOT NULL,
        accepted_at INTEGER NOT NULL,
        body TEXT NOT NULL,
        UNIQUE (topic, input),
        UNIQUE (topic, seq)
    ) STRICT;
    CREATE TABLE leases (
        topic TEXT PRIMARY KEY,
        epoch INTEGER NOT NULL,
        node TEXT,
        expires_at INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
";

/// Lists have titles without reading inputs; claims know which rows can go on without reading them; what is open, what
/// waits and what was written last is found without looking at everything.
const TITLES: &str = "
    ALTER TABLE topics ADD COLUMN title TEXT NOT NULL DEFAULT '';
    ALTER TABLE rows ADD COLUMN has_run INTEGER NOT NULL DEFAULT 0;
    UPDATE rows SET has_run = 1 WHERE json_valid(content) AND json_type(content, '$.run') IS NOT NULL;
    CREATE INDEX topics_by_time ON topics (updated_at, topic) WHERE live = 1;
    CREATE INDEX open_rows ON rows (topic) WHERE status = '\"open\"';
    CREATE INDEX queued_inputs ON inputs (topic) WHERE queued = 1;
";

/// Brings a file to the version that is written: a new one, or one of an earlier version.
pub(crate) fn migrate(connection: &mut Connection) -> Result<(), StoreError> {
    let failed = |error| store_error("opening the database", error);
    if version(connection)? == VERSION {
        return Ok(());
    }
    // Of several that open a new file at once one makes the tables, and the others find them.
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
    let found = version(&transaction)?;
    if found < 1 {
        transaction.execute_batch(TABLES).map_err(failed)?;
        transaction.pragma_update(None, "application_id", APPLICATION).map_err(failed)?;
    }
    if found < 2 {
        transaction.execute_batch(TITLES).map_err(failed)?;
        give_titles(&transaction)?;
    }
    transaction.pragma_update(None, "user_version", VERSION).map_err(failed)?;
    transaction.commit().map_err(failed)
}

/// The version of a file; 0 of an empty one.
fn version(connection: &Connection) -> Result<i32, StoreError> {
    let failed = |error| store_error("opening the database", error);
    let pragma = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i32>(0)).map_err(failed);
    let tables = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get::<_, i64>(0));
    match (pragma("application_id")?, pragma("user_version")?, tables.map_err(failed)?) {
        (0, 0, 0) => Ok(0),
        (APPLICATION, version @ 1..=VERSION, _) => Ok(version),
        (APPLICATION, version, _) => Err(corrupt(format!(
            "opening the database: it has version {version}, and this program knows versions up to {VERSION}"
        ))),
        _ => Err(corrupt("opening the database: it belongs to another program")),
    }
}

fn give_titles(transaction: &Transaction<'_>) -> Result<(), StoreError> {
    let failed = |error| store_error("giving titles to topics", error);
    let mut titles =
        transaction.prepare("UPDATE topics SET title = ?2 WHERE key = ?1 AND title = ''").map_err(failed)?;
    let mut inputs =
        transaction.prepare("SELECT topic, body FROM inputs ORDER BY topic, seq").map_err(failed)?;
    let mut rows = inputs.query([]).map_err(failed)?;
    while let Some(row) = rows.next().map_err(failed)? {
        let topic: i64 = row.get(0).map_err(failed)?;
        let body: String = row.get(1).map_err(failed)?;
        // One that cannot be read has no title; it is told when it is asked for.
        if let Some(title) = decode::<Input>(&body).ok().and_then(|input| input.title()) {
            titles.execute((topic, title)).map_err(failed)?;
        }
    }
    Ok(())
}
