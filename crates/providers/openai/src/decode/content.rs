//! Text, reasoning and files of an answer.

use std::borrow::Cow;

use ai_http::Parts;
use ai_provider::{FileData, FilePart, Origin, ProviderMetadata, ProviderOptions, StreamPart};
use serde_json::Value;

use super::blocks::Kind;
use super::loose::{self, Content, ContentPart};
use super::tags::Tags;
use super::{ChatDecoder, REASONING_DETAILS, REASONING_FIELD};

impl ChatDecoder {
    pub(super) fn text(&mut self, text: Cow<'_, str>, out: &mut Parts) {
        if text.is_empty() || self.prefill.as_deref() == Some(&*text) {
            return;
        }
        let Some(mut tags) = self.tags.take() else { return self.plain_text(text, out) };
        tags.split(&text, |kind, piece| match kind {
            Kind::Text => self.plain_text(piece.into(), out),
            Kind::Reasoning => self.add_reasoning(piece.into(), "content", out),
        });
        self.tags = Some(tags);
    }

    fn plain_text(&mut self, text: Cow<'_, str>, out: &mut Parts) {
        self.came.text = true;
        if self.blocks.is_open(Kind::Reasoning) {
            self.end_block(out);
        }
        self.blocks.open(Kind::Text, out, || None);
        self.blocks.add(text, self.marked, out);
    }

    pub(super) fn reasoning(&mut self, text: Cow<'_, str>, field: &str, out: &mut Parts) {
        if text.is_empty() {
            return;
        }
        if let Some(last) = &mut self.last_reasoning {
            if *last == text {
                return;
            }
            last.clear();
            last.push_str(&text);
        }
        self.add_reasoning(text, field, out);
    }

    fn add_reasoning(&mut self, text: Cow<'_, str>, field: &str, out: &mut Parts) {
        self.came.reasoning = true;
        let origin = &self.origin;
        self.blocks.open(Kind::Reasoning, out, || minted(origin, REASONING_FIELD, field.into()));
        self.blocks.add(text, self.marked, out);
    }

    /// Ends the open block; what was held back as the beginning of a tag was none.
    pub(super) fn close(&mut self, out: &mut Parts) {
        if let Some((kind, held)) = self.tags.as_mut().and_then(Tags::end) {
            match kind {
                Kind::Text => self.plain_text(held.into(), out),
                Kind::Reasoning => self.add_reasoning(held.into(), "content", out),
            }
        }
        self.end_block(out);
    }

    fn end_block(&mut self, out: &mut Parts) {
        let details = match self.blocks.is_open(Kind::Reasoning) {
            true => self.details.take(),
            false => None,
        };
        let metadata = details.and_then(|details| minted(&self.origin, REASONING_DETAILS, details));
        self.blocks.close_with(metadata, out);
    }

    /// Details that came behind the reasoning, or without any that can be shown, in a block of their own.
    pub(super) fn rest_of_details(&mut self, out: &mut Parts) {
        if let Some(details) = self.details.take() {
            let origin = &self.origin;
            self.blocks.open(Kind::Reasoning, out, || minted(origin, REASONING_DETAILS, details));
            self.blocks.close(out);
        }
    }

    /// The model's own words for why it does not answer: shown as its text, and the finish says what it is.
    pub(super) fn refusal(&mut self, refusal: &mut Content<'_>, out: &mut Parts) {
        let text = refusal.take_text();
        self.came.refusal |= !text.is_empty();
        self.text(text, out);
    }

    pub(super) fn part(&mut self, part: &mut ContentPart<'_>, out: &mut Parts) {
        self.reasoning(part.thinking.take_text(), "content", out);
        self.text(part.text.take_text(), out);
        self.refusal(&mut part.refusal, out);
        let Some(url) = part.image_url.0.and_then(loose::url) else { return };
        self.came.files = true;
        self.close(out);
        let media_type = match url.strip_prefix("data:").and_then(|data| data.split([';', ',']).next()) {
            Some(media_type) if !media_type.is_empty() => media_type.to_owned(),
            _ => "image".to_owned(),
        };
        out.push(StreamPart::File(Box::new(FilePart::new(media_type, FileData::Url { url }))));
    }
}

fn minted(origin: &Origin, key: &str, value: Value) -> Option<Box<ProviderMetadata>> {
    let values = ProviderOptions::default().with(&origin.target.provider, key, value);
    Some(Box::new(ProviderMetadata::minted(origin.clone(), values)))
}
