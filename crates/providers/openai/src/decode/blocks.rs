use std::borrow::Cow;

use ai_http::Parts;
use ai_http::halves::Joiner;
use ai_provider::{Id, ProviderMetadata, StreamPart};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Reasoning,
}

/// The one block that is open. The API has no blocks: a change of kind is what ends one.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    open: Option<(Kind, Id)>,
    count: usize,
    joiner: Joiner,
}

impl Blocks {
    /// Opens a block of this kind, unless it is open.
    pub(super) fn open(
        &mut self,
        kind: Kind,
        out: &mut Parts,
        metadata: impl FnOnce() -> Option<Box<ProviderMetadata>>,
    ) {
        if self.is_open(kind) {
            return;
        }
        self.close(out);
        let id = Id::from(self.count.to_string());
        self.count += 1;
        self.open = Some((kind, id.clone()));
        let metadata = metadata();
        out.push(match kind {
            Kind::Text => StreamPart::TextStart { id, metadata },
            Kind::Reasoning => StreamPart::ReasoningStart { id, metadata },
        });
    }

    /// Adds to the open block: `text` may hold stand-ins for halves of characters if it is `marked`.
    pub(super) fn add(&mut self, text: Cow<'_, str>, marked: bool, out: &mut Parts) {
        let text = match marked || self.joiner.holds() {
            true => self.joiner.join(&text, marked).0,
            false => text.into_owned(),
        };
        self.push(text, out);
    }

    fn push(&self, delta: String, out: &mut Parts) {
        let Some((kind, id)) = self.open.as_ref().filter(|_| !delta.is_empty()) else { return };
        let id = id.clone();
        out.push(match kind {
            Kind::Text => StreamPart::TextDelta { id, delta, metadata: None },
            Kind::Reasoning => StreamPart::ReasoningDelta { id, delta, metadata: None },
        });
    }

    pub(super) fn is_open(&self, kind: Kind) -> bool {
        self.open.as_ref().is_some_and(|(open, _)| *open == kind)
    }

    pub(super) fn close(&mut self, out: &mut Parts) {
        self.close_with(None, out);
    }

    /// Ends the open block, with what is only known now.
    pub(super) fn close_with(&mut self, metadata: Option<Box<ProviderMetadata>>, out: &mut Parts) {
        if let Some(lost) = self.joiner.end() {
            self.push(lost.to_string(), out);
        }
        match self.open.take() {
            Some((Kind::Text, id)) => out.push(StreamPart::TextEnd { id, metadata }),
            Some((Kind::Reasoning, id)) => out.push(StreamPart::ReasoningEnd { id, metadata }),
            None => {}
        }
    }
}
