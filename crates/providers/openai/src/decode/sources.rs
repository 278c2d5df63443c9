use std::collections::HashSet;

use ai_http::{IdSeed, Parts};
use ai_provider::{ErrorClass, ModelError, Source, StreamPart};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::loose::{Raw, Scalar};

/// Sources of one answer. Search APIs give some dozens.
const MAX_SOURCES: usize = 4_096;

/// The sources of an answer, each address once, though some servers repeat the list on every frame.
#[derive(Debug, Default)]
pub(super) struct Sources {
    seen: HashSet<String>,
    /// The last lists as they came: a list that is repeated is not read again.
    lists: [String; 2],
}

#[derive(Deserialize)]
struct Annotation<'a> {
    #[serde(borrow, default)]
    url_citation: Option<Page<'a>>,
    #[serde(borrow, default)]
    url: Scalar<'a>,
    #[serde(borrow, default)]
    title: Scalar<'a>,
}

#[derive(Deserialize)]
struct Page<'a> {
    #[serde(borrow, default)]
    url: Scalar<'a>,
    #[serde(borrow, default)]
    title: Scalar<'a>,
}

impl Sources {
    /// Pages with titles, from a list of search results; then addresses alone.
    pub(super) fn lists(
        &mut self,
        [pages, addresses]: [Raw<'_>; 2],
        ids: &IdSeed,
        out: &mut Parts,
    ) -> Result<(), ModelError> {
        if let Some(list) = self.news(0, pages) {
            for Page { url, title } in serde_json::from_str::<Vec<Page<'_>>>(list).unwrap_or_default() {
                self.add(url, title, ids, out)?;
            }
        }
        if let Some(list) = self.news(1, addresses) {
            for url in serde_json::from_str::<Vec<Scalar<'_>>>(list).unwrap_or_default() {
                self.add(url, Scalar::None, ids, out)?;
            }
        }
        Ok(())
    }

    /// Notes of the model on its own text.
    pub(super) fn annotations(
        &mut self,
        list: &RawValue,
        ids: &IdSeed,
        out: &mut Parts,
    ) -> Result<(), ModelError> {
        for note in serde_json::from_str::<Vec<Annotation<'_>>>(list.get()).unwrap_or_default() {
            match note.url_citation {
                Some(page) => self.add(page.url, page.title, ids, out)?,
                None => self.add(note.url, note.title, ids, out)?,
            }
        }
        Ok(())
    }

    fn news<'a>(&mut self, which: usize, list: Raw<'a>) -> Option<&'a str> {
        let list = list.0?.get();
        let last = self.lists.get_mut(which)?;
        if last == list {
            return None;
        }
        last.clear();
        last.push_str(list);
        Some(list)
    }

    fn add(
        &mut self,
        mut url: Scalar<'_>,
        mut title: Scalar<'_>,
        ids: &IdSeed,
        out: &mut Parts,
    ) -> Result<(), ModelError> {
        let Some(url) = url.take_text() else { return Ok(()) };
        if self.seen.contains(&*url) {
            return Ok(());
        }
        let nth = self.seen.len();
        if nth >= MAX_SOURCES {
            let message = format!("the answer has more than {MAX_SOURCES} sources");
            return Err(ModelError::new(ErrorClass::TooLarge, message));
        }
        let url = url.into_owned();
        self.seen.insert(url.clone());
        let title = title.take_text().map(|title| title.into_owned());
        out.push(StreamPart::Source(Box::new(Source::Url {
            id: ids.id("source", nth),
            url,
            title,
            metadata: None,
        })));
        Ok(())
    }
}
