use std::error::Error;
use std::fmt;

use ai_provider::Id;

/// Why a chunk cannot be folded into a message.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum UiReduceError {
    /// It goes on with, or ends, a block that is not open.
    UnknownBlock {
        /// The block.
        id: Id,
    },
    /// It is about a call that never came.
    UnknownCall {
        /// The call.
        tool_call_id: Id,
    },
    /// It answers a question that was never asked.
    UnknownApproval {
        /// The question.
        approval_id: Id,
    },
    /// The message is larger than what is taken.
    TooLarge {
        /// The limit, in bytes.
        limit: usize,
    },
}

impl fmt::Display for UiReduceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownBlock { id } => write!(f, "the block `{id}` is not open"),
            Self::UnknownCall { tool_call_id } => write!(f, "there is no call `{tool_call_id}`"),
            Self::UnknownApproval { approval_id } => write!(f, "nothing was asked as `{approval_id}`"),
            Self::TooLarge { limit } => write!(f, "the message is larger than {limit} bytes"),
        }
    }
}

impl Error for UiReduceError {}
