use ai_core::run::Outcome;

/// The three ways in which a run can end for those who watch it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// It came to an end of its own.
    Finish,
    /// It was cancelled.
    Abort,
    /// It failed, or was stopped at a limit.
    Error,
}

impl Ending {
    /// The one place where an outcome is judged.
    pub(crate) fn of(outcome: &Outcome) -> Self {
        match outcome {
            Outcome::Cancelled { .. } => Self::Abort,
            Outcome::StepCap { .. }
            | Outcome::LoopGuard { .. }
            | Outcome::ToolTerminal(_)
            | Outcome::Failed { .. } => Self::Error,
            _ => Self::Finish,
        }
    }
}
