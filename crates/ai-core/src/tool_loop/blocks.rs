use std::collections::{HashMap, HashSet};

use ai_provider::{Id, StreamPart};

/// Makes the ids of text and reasoning blocks unique over all steps of a run: adapters count them anew in each
/// answer, and a user interface keys its blocks by them.
#[derive(Debug, Default)]
pub(super) struct BlockIds {
    seen: HashSet<(Kind, Id)>,
    renamed: HashMap<(Kind, Id), Id>,
    answer: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Kind {
    Text,
    Reasoning,
}

impl BlockIds {
    /// An answer begins.
    pub(super) fn begin(&mut self) {
        self.answer += 1;
        self.renamed.clear();
    }

    pub(super) fn unify(&mut self, part: &mut StreamPart) {
        let (kind, id, starts) = match part {
            StreamPart::TextStart { id, .. } => (Kind::Text, id, true),
            StreamPart::TextDelta { id, .. } | StreamPart::TextEnd { id, .. } => (Kind::Text, id, false),
            StreamPart::ReasoningStart { id, .. } => (Kind::Reasoning, id, true),
            StreamPart::ReasoningDelta { id, .. } | StreamPart::ReasoningEnd { id, .. } => {
                (Kind::Reasoning, id, false)
            }
            _ => return,
        };
        if starts && !self.seen.insert((kind, id.clone())) {
            let unique = Id::from(format!("{}-{id}", self.answer));
            self.seen.insert((kind, unique.clone()));
            self.renamed.insert((kind, id.clone()), unique);
        }
        if !self.renamed.is_empty()
            && let Some(unique) = self.renamed.get(&(kind, id.clone()))
        {
            *id = unique.clone();
        }
    }
}
