use ai_provider::Id;

use super::markdown::StablePrefix;
use crate::ui::UiChunk;

/// The text a chunk shows to the user: that of the answer alone, never of reasoning, tools or errors.
///
/// ```
/// use agent_loop::{UiChunk, visible_text};
/// let chunk = UiChunk::TextDelta { id: "1".into(), delta: "Hi".to_owned(), provider_metadata: None };
/// assert_eq!(visible_text(&chunk), Some("Hi"));
/// assert_eq!(visible_text(&UiChunk::FinishStep), None);
/// ```
pub fn visible_text(chunk: &UiChunk) -> Option<&str> {
    match chunk {
        UiChunk::TextDelta { delta, .. } => Some(delta),
        _ => None,
    }
}

/// An answer while it is being written: what was shown, which is not yet what is committed.
///
/// The text is Markdown. Each block is told in two pieces: a stable one, which is rendered once, since nothing that
/// follows changes how it looks, and a tail, which is rendered again with each delta. A paragraph is stable once a
/// blank line has closed it, a fence once its closing line is there, a list once something else follows it. A
/// definition of a link (`[name]: address`) may still change links before it.
///
/// ```
/// use agent_loop::{PendingView, UiProtocol};
/// let mut view = PendingView::default();
/// for line in [
///     r#"{"type":"text-start","id":"1"}"#,
///     r#"{"type":"text-delta","id":"1","delta":"Done.\n\nNow the co"}"#,
/// ] {
///     view.push(&UiProtocol::V7.decode(line)?);
/// }
/// let block = view.blocks().next().unwrap();
/// assert_eq!((block.stable, block.tail), ("Done.\n\n", "Now the co"));
/// # Ok::<(), agent_loop::UiReadError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct PendingView {
    blocks: Vec<Block>,
    /// How many blocks there were when the step began.
    before_step: usize,
}

#[derive(Clone, Debug)]
struct Block {
    id: Id,
    text: String,
    prefix: StablePrefix,
    done: bool,
}

/// A block of text under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PendingBlock<'a> {
    /// What no longer changes.
    pub stable: &'a str,
    /// What still may.
    pub tail: &'a str,
}

impl PendingView {
    /// Takes the next chunk. Those that show no text are passed over.
    pub fn push(&mut self, chunk: &UiChunk) {
        match chunk {
            UiChunk::StartStep => self.before_step = self.blocks.len(),
            UiChunk::ResetStep => self.blocks.truncate(self.before_step),
            UiChunk::TextStart { id, .. } => self.blocks.push(Block {
                id: id.clone(),
                text: String::new(),
                prefix: StablePrefix::default(),
                done: false,
            }),
            UiChunk::TextDelta { id, delta, .. } => {
                if let Some(block) = self.open(id) {
                    block.text.push_str(delta);
                    block.prefix.advance(&block.text);
                }
            }
            UiChunk::TextEnd { id, .. } => {
                if let Some(block) = self.open(id) {
                    block.done = true;
                }
            }
            _ => {}
        }
    }

    /// The blocks of text, in the order in which they began. A block that has ended is stable as a whole.
    pub fn blocks(&self) -> impl Iterator<Item = PendingBlock<'_>> {
        self.blocks.iter().map(|block| {
            let at = if block.done { block.text.len() } else { block.prefix.len() };
            let (stable, tail) = block.text.split_at(at);
            PendingBlock { stable, tail }
        })
    }

    fn open(&mut self, id: &Id) -> Option<&mut Block> {
        self.blocks.iter_mut().rev().find(|block| block.id == *id && !block.done)
    }
}

#[cfg(test)]
mod tests;
