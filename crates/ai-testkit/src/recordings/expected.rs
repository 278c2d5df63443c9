use std::fs;
use std::io;
use std::path::Path;

use ai_provider::JsonObject;
use bytes::Bytes;
use serde::Deserialize;

use super::sse_body;

/// A row of `expected.jsonl`: a recording, how to read it, and what must come out.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[non_exhaustive]
pub struct Expected {
    /// The recording, relative to the folder.
    pub file: String,
    /// The API it belongs to, for example `openai-chat`.
    pub api: String,
    /// The dialect of the API; `generic` where there is none.
    pub dialect: String,
    /// What kind of body it is.
    pub delivery: RecordedDelivery,
    /// The HTTP status to serve it with.
    pub status: u16,
    /// What a person should know.
    #[serde(default)]
    pub note: Option<String>,
    /// Everything else: what must come out, key by key. [`compare`](super::compare) checks all of it; a key it
    /// does not know is a mismatch.
    #[serde(flatten)]
    pub asserted: JsonObject,
}

/// What kind of body a recording is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum RecordedDelivery {
    /// Events of a stream.
    Stream,
    /// A whole answer.
    Whole,
    /// The body of an error.
    ErrorBody,
}

impl Expected {
    /// The body as the provider sent it; a `.chunks.txt` is wrapped by [`sse_body`].
    ///
    /// # Errors
    /// If the file cannot be read, or is no text where it should be.
    pub fn body(&self, folder: &Path) -> io::Result<Bytes> {
        read_body(&self.api, &folder.join(&self.file))
    }
}

/// A body from its file; a `.chunks.txt` is wrapped.
pub(crate) fn read_body(api: &str, path: &Path) -> io::Result<Bytes> {
    let chunks = path.file_name().is_some_and(|name| name.to_string_lossy().ends_with(".chunks.txt"));
    let body =
        if chunks { fs::read_to_string(path).map(|chunks| sse_body(api, &chunks)) } else { fs::read(path) };
    match body {
        Ok(body) => Ok(body.into()),
        Err(error) => Err(io::Error::new(error.kind(), format!("{}: {error}", path.display()))),
    }
}

/// All rows, or the first line that is none, counted from 1.
pub(super) fn parse(rows: &str) -> Result<Vec<Expected>, (usize, serde_json::Error)> {
    let lines = (1..).zip(rows.lines()).filter(|(_, line)| !line.trim().is_empty());
    lines.map(|(number, line)| serde_json::from_str(line).map_err(|error| (number, error))).collect()
}
