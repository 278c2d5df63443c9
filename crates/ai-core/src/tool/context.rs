use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use ai_provider::{CancellationToken, Id, Message, RequestId, RunScope, TargetId, Usage};

use super::terminal::TerminalPermit;
use crate::run::brief;

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
    pub messages: Arc<Vec<Arc<Message>>>,
    /// Cancelled with the run. A tool whose future is dropped ends anyway; this is for what it started
    /// elsewhere.
    pub cancel: CancellationToken,
    /// When the run must be over, read off tokio's clock; no limit if absent.
    pub deadline: Option<Instant>,
    /// Where layers keep what lasts for one run.
    pub scope: RunScope,
    pub(crate) trusted: bool,
    pub(crate) told: Arc<Mutex<Told>>,
}

/// What a tool says while it runs, kept even if it is cut off.
#[derive(Debug, Default)]
pub(crate) struct Told {
    effects: Vec<String>,
    usage: Option<Box<Usage>>,
}

/// More effects than that are not remembered: they are for a reader to act on.
const MOST_EFFECTS: usize = 1_000;

/// Characters of an effect that are remembered.
const EFFECT_LENGTH: usize = 1_000;

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

    /// Reports an effect that has happened, for the case that the tool is cut off before it gives a result. Of a
    /// call the first 1,000 are kept, of each 1,000 characters.
    pub fn note_effect(&self, effect: impl Into<String>) {
        let mut told = self.told();
        if told.effects.len() < MOST_EFFECTS {
            told.effects.push(brief(&effect.into(), EFFECT_LENGTH));
        }
    }

    /// Reports what the tool took of a model it called itself. It is counted in the run's usage, also if the tool
    /// fails or is cut off later.
    pub fn add_usage(&self, usage: &Usage) {
        self.told().usage.get_or_insert_default().add(usage);
    }

    pub(crate) fn known_effects(&self) -> Vec<String> {
        self.told().effects.clone()
    }

    pub(crate) fn usage(&self) -> Option<Box<Usage>> {
        self.told().usage.clone()
    }

    fn told(&self) -> MutexGuard<'_, Told> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
