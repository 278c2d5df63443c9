use ai_http::Parts;
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
}

impl Blocks {
    /// The id of the open block of this kind, which is begun if need be.
    pub(super) fn open(
        &mut self,
        kind: Kind,
        out: &mut Parts,
        metadata: impl FnOnce() -> Option<Box<ProviderMetadata>>,
    ) -> Id {
        if let Some((open, id)) = &self.open
            && *open == kind
        {
            return id.clone();
        }
        self.close(out);
        let id = Id::from(self.count.to_string());
        self.count += 1;
        self.open = Some((kind, id.clone()));
        let (start_id, metadata) = (id.clone(), metadata());
        out.push(match kind {
            Kind::Text => StreamPart::TextStart { id: start_id, metadata },
            Kind::Reasoning => StreamPart::ReasoningStart { id: start_id, metadata },
        });
        id
    }

    pub(super) fn close(&mut self, out: &mut Parts) {
        match self.open.take() {
            Some((Kind::Text, id)) => out.push(StreamPart::text_end(id)),
            Some((Kind::Reasoning, id)) => out.push(StreamPart::reasoning_end(id)),
            None => {}
        }
    }
}
