//! Recorded traffic of real providers, and the comparison of what an adapter made of it with what it must
//! make.
//!
//! A folder of recordings holds bodies as providers sent them, and `expected.jsonl`: one row per body with the
//! API it belongs to and what must come out. A test walks the rows, serves each body (through a
//! [`MemoryTransport`](crate::MemoryTransport) or a [`WireServer`](crate::WireServer)), and compares:
//!
//! ```
//! use ai_provider::{ModelError, StreamPart};
//! use ai_testkit::recordings::{self, Expected, Outcome};
//! use bytes::Bytes;
//!
//! async fn decodes_all(
//!     decode: impl AsyncFn(&Expected, Bytes) -> (Vec<StreamPart>, Option<ModelError>),
//! ) -> std::io::Result<()> {
//!     let Some(folder) = recordings::require() else { return Ok(()) };
//!     for row in recordings::expected(&folder)?.iter().filter(|row| row.api == "openai-chat") {
//!         let (parts, error) = decode(row, row.body(&folder)?).await;
//!         let mismatches = recordings::compare(row, &Outcome::from_parts(&parts, error.as_ref()));
//!         assert!(mismatches.is_empty(), "{}: {mismatches:#?}", row.file);
//!     }
//!     Ok(())
//! }
//! ```

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

mod compare;
mod expected;
mod outcome;

pub use compare::compare;
#[cfg(feature = "replay")]
pub(crate) use expected::read_body;
pub use expected::{Expected, RecordedDelivery};
pub use outcome::Outcome;

/// The root of this repository: where a relative folder starts.
const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// The folder of recordings if it is there: the one named by the environment variable `RECORDINGS`, or
/// `../shared/fixtures`. A relative path starts at the root of this repository.
pub fn dir() -> Option<PathBuf> {
    let folder = folder(std::env::var_os("RECORDINGS"));
    folder.join(ROWS).is_file().then_some(folder)
}

/// As [`dir`], for tests that have nothing to do without recordings: says on standard error that the test is
/// skipped.
///
/// # Panics
/// If they are missing and the environment variable `REQUIRE_ALL` is `1`.
#[allow(clippy::panic, reason = "this is how a test fails")]
pub fn require() -> Option<PathBuf> {
    let found = dir();
    if found.is_none() {
        let folder = folder(std::env::var_os("RECORDINGS"));
        let missing = format!("no recordings in {} (set RECORDINGS)", folder.display());
        if std::env::var_os("REQUIRE_ALL").is_some_and(|value| value == "1") {
            panic!("{missing}");
        }
        eprintln!("skipped: {missing}");
    }
    found
}

/// The rows of `expected.jsonl`.
///
/// # Errors
/// If the file cannot be read, or a line is no row: `InvalidData`, with the number of the line.
pub fn expected(folder: &Path) -> io::Result<Vec<Expected>> {
    let path = folder.join(ROWS);
    expected::parse(&fs::read_to_string(&path)?).map_err(|(line, error)| {
        let place = format!("{}:{line}: {error}", path.display());
        io::Error::new(io::ErrorKind::InvalidData, place)
    })
}

/// Makes the body of a stream from a `.chunks.txt`, which holds one payload per line and nothing else.
///
/// Each line becomes a server-sent event, an empty one too. `anthropic-messages` names its events by the
/// payload's `type`; `openai-chat` ends with `[DONE]`.
///
/// ```
/// use ai_testkit::recordings::sse_body;
/// assert_eq!(sse_body("openai-chat", "{}\n"), b"data: {}\n\ndata: [DONE]\n\n");
/// let named = b"event: ping\ndata: {\"type\":\"ping\"}\n\n";
/// assert_eq!(sse_body("anthropic-messages", r#"{"type":"ping"}"#), named);
/// ```
pub fn sse_body(api: &str, chunks: &str) -> Vec<u8> {
    let mut body = String::new();
    for line in chunks.lines() {
        if api == "anthropic-messages"
            && let Some(name) = event_name(line)
        {
            body.push_str(&format!("event: {name}\n"));
        }
        body.push_str(&format!("data: {line}\n\n"));
    }
    if api == "openai-chat" {
        body.push_str("data: [DONE]\n\n");
    }
    body.into_bytes()
}

const ROWS: &str = "expected.jsonl";

fn folder(setting: Option<OsString>) -> PathBuf {
    Path::new(ROOT).join(setting.unwrap_or_else(|| "../shared/fixtures".into()))
}

fn event_name(payload: &str) -> Option<String> {
    let payload: serde_json::Value = serde_json::from_str(payload).ok()?;
    Some(payload.get("type")?.as_str()?.to_owned())
}

#[cfg(test)]
mod tests;
