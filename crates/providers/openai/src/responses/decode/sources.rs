use std::collections::HashSet;

use ai_http::Parts;
use ai_provider::{ErrorClass, JsonObject, ModelError, Source, StreamPart};
use serde_json::Value;

use super::mint::Mint;
use super::server::text;

/// Sources of one answer. Search answers have some dozens.
const MAX_SOURCES: usize = 4_096;

/// The sources of an answer, each once, though they come as events and again with the item that is done.
#[derive(Debug, Default)]
pub(super) struct Sources {
    seen: HashSet<String>,
}

impl Sources {
    pub(super) fn add(&mut self, annotation: &Value, mint: &Mint, out: &mut Parts) -> Result<(), ModelError> {
        let Some(note) = annotation.as_object() else { return Ok(()) };
        let key = match text(note, "type") {
            Some("url_citation") => text(note, "url").map(str::to_owned),
            Some("file_citation" | "container_file_citation" | "file_path") => {
                text(note, "file_id").map(|file| format!("file:{file}"))
            }
            _ => None,
        };
        let Some(key) = key.filter(|key| !self.seen.contains(key)) else { return Ok(()) };
        let nth = self.seen.len();
        if nth >= MAX_SOURCES {
            let message = format!("the answer has more than {MAX_SOURCES} sources");
            return Err(ModelError::new(ErrorClass::TooLarge, message));
        }
        self.seen.insert(key);
        out.push(StreamPart::Source(Box::new(source(note, nth, mint))));
        Ok(())
    }
}

fn source(note: &JsonObject, nth: usize, mint: &Mint) -> Source {
    let id = mint.source(nth);
    let owned = |name: &str| text(note, name).map(str::to_owned);
    if let Some(url) = owned("url") {
        return Source::Url { id, url, title: owned("title"), metadata: None };
    }
    let names = ["file_id", "container_id", "index"];
    let values = names.iter().filter_map(|name| Some(((*name).to_owned(), note.get(*name)?.clone())));
    let filename = owned("filename");
    let media_type = match text(note, "type") {
        Some("file_path") => "application/octet-stream",
        _ => "text/plain",
    };
    Source::Document {
        id,
        media_type: media_type.to_owned(),
        title: filename.clone().or_else(|| owned("file_id")).unwrap_or_default(),
        filename,
        metadata: mint.minted(values.collect()),
    }
}
