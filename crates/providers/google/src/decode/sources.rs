use std::borrow::Cow;
use std::collections::HashSet;

use ai_http::Parts;
use ai_provider::{ErrorClass, ModelError, Source, StreamPart};
use serde::Deserialize;

use super::ids::AnswerIds;
use super::loose::{List, Text};

/// Sources of one answer. A search gives some dozens.
const MAX_SOURCES: usize = 4_096;

/// The sources of an answer, each once: frames repeat what earlier ones said.
#[derive(Debug, Default)]
pub(super) struct Sources {
    seen: HashSet<String>,
    /// The last metadata as it came: what is repeated is not read again.
    last: String,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Grounding<'a> {
    #[serde(borrow)]
    grounding_chunks: List<Chunk<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Chunk<'a> {
    #[serde(borrow)]
    web: Option<Place<'a>>,
    #[serde(borrow)]
    maps: Option<Place<'a>>,
    #[serde(borrow)]
    image: Option<Place<'a>>,
    #[serde(borrow)]
    retrieved_context: Option<Place<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Place<'a> {
    #[serde(borrow)]
    uri: Text<'a>,
    #[serde(borrow)]
    source_uri: Text<'a>,
    #[serde(borrow)]
    file_search_store: Text<'a>,
    #[serde(borrow)]
    title: Text<'a>,
}

impl Sources {
    /// Reads grounding metadata. What is in it beyond sources is kept elsewhere, so a form that is not known
    /// loses nothing.
    pub(super) fn grounding(
        &mut self,
        raw: &str,
        ids: &AnswerIds,
        out: &mut Parts,
    ) -> Result<(), ModelError> {
        if self.last == raw {
            return Ok(());
        }
        raw.clone_into(&mut self.last);
        let grounding: Grounding<'_> = serde_json::from_str(raw).unwrap_or_default();
        for chunk in grounding.grounding_chunks {
            for place in [chunk.web, chunk.image, chunk.maps, chunk.retrieved_context].into_iter().flatten() {
                self.place(place, ids, out)?;
            }
        }
        Ok(())
    }

    fn place(&mut self, mut place: Place<'_>, ids: &AnswerIds, out: &mut Parts) -> Result<(), ModelError> {
        let Some(address) = place
            .source_uri
            .take_said()
            .or_else(|| place.uri.take_said())
            .or_else(|| place.file_search_store.take_said())
        else {
            return Ok(());
        };
        let title = place.title.take_said().map(Cow::into_owned);
        let is_page = address.starts_with("http://") || address.starts_with("https://");
        // Documents of one store share its address.
        let key = match &title {
            Some(title) if !is_page => format!("{address}\n{title}"),
            _ => address.clone().into_owned(),
        };
        let nth = self.seen.len();
        if !self.seen.insert(key) {
            return Ok(());
        }
        if nth >= MAX_SOURCES {
            let message = format!("the answer has more than {MAX_SOURCES} sources");
            return Err(ModelError::new(ErrorClass::TooLarge, message));
        }
        let id = ids.source(nth);
        let source = if is_page {
            Source::Url { id, url: address.into_owned(), title, metadata: None }
        } else {
            let filename = address.rsplit('/').next().filter(|name| name.contains('.')).map(str::to_owned);
            let media_type = filename.as_deref().map_or("application/octet-stream", media_type);
            let title = title.unwrap_or_else(|| address.into_owned());
            Source::Document { id, media_type: media_type.to_owned(), title, filename, metadata: None }
        };
        out.push(StreamPart::Source(Box::new(source)));
        Ok(())
    }
}

/// What a file is, by the end of its name.
fn media_type(filename: &str) -> &'static str {
    let end = filename.rsplit('.').next().unwrap_or_default().to_ascii_lowercase();
    match end.as_str() {
        "pdf" => "application/pdf",
        "txt" => "text/plain",
        "md" | "markdown" => "text/markdown",
        "html" | "htm" => "text/html",
        "docx" => "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        "doc" => "application/msword",
        _ => "application/octet-stream",
    }
}
