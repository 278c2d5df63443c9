use serde::{Deserialize, Serialize};

use super::id::{AttemptId, RowId};
use super::row::RowStatus;

/// The last record of an attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Terminal {
    /// The row the attempt wrote.
    pub row: RowId,
    /// What the row is now; `Open` if another attempt goes on with it.
    pub status: RowStatus,
    /// The attempt that goes on in the same row: it answers what the user said in the middle.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub continues: Option<AttemptId>,
    /// Whether this was the last attempt of the turn.
    pub ends_turn: bool,
}

impl Terminal {
    /// For implementations of a log.
    pub fn new(row: RowId, status: RowStatus, continues: Option<AttemptId>, ends_turn: bool) -> Self {
        Self { row, status, continues, ends_turn }
    }
}
