use crate::port::{Refusal, StoreError};
use crate::record::ReturnReason;

/// Why a verb was not done.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ManagerError {
    /// It does not fit how the topic stands. Nothing has changed.
    #[error("refused: {0}")]
    Refused(Refusal),
    /// The input is written down, and was returned: the turn that should have answered it could not be started.
    #[error("the turn could not be started")]
    NotStarted(ReturnReason),
    /// No node that owns the topic could be reached in time. The verb may have been done: an input sent again with the
    /// same id counts once.
    #[error("the topic's owner does not answer")]
    NoOwner,
    /// A store does not do what it was asked.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The manager has shut down.
    #[error("the manager has shut down")]
    ShutDown,
}

impl ManagerError {
    /// Why it was refused, if it was.
    pub fn refusal(&self) -> Option<Refusal> {
        match self {
            Self::Refused(why) => Some(*why),
            _ => None,
        }
    }
}
