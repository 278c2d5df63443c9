//! A row in pieces: what changes apart from what does not, so that a checkpoint writes the content without reading it.

use serde_json::Value;
use stream_manager::port::{StoreError, decode, encode};
use stream_manager::record::{AttemptId, Row, RowContent};

use crate::error::corrupt;
use crate::server::Args;

/// The fields of a row that are stored by themselves.
const APART: [&str; 4] = ["status", "createdAt", "updatedAt", "content"];

/// Adds a row, as `claim.lua` takes it.
pub(super) fn push(args: Args, row: &Row) -> Result<Args, StoreError> {
    let mut head = match serde_json::to_value(row) {
        Ok(Value::Object(head)) => head,
        _ => return Err(corrupt(format!("row {} is no object", row.id))),
    };
    for field in APART {
        head.remove(field);
    }
    let args = args.text(encode(&head)?).text(encode(&row.status)?);
    let args = args.text(row.turn.to_string()).text(attempt(row.attempt));
    let args = args.text(run(&row.content)).text(encode(&row.content)?);
    Ok(args.number(row.created_at).number(row.updated_at))
}

/// An attempt as it is stored: empty if there is none.
pub(super) fn attempt(attempt: Option<AttemptId>) -> String {
    attempt.map(|attempt| attempt.to_string()).unwrap_or_default()
}

/// Whether a row has a run that can go on.
pub(super) fn run(content: &RowContent) -> &'static str {
    if content.run.is_some() { "1" } else { "0" }
}

/// The pieces of a row, as they are read.
#[derive(Debug, Default)]
pub(super) struct Pieces {
    pub(super) head: String,
    pub(super) status: String,
    pub(super) created_at: u64,
    pub(super) updated_at: u64,
    pub(super) content: String,
}

impl From<(String, String, u64, u64, String)> for Pieces {
    fn from((head, status, created_at, updated_at, content): (String, String, u64, u64, String)) -> Self {
        Self { head, status, created_at, updated_at, content }
    }
}

impl Pieces {
    pub(super) fn join(&self) -> Result<Row, StoreError> {
        let Self { head, status, created_at, updated_at, content } = self;
        let head = head.strip_suffix('}').ok_or_else(|| corrupt("reading a row: its head is no object"))?;
        let times = format!("\"createdAt\":{created_at},\"updatedAt\":{updated_at}");
        decode(&format!("{head},\"status\":{status},{times},\"content\":{content}}}"))
    }
}
