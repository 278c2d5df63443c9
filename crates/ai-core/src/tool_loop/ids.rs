use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use ai_provider::{Id, Message, StreamPart};

/// Makes the ids of blocks and tool calls unique over a run and the history before it. Adapters count blocks anew
/// in each answer, and some servers count their calls anew; user interfaces, and histories sent elsewhere, go by
/// these ids. Within one answer nothing is renamed apart: an id used twice there is the server's fault.
#[derive(Debug, Default)]
pub(super) struct Ids {
    /// All that was passed on.
    taken: HashSet<(Kind, Id)>,
    /// Of this answer: as it came, and as it is passed on.
    here: HashMap<(Kind, Id), Id>,
    /// Whether any of them differ.
    renames: bool,
    answers: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Kind {
    Text,
    Reasoning,
    Call,
}

impl Ids {
    /// Ids that are unique beside those of this history.
    pub(super) fn beside<'a>(history: impl Iterator<Item = &'a Arc<Message>>) -> Self {
        let calls = history.filter_map(|message| match &**message {
            Message::Assistant(message) => {
                Some(message.tool_calls().map(|call| (Kind::Call, call.id.clone())))
            }
            _ => None,
        });
        Self { taken: calls.flatten().collect(), ..Self::default() }
    }

    /// An answer begins.
    pub(super) fn begin(&mut self) {
        self.answers += 1;
        self.renames = false;
        self.here.clear();
    }

    pub(super) fn unify(&mut self, part: &mut StreamPart) {
        match part {
            StreamPart::TextStart { id, .. } => self.start(Kind::Text, id),
            StreamPart::ReasoningStart { id, .. } => self.start(Kind::Reasoning, id),
            StreamPart::ToolInputStart { id, .. } => self.start(Kind::Call, id),
            StreamPart::ToolCall(call) => self.start(Kind::Call, &mut call.id),
            StreamPart::TextDelta { id, .. } | StreamPart::TextEnd { id, .. } => self.go_on(Kind::Text, id),
            StreamPart::ReasoningDelta { id, .. } | StreamPart::ReasoningEnd { id, .. } => {
                self.go_on(Kind::Reasoning, id);
            }
            StreamPart::ToolInputDelta { id, .. } | StreamPart::ToolInputEnd { id } => {
                self.go_on(Kind::Call, id)
            }
            StreamPart::ToolResult(result) => self.go_on(Kind::Call, &mut result.tool_call_id),
            StreamPart::ToolApprovalRequest(request) => self.go_on(Kind::Call, &mut request.tool_call_id),
            _ => {}
        }
    }

    fn start(&mut self, kind: Kind, id: &mut Id) {
        if let Some(known) = self.here.get(&(kind, id.clone())) {
            *id = known.clone();
            return;
        }
        let unique = self.unique(kind, id);
        self.renames |= unique != *id;
        self.taken.insert((kind, unique.clone()));
        self.here.insert((kind, id.clone()), unique.clone());
        *id = unique;
    }

    fn go_on(&self, kind: Kind, id: &mut Id) {
        if self.renames
            && let Some(unique) = self.here.get(&(kind, id.clone()))
        {
            *id = unique.clone();
        }
    }

    fn unique(&self, kind: Kind, id: &Id) -> Id {
        let free = |id: &Id| !self.taken.contains(&(kind, id.clone()));
        if free(id) {
            return id.clone();
        }
        let mut candidates = (self.answers..).map(|number| Id::from(format!("{id}-{number}")));
        candidates.find(free).unwrap_or_else(|| id.clone())
    }
}
