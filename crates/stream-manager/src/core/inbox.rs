use std::collections::VecDeque;

use super::effect::BeginKind;
use super::fact::Ticket;
use crate::port::WhenLive;
use crate::record::{AttemptId, Input, InputBody, InputId, RowId, StoredInput};

/// How many inputs that went back are remembered. As many as can wait: one stop gives back no more.
const GIVEN_BACK: usize = 256;

/// What was said and is not used yet.
#[derive(Clone, Debug, Default)]
pub(super) struct Inbox {
    /// On their way into the store, one at a time, so that they keep their order. The first is being written.
    pub(super) accepting: VecDeque<Accepting>,
    /// For the running turn.
    pub(super) steers: VecDeque<StoredInput>,
    /// Handed to the driver of an attempt, which has not said yet what became of it. Whether it is used is known for
    /// certain once the end of that attempt is written, not before.
    pub(super) redirecting: Option<(AttemptId, StoredInput)>,
    /// For turns of their own.
    pub(super) starts: VecDeque<Start>,
    /// What went back lately. The store may not know it yet, and one of these sent again is not new.
    given_back: VecDeque<InputId>,
}

/// An input that is being written down.
#[derive(Clone, Debug)]
pub(super) struct Accepting {
    pub(super) ticket: Ticket,
    pub(super) input: Input,
    pub(super) when_live: WhenLive,
}

/// A turn to come.
#[derive(Clone, Debug)]
pub(super) struct Start {
    /// All of them messages, or one of anything.
    pub(super) inputs: Vec<StoredInput>,
    /// Who waits to hear whether it begins.
    pub(super) ticket: Option<Ticket>,
}

impl Start {
    pub(super) fn models(&self) -> Vec<Option<String>> {
        let named = self.inputs.iter().map(|stored| &stored.input.models).find(|models| !models.is_empty());
        named.map_or_else(|| vec![None], |models| models.iter().cloned().map(Some).collect())
    }

    pub(super) fn kind(&self) -> Option<BeginKind> {
        let first = self.inputs.first()?;
        match first.input.body.known()? {
            InputBody::Message { .. } => Some(BeginKind::Messages(self.inputs.clone())),
            InputBody::Regenerate { row } => {
                Some(BeginKind::Regenerate { input: first.clone(), row: row.clone() })
            }
            InputBody::Append { beside } => {
                Some(BeginKind::Append { input: first.clone(), beside: beside.clone() })
            }
            InputBody::Approval { .. } | InputBody::ToolResult { .. } => None,
        }
    }
}

impl Inbox {
    pub(super) fn len(&self) -> usize {
        let starts: usize = self.starts.iter().map(|start| start.inputs.len()).sum();
        self.steers.len() + usize::from(self.redirecting.is_some()) + starts
    }

    pub(super) fn has(&self, id: &InputId) -> bool {
        let starts = self.starts.iter().flat_map(|start| &start.inputs);
        let handed = self.redirecting.iter().map(|(_, stored)| stored);
        self.steers.iter().chain(handed).chain(starts).any(|stored| stored.input.id == *id)
    }

    pub(super) fn give_back(&mut self, id: InputId) {
        if self.given_back.len() == GIVEN_BACK {
            self.given_back.pop_front();
        }
        self.given_back.push_back(id);
    }

    pub(super) fn gave_back(&self, id: &InputId) -> bool {
        self.given_back.contains(id)
    }

    /// Takes what was handed to this attempt, if nothing is known of it.
    pub(super) fn take_handed(&mut self, attempt: AttemptId) -> Option<StoredInput> {
        self.redirecting.take_if(|(to, _)| *to == attempt).map(|(_, stored)| stored)
    }

    /// The same, if it is this input.
    pub(super) fn take_handed_as(&mut self, attempt: AttemptId, id: &InputId) -> Option<StoredInput> {
        let handed = self.redirecting.take_if(|(to, stored)| *to == attempt && stored.input.id == *id);
        handed.map(|(_, stored)| stored)
    }

    /// Takes everything that waits, but for what is handed to a driver.
    pub(super) fn drain(&mut self) -> Vec<StoredInput> {
        let mut all: Vec<_> = self.steers.drain(..).collect();
        all.extend(self.starts.drain(..).flat_map(|start| start.inputs));
        all.sort_by_key(|stored| stored.seq);
        all
    }

    /// Takes one out.
    pub(super) fn remove(&mut self, id: &InputId) -> Option<StoredInput> {
        if let Some(at) = self.steers.iter().position(|stored| stored.input.id == *id) {
            return self.steers.remove(at);
        }
        for start in &mut self.starts {
            if let Some(at) = start.inputs.iter().position(|stored| stored.input.id == *id) {
                let taken = start.inputs.remove(at);
                self.starts.retain(|start| !start.inputs.is_empty());
                return Some(taken);
            }
        }
        None
    }

    /// What waited for the running turn comes before what waited for the next one, answered together.
    pub(super) fn steers_to_start(&mut self) {
        let inputs: Vec<_> = self.steers.drain(..).collect();
        if !inputs.is_empty() {
            self.starts.push_front(Start { inputs, ticket: None });
        }
    }
}

/// The row that an input is about.
pub(super) fn row_of(body: &InputBody) -> Option<&RowId> {
    match body {
        InputBody::Message { .. } => None,
        InputBody::Regenerate { row } | InputBody::Append { beside: row } => Some(row),
        InputBody::Approval { row, .. } | InputBody::ToolResult { row, .. } => Some(row),
    }
}
