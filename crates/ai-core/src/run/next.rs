use ai_provider::ToolCall;

use super::outcome::Outcome;
use super::record::{PendingApproval, ToolRecord};

/// What the driver shall do.
#[derive(Debug, PartialEq)]
#[non_exhaustive]
pub enum Next<'a> {
    /// Prepare this step; answer with [`Input::Prepared`](super::Input::Prepared).
    Prepare {
        /// Counts from 1.
        step: u32,
    },
    /// Call the model with [`Run::messages`](super::Run::messages); answer with
    /// [`Input::Answered`](super::Input::Answered) or [`Input::ModelFailed`](super::Input::ModelFailed).
    CallModel,
    /// Look at calls with wrong input; answer with [`Input::Repaired`](super::Input::Repaired).
    Repair {
        /// The calls.
        calls: Vec<Invalid<'a>>,
    },
    /// Ask the policies; answer with [`Input::Decided`](super::Input::Decided).
    DecideApproval {
        /// The calls.
        calls: Vec<&'a ToolCall>,
    },
    /// Run these; answer each with [`Input::ToolFinished`](super::Input::ToolFinished), in any order.
    CallTools {
        /// The calls.
        calls: Vec<&'a ToolCall>,
    },
    /// Ask the stop conditions; answer with [`Input::Verdicts`](super::Input::Verdicts).
    CheckStop,
    /// A person must decide; answer each with [`Input::Answer`](super::Input::Answer). The run may be stored meanwhile.
    AwaitApproval {
        /// The calls.
        pending: Vec<PendingApproval>,
    },
    /// Nothing.
    Done(&'a Outcome),
}

/// A call that cannot be run as it is.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Invalid<'a> {
    /// The call.
    pub call: &'a ToolCall,
    /// What becomes of it if it is not repaired: its status says what is wrong, its result what the model reads.
    pub record: &'a ToolRecord,
}
