use std::borrow::Cow;

use ai_http::Parts;
use ai_http::halves::Joiner;
use ai_provider::{Id, ProviderMetadata, StreamPart};
use serde_json::Value;

use super::mint::Mint;
use super::text::joined;
use crate::responses::minted::{CONTENT, ENCRYPTED, FORM};

/// A reasoning item: a block for each of its parts, one after the other, and at least one, since the item has to
/// go back even if it says nothing.
#[derive(Debug)]
pub(super) struct Reasoning {
    item_id: String,
    block: Id,
    /// The part the open block is of; none as long as nothing came.
    part: Option<Part>,
    came: Vec<Part>,
}

/// A part of a reasoning item: of its summary, or of its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) form: Form,
    pub(super) index: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Summary,
    /// The reasoning itself, which open models show.
    Content,
}

impl Reasoning {
    pub(super) fn open(item_id: &str, mint: &mut Mint, out: &mut Parts) -> Self {
        let block = start(item_id, 0, mint, out);
        Self { item_id: item_id.to_owned(), block, part: None, came: Vec::new() }
    }

    pub(super) fn came(&self, part: Part) -> bool {
        self.came.contains(&part)
    }

    /// More text of a part.
    pub(super) fn add(
        &mut self,
        part: Part,
        text: Cow<'_, str>,
        marked: bool,
        joiner: &mut Joiner,
        mint: &mut Mint,
        out: &mut Parts,
    ) {
        if self.part != Some(part) {
            if self.part.is_some() {
                self.end(mint.begun(&self.item_id, self.form()), joiner, out);
                self.block = start(&self.item_id, self.came.len(), mint, out);
            }
            self.part = Some(part);
            self.came.push(part);
        }
        let delta = joined(joiner, text, marked);
        if !delta.is_empty() {
            out.push(StreamPart::ReasoningDelta { id: self.block.clone(), delta, metadata: None });
        }
    }

    /// The item is over, and `done` unless the answer ended before it. What is encrypted of it goes with its last
    /// block.
    pub(super) fn close(
        &mut self,
        done: bool,
        encrypted: Option<&str>,
        joiner: &mut Joiner,
        mint: &Mint,
        out: &mut Parts,
    ) {
        let encrypted = encrypted.map(|encrypted| (ENCRYPTED, encrypted.into()));
        let metadata = match done {
            true => mint.done(&self.item_id, encrypted.into_iter().chain(self.form())),
            false => mint.begun(&self.item_id, encrypted.into_iter().chain(self.form())),
        };
        self.end(metadata, joiner, out);
    }

    fn form(&self) -> Option<(&'static str, Value)> {
        self.part.filter(|part| part.form == Form::Content).map(|_| (FORM, CONTENT.into()))
    }

    fn end(&self, metadata: Option<Box<ProviderMetadata>>, joiner: &mut Joiner, out: &mut Parts) {
        let id = self.block.clone();
        if let Some(lost) = joiner.end() {
            out.push(StreamPart::ReasoningDelta { id: id.clone(), delta: lost.to_string(), metadata: None });
        }
        out.push(StreamPart::ReasoningEnd { id, metadata });
    }
}

fn start(item_id: &str, nth: usize, mint: &mut Mint, out: &mut Parts) -> Id {
    let id = mint.block(&format!("{item_id}:{nth}"));
    let metadata = mint.begun(item_id, []);
    out.push(StreamPart::ReasoningStart { id: id.clone(), metadata });
    id
}
