use ai_provider::Id;

use crate::port::{Accepted, Refusal, StoreErrorKind, WhenLive};
use crate::record::{AttemptId, Input, InputId, RowId, TurnId};

/// Pairs a question with its reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Ticket(pub(crate) u64);

/// Something that has happened to a topic.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Fact {
    /// Somebody sent an input.
    Submitted { ticket: Ticket, input: Input, when_live: WhenLive, turn: Option<TurnId> },
    /// The input at the head of those being accepted is written down, or not.
    Accepted { ticket: Ticket, result: Result<Accepted, NotAccepted> },
    /// The attempts of a [`Begin`](super::Begin) run: their rows are open and their inputs consumed.
    Begun { attempt: AttemptId, redirects: bool },
    /// They do not, and nothing was written.
    NotBegun { attempt: AttemptId, why: NotBegun },
    /// A model has said something.
    Spoke { attempt: AttemptId },
    /// An attempt is over, and waits to be settled.
    Ended { attempt: AttemptId, end: End },
    /// An attempt is settled in the store.
    Persisted { attempt: AttemptId },
    /// The store refused, or did not answer. It is tried again.
    NotPersisted { attempt: AttemptId },
    /// The store refused once more after a stop; it is not tried again.
    Abandoned { attempt: AttemptId },
    /// The task of an attempt died without an end.
    Died { attempt: AttemptId },
    /// The driver of an attempt has taken inputs up in its running turn, and that is durable.
    Redirected { attempt: AttemptId, inputs: Vec<InputId> },
    /// It has not: they wait as before.
    NotRedirected { attempt: AttemptId, inputs: Vec<InputId> },
    /// Stop a turn.
    Stop { ticket: Ticket, turn: TurnId },
    /// Stop one row of a turn.
    StopRow { ticket: Ticket, row: RowId },
    /// A limit ends the turn, or the wait for a person.
    Expired { why: StopWhy },
    /// Give an input back.
    Withdraw { ticket: Ticket, input: InputId },
    /// Delete the topic.
    Delete { ticket: Ticket },
    /// Start no turn until [`Fact::Resumed`].
    Paused,
    /// Go on.
    Resumed,
    /// Start no turn ever, and stop the live one.
    ShutDown,
    /// Somebody else owns the topic.
    LeaseLost,
}

/// Why an input is not written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotAccepted {
    /// It is about something that is not there.
    Refused(Refusal),
    /// The store did not take it.
    Store(StoreErrorKind),
}

/// Why attempts did not begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotBegun {
    /// What should have been answered is not there, or there is no such model.
    Refused(Refusal),
    /// The source of turns failed, or the store did.
    Failed,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// The model was done, or yielded to what the user said.
    Complete,
    /// Calls wait for a person.
    Awaiting { calls: Vec<Id> },
    /// Calls wait for results of the client.
    HandedOver { calls: Vec<Id> },
    /// It was cancelled.
    Stopped,
    /// A limit of the run ended it: step cap, loop guard, budget.
    Limited,
    /// It failed.
    Failed,
}

/// Why a turn is stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum StopWhy {
    /// The user asked for it.
    User,
    /// The user said something else instead.
    Replaced,
    /// No model said anything in time.
    FirstOutput,
    /// A model fell silent.
    Idle,
    /// The turn took too long.
    Total,
    /// Nobody decided in time.
    ApprovalIdle,
    /// Nobody reads.
    NoReaders,
    /// The topic is deleted.
    Deleted,
    /// The manager shuts down.
    ShutDown,
}
