use std::borrow::Cow;

use ai_http::Parts;
use ai_http::halves::Joiner;
use ai_provider::{Id, ProviderMetadata, StreamPart};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Reasoning,
}

/// The one block that is open. The API has no blocks: a change of kind is what ends one. So does a second
/// signature, which would take the place of the first.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    open: Option<Open>,
    count: usize,
    joiner: Joiner,
}

#[derive(Debug)]
struct Open {
    kind: Kind,
    id: Id,
    signed: bool,
}

impl Blocks {
    /// Adds a piece: `text` may hold stand-ins for halves of characters if it is `marked`. Without text and
    /// signature it says nothing. A block of reasoning begins with the metadata `thought` makes.
    pub(super) fn add(
        &mut self,
        kind: Kind,
        text: Cow<'_, str>,
        marked: bool,
        signature: Option<Box<ProviderMetadata>>,
        thought: impl FnOnce() -> Box<ProviderMetadata>,
        out: &mut Parts,
    ) {
        if text.is_empty() && signature.is_none() {
            return;
        }
        let signed = signature.is_some();
        if self.open.as_ref().is_some_and(|open| open.kind != kind || (open.signed && signed)) {
            self.close(out);
        }
        let open = self.open.get_or_insert_with(|| {
            let id = Id::from(self.count.to_string());
            self.count += 1;
            out.push(match kind {
                Kind::Text => StreamPart::text_start(id.clone()),
                Kind::Reasoning => StreamPart::ReasoningStart { id: id.clone(), metadata: Some(thought()) },
            });
            Open { kind, id, signed: false }
        });
        open.signed |= signed;
        let delta = match marked || self.joiner.holds() {
            true => self.joiner.join(&text, marked).0,
            false => text.into_owned(),
        };
        if !delta.is_empty() || signature.is_some() {
            out.push(open.delta(delta, signature));
        }
    }

    pub(super) fn close(&mut self, out: &mut Parts) {
        if let (Some(lost), Some(open)) = (self.joiner.end(), &self.open) {
            out.push(open.delta(lost.to_string(), None));
        }
        match self.open.take() {
            Some(Open { kind: Kind::Text, id, .. }) => out.push(StreamPart::text_end(id)),
            Some(Open { kind: Kind::Reasoning, id, .. }) => out.push(StreamPart::reasoning_end(id)),
            None => {}
        }
    }
}

impl Open {
    fn delta(&self, delta: String, metadata: Option<Box<ProviderMetadata>>) -> StreamPart {
        let id = self.id.clone();
        match self.kind {
            Kind::Text => StreamPart::TextDelta { id, delta, metadata },
            Kind::Reasoning => StreamPart::ReasoningDelta { id, delta, metadata },
        }
    }
}
