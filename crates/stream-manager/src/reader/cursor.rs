use std::fmt;
use std::str::FromStr;

use crate::record::AttemptId;

/// How far a reader is: the last record it has, and of which attempt.
///
/// Its text, `EPOCH.NUMBER:SEQ`, is the id of a server-sent event.
///
/// ```
/// use stream_manager::reader::Cursor;
/// let cursor: Cursor = "3.1:42".parse()?;
/// assert_eq!((cursor.attempt.number, cursor.seq), (1, 42));
/// assert_eq!(cursor.to_string(), "3.1:42");
/// # Ok::<(), stream_manager::reader::CursorError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cursor {
    /// The attempt.
    pub attempt: AttemptId,
    /// The number of the record; 0 before the first.
    pub seq: u64,
}

/// A text that is no cursor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a cursor of the form EPOCH.NUMBER:SEQ")]
pub struct CursorError;

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.attempt, self.seq)
    }
}

impl FromStr for Cursor {
    type Err = CursorError;

    fn from_str(text: &str) -> Result<Self, CursorError> {
        let (attempt, seq) = text.split_once(':').ok_or(CursorError)?;
        let attempt = attempt.parse().map_err(|_| CursorError)?;
        let number: u64 = seq.parse().map_err(|_| CursorError)?;
        // Another text of the same number would be another id of the same place.
        if number.to_string() == seq { Ok(Self { attempt, seq: number }) } else { Err(CursorError) }
    }
}
