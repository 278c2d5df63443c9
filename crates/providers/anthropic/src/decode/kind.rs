use std::borrow::Cow;

use ai_http::halves::Joiner;
use ai_provider::{Id, StreamPart};
use serde_json::Value;

use super::call::Call;
use super::loose::Index;

#[derive(Debug)]
pub(super) struct Open {
    pub(super) index: Index,
    pub(super) kind: Kind,
}

#[derive(Debug)]
pub(super) enum Kind {
    Text(Run),
    Reasoning(Run),
    /// The summary a history was replaced by, and what belongs to it.
    Compaction(Run, Option<Value>),
    /// The input of the tool that stands for the answer's format, shown as text.
    Json(Run),
    Call(Box<Call>),
    /// A block of a kind this adapter does not know, with its type; gone once a delta changed it.
    Unknown(Option<(String, Value)>),
    /// Complete, or not shown.
    Silent,
}

/// Text of one block.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) id: Id,
    joiner: Joiner,
    pub(super) empty: bool,
}

impl Run {
    pub(super) fn new(id: Id) -> Self {
        Self { id, joiner: Joiner::default(), empty: true }
    }

    pub(super) fn add(&mut self, text: Cow<'_, str>, marked: bool) -> Option<(Id, String)> {
        let text = match marked || self.joiner.holds() {
            true => self.joiner.join(&text, marked).0,
            false => text.into_owned(),
        };
        self.empty &= text.is_empty();
        (!text.is_empty()).then(|| (self.id.clone(), text))
    }

    pub(super) fn lost(&mut self) -> Option<(Id, String)> {
        self.joiner.end().map(|lost| (self.id.clone(), lost.to_string()))
    }
}

pub(super) fn text_delta((id, delta): (Id, String)) -> StreamPart {
    StreamPart::TextDelta { id, delta, metadata: None }
}

pub(super) fn reasoning_delta((id, delta): (Id, String)) -> StreamPart {
    StreamPart::ReasoningDelta { id, delta, metadata: None }
}
