use std::collections::HashSet;

use ai_http::IdSeed;
use ai_provider::Id;

/// The beginning of the ids this adapter makes. They mean nothing to the server and do not go back to it.
pub(crate) const MADE_ID: &str = "gemini_";

/// Gives every call of an answer an id: the server's own unless another call has it, else one of ours.
#[derive(Debug)]
pub(super) struct AnswerIds {
    seed: IdSeed,
    used: HashSet<Id>,
}

impl AnswerIds {
    pub(super) fn new(seed: IdSeed) -> Self {
        Self { seed, used: HashSet::new() }
    }

    pub(super) fn call(&mut self, given: Option<&str>) -> Id {
        let made = |ids: &Self| ids.seed.id(MADE_ID.trim_end_matches('_'), ids.used.len());
        let mut id = match given {
            Some(given) if !self.used.contains(given) => Id::from(given),
            _ => made(self),
        };
        while !self.used.insert(id.clone()) {
            // Only a server that gives ids like ours comes here.
            id = Id::from(format!("{id}_"));
        }
        id
    }

    pub(super) fn source(&self, nth: usize) -> Id {
        self.seed.id("source", nth)
    }
}
