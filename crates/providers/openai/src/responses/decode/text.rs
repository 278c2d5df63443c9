use std::borrow::Cow;

use ai_http::Parts;
use ai_http::halves::Joiner;
use ai_provider::{Id, StreamPart};
use serde_json::Value;

use super::mint::Mint;
use crate::responses::minted::{ANNOTATIONS, PHASE};

/// Annotations of one message that are kept. Search answers have some dozens.
const MAX_ANNOTATIONS: usize = 4_096;

/// The text of a message: one block, whatever parts its content has.
#[derive(Debug)]
pub(super) struct Text {
    item_id: String,
    block: Id,
    /// The parts of its content of which something came.
    came: Vec<i64>,
    annotations: Vec<Value>,
}

impl Text {
    pub(super) fn open(item_id: &str, phase: Option<&str>, mint: &mut Mint, out: &mut Parts) -> Self {
        let block = mint.block(item_id);
        let metadata = mint.begun(item_id, phase.map(|phase| (PHASE, phase.into())));
        out.push(StreamPart::TextStart { id: block.clone(), metadata });
        Self { item_id: item_id.to_owned(), block, came: Vec::new(), annotations: Vec::new() }
    }

    pub(super) fn came(&self, part: i64) -> bool {
        self.came.contains(&part)
    }

    /// More text of a part.
    pub(super) fn add(
        &mut self,
        part: i64,
        text: Cow<'_, str>,
        marked: bool,
        joiner: &mut Joiner,
        out: &mut Parts,
    ) {
        let delta = joined(joiner, text, marked);
        if !self.came(part) {
            self.came.push(part);
        }
        if !delta.is_empty() {
            out.push(StreamPart::TextDelta { id: self.block.clone(), delta, metadata: None });
        }
    }

    pub(super) fn annotate(&mut self, annotation: Value) {
        if self.annotations.len() < MAX_ANNOTATIONS {
            self.annotations.push(annotation);
        }
    }

    /// The list of a part that is done, which has those that came alone too.
    pub(super) fn annotate_all(&mut self, annotations: &[Value]) {
        if annotations.len() > self.annotations.len() {
            self.annotations = annotations.iter().take(MAX_ANNOTATIONS).cloned().collect();
        }
    }

    /// The block ends; its item is `done` unless the answer ended before it.
    pub(super) fn close(&mut self, done: bool, joiner: &mut Joiner, mint: &Mint, out: &mut Parts) {
        let id = self.block.clone();
        if let Some(lost) = joiner.end() {
            out.push(StreamPart::TextDelta { id: id.clone(), delta: lost.to_string(), metadata: None });
        }
        let annotations = std::mem::take(&mut self.annotations);
        let annotations = (!annotations.is_empty()).then(|| (ANNOTATIONS, annotations.into()));
        let metadata = match done {
            true => mint.done(&self.item_id, annotations),
            false => mint.begun(&self.item_id, annotations),
        };
        out.push(StreamPart::TextEnd { id, metadata });
    }
}

/// The text with halves of characters put together; a half at its end is held.
pub(super) fn joined(joiner: &mut Joiner, text: Cow<'_, str>, marked: bool) -> String {
    match marked || joiner.holds() {
        true => joiner.join(&text, marked).0,
        false => text.into_owned(),
    }
}
