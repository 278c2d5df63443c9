//! A row as columns: what changes apart from what does not, so that a checkpoint writes the content without reading it.

use serde_json::Value;
use stream_manager::port::{StoreError, decode, encode};
use stream_manager::record::{Row, RowContent};

use crate::error::{corrupt, from_sql, store_error, to_sql};

/// Columns of a row.
pub(crate) struct Columns {
    pub(crate) turn: String,
    pub(crate) attempt: Option<String>,
    pub(crate) status: String,
    pub(crate) created_at: i64,
    pub(crate) updated_at: i64,
    /// Everything else but the content.
    pub(crate) head: String,
    pub(crate) content: Content,
}

pub(crate) struct Content {
    pub(crate) json: String,
    pub(crate) has_run: bool,
}

impl Content {
    pub(crate) fn of(content: &RowContent) -> Result<Self, StoreError> {
        Ok(Self { json: encode(content)?, has_run: content.run.is_some() })
    }
}

/// The fields of a row that are columns of their own.
const APART: [&str; 4] = ["status", "createdAt", "updatedAt", "content"];

impl Columns {
    pub(crate) fn of(row: &Row) -> Result<Self, StoreError> {
        let mut head = match serde_json::to_value(row) {
            Ok(Value::Object(head)) => head,
            _ => return Err(corrupt(format!("row {} is no object", row.id))),
        };
        for field in APART {
            head.remove(field);
        }
        Ok(Self {
            turn: row.turn.to_string(),
            attempt: row.attempt.map(|attempt| attempt.to_string()),
            status: encode(&row.status)?,
            created_at: to_sql(row.created_at)?,
            updated_at: to_sql(row.updated_at)?,
            head: encode(&head)?,
            content: Content::of(&row.content)?,
        })
    }
}

/// The columns that [`read`] takes, in its order.
pub(crate) const READ: &str = "head, status, created_at, updated_at, content";

/// A row, of the columns [`READ`].
pub(crate) fn read(row: &rusqlite::Row<'_>) -> Result<Row, StoreError> {
    let failed = |error| store_error("reading a row", error);
    let text = |column| {
        let value = row.get_ref(column).map_err(failed)?;
        value.as_str().map_err(|error| corrupt("reading a row").with_source(error))
    };
    let (head, status, content) = (text(0)?, text(1)?, text(4)?);
    let created_at = from_sql(row.get(2).map_err(failed)?)?;
    let updated_at = from_sql(row.get(3).map_err(failed)?)?;
    let fields = head.strip_suffix('}').ok_or_else(|| corrupt("reading a row: its head is no object"))?;
    let times = format!("\"createdAt\":{created_at},\"updatedAt\":{updated_at}");
    decode(&format!("{fields},\"status\":{status},{times},\"content\":{content}}}"))
}
