use ai_provider::Id;

use super::error::ToolError;
use crate::run::TerminalRecord;

/// The right to end a run, given to trusted tools by
/// [`ToolContext::terminal_permit`](super::ToolContext::terminal_permit).
#[derive(Debug)]
pub struct TerminalPermit {
    call_id: Id,
    tool: String,
}

impl TerminalPermit {
    pub(super) fn new(call_id: Id, tool: String) -> Self {
        Self { call_id, tool }
    }

    /// Ends the run after this step: going on makes no sense. `message` is for the user.
    pub fn fail(self, message: impl Into<String>) -> TerminalFailure {
        TerminalFailure(TerminalRecord {
            tool_call_id: self.call_id,
            tool_name: self.tool,
            message: message.into(),
            key: None,
            cancel_siblings: false,
        })
    }
}

/// A failure that ends the run.
///
/// Only a [`TerminalPermit`] makes one, and it is never read from data: JSON of the same shape ends nothing.
/// Whoever holds one may pass it on.
///
/// ```compile_fail
/// let forged: ai_core::TerminalFailure = serde_json::from_str("{}").unwrap();
/// ```
#[derive(Clone, Debug)]
pub struct TerminalFailure(TerminalRecord);

impl TerminalFailure {
    /// Adds a stable key for translations.
    #[must_use]
    pub fn with_key(mut self, key: impl Into<String>) -> Self {
        self.0.key = Some(key.into());
        self
    }

    /// Cuts the other calls of the same answer short instead of letting them finish. Those that were running get
    /// what an interrupted call gets, the others are not run.
    #[must_use]
    pub fn cancelling_siblings(mut self) -> Self {
        self.0.cancel_siblings = true;
        self
    }

    /// The failure as plain data.
    pub fn record(&self) -> &TerminalRecord {
        &self.0
    }
}

impl From<TerminalFailure> for ToolError {
    fn from(failure: TerminalFailure) -> Self {
        Self::terminal(failure)
    }
}
