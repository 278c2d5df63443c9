//! The run as data: what shall happen next, and what has happened.
//!
//! A [`Run`] does nothing by itself. [`Run::next`] says what its driver shall do, [`Run::feed`] takes what came
//! of it. There is no closure, no clock and no future in it, so it can be stored after any input and go on in
//! another process. The driver is [`ToolLoop`](crate::ToolLoop).

mod calls;
mod config;
mod guard;
mod heal;
mod input;
mod machine;
mod next;
mod outcome;
mod phase;
mod record;
mod snapshot;
mod step;
mod stored;
mod transitions;

pub use config::{LoopGuard, RunConfig};
pub use input::{Answer, ApprovalVerdict, Input, Interruption, OutOfOrder, Prepared, ToolFacts, Verdict};
pub use machine::Run;
pub use next::{Invalid, Next};
pub use outcome::{BudgetKind, Outcome, TerminalRecord};
pub use record::{
    DeliveryUnknown, FailedStep, PendingApproval, StepRecord, ToolRecord, ToolStatus, VerdictRecord,
};
pub use snapshot::{RunSnapshot, StoredRunError};
pub(crate) use step::{brief, kind};
