//! What the middlewares share that read and rewrite text as it comes.

use std::sync::Arc;

use ai_provider::{Id, Message, ProviderMetadata, StreamPart, SystemMessage};

use super::Parts;

type Metadata = Option<Box<ProviderMetadata>>;

/// How much white space may be held back until it is clear what it belongs to. A page of blank lines is more
/// than any model writes before a tag; beyond it the white space is passed on.
pub(super) const HELD_WHITE_SPACE: usize = 4 << 10;

/// How many bytes at the end of `text` may be the beginning of `tag`.
pub(super) fn begun(text: &str, tag: &str) -> usize {
    let mut ends = tag.char_indices().map(|(at, _)| at).filter(|at| *at > 0).rev();
    ends.find(|end| tag.get(..*end).is_some_and(|begin| text.ends_with(begin))).unwrap_or(0)
}

/// Cuts `text` in two and gives the first `at` bytes.
pub(super) fn split_front(text: &mut String, at: usize) -> String {
    let rest = text.split_off(at);
    std::mem::replace(text, rest)
}

/// Adds to the first instructions, or puts new ones first.
pub(super) fn instruct(messages: &mut Vec<Arc<Message>>, prompt: String) {
    if let Some(first) = messages.first_mut()
        && let Message::System(system) = &**first
    {
        let text =
            if system.text.trim().is_empty() { prompt } else { format!("{}\n\n{prompt}", system.text) };
        *first = Arc::new(Message::System(SystemMessage { text, options: system.options.clone() }));
    } else {
        messages.insert(0, Arc::new(Message::system(prompt)));
    }
}

/// Writes the visible text of one block. Text with something in between becomes several blocks, so that the
/// order of the parts is that of the answer; a block is opened only when it has text.
#[derive(Debug)]
pub(super) struct TextPieces {
    id: Id,
    opened: u32,
    open: Option<Id>,
    /// Waits for a part to go with.
    metadata: Metadata,
}

impl TextPieces {
    pub(super) fn new(id: Id, metadata: Metadata) -> Self {
        Self { id, opened: 0, open: None, metadata }
    }

    /// The block this text comes from.
    pub(super) fn source(&self) -> &Id {
        &self.id
    }

    /// Whether a block is open under the id of the source, so that a delta of the source can be passed on as
    /// it is.
    pub(super) fn is_source_open(&self) -> bool {
        self.metadata.is_none() && self.open.as_ref() == Some(&self.id)
    }

    /// Whether there was no text so far.
    pub(super) fn is_empty(&self) -> bool {
        self.opened == 0
    }

    /// Takes metadata along with the next part.
    pub(super) fn attach(&mut self, metadata: Metadata) {
        match (&mut self.metadata, metadata) {
            (Some(ours), Some(theirs)) => ours.merge(&theirs),
            (ours @ None, theirs) => *ours = theirs,
            (Some(_), None) => {}
        }
    }

    pub(super) fn text(&mut self, delta: String, out: &mut Parts) {
        if delta.is_empty() {
            return;
        }
        let id = self.opened_block(out);
        out.push(StreamPart::TextDelta { id, delta, metadata: self.metadata.take() });
    }

    /// What follows is no text: the next text begins a new block.
    pub(super) fn cut(&mut self, out: &mut Parts) {
        if let Some(id) = self.open.take() {
            out.push(StreamPart::text_end(id));
        }
    }

    /// The source has ended. `keep_empty`: a block without text is written too. One with metadata always is.
    pub(super) fn end(&mut self, keep_empty: bool, out: &mut Parts) {
        if self.open.is_none() && (self.metadata.is_some() || (keep_empty && self.is_empty())) {
            self.opened_block(out);
        }
        if let Some(id) = self.open.take() {
            out.push(StreamPart::TextEnd { id, metadata: self.metadata.take() });
        }
    }

    fn opened_block(&mut self, out: &mut Parts) -> Id {
        if let Some(id) = &self.open {
            return id.clone();
        }
        let id = match self.opened {
            0 => self.id.clone(),
            number => Id::from(format!("{}.{number}", self.id)),
        };
        self.opened += 1;
        self.open = Some(id.clone());
        out.push(StreamPart::TextStart { id: id.clone(), metadata: self.metadata.take() });
        id
    }
}
