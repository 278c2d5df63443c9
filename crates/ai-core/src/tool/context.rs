use std::sync::{Arc, Mutex, PoisonError};

use ai_provider::{CancellationToken, Id, Message, RequestId, RunScope, TargetId};

use super::terminal::TerminalPermit;

/// What a tool is told about its call.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ToolContext {
    /// The call.
    pub call_id: Id,
    /// The name the model called the tool by.
    pub tool_name: String,
    /// The model that called it.
    pub target: TargetId,
    /// The request whose answer made the call.
    pub request_id: RequestId,
    /// The history up to the answer that made the call, without that answer.
    pub messages: Arc<[Arc<Message>]>,
    /// Cancelled with the run. A tool whose future is dropped ends anyway; this is for what it started
    /// elsewhere.
    pub cancel: CancellationToken,
    /// Where layers keep what lasts for one run.
    pub scope: RunScope,
    pub(crate) trusted: bool,
    pub(crate) effects: Arc<Mutex<Vec<String>>>,
}

impl ToolContext {
    /// The right to end the run: only for tools added with [`ToolSet::trusted`](super::ToolSet::trusted).
    pub fn terminal_permit(&self) -> Option<TerminalPermit> {
        self.trusted.then(|| TerminalPermit::new(self.call_id.clone(), self.tool_name.clone()))
    }

    /// The context a trusted tool gives to a tool it calls itself: the same, without the right to end the
    /// run.
    #[must_use]
    pub fn for_inner(&self) -> Self {
        Self { trusted: false, ..self.clone() }
    }

    /// Reports an effect that has happened, for the case that the tool is cut off before it gives a result.
    pub fn note_effect(&self, effect: impl Into<String>) {
        self.effects.lock().unwrap_or_else(PoisonError::into_inner).push(effect.into());
    }

    pub(crate) fn known_effects(&self) -> Vec<String> {
        self.effects.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
