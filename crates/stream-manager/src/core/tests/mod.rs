#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "tests fail by panicking"
)]

mod ends;
mod say;
mod steers;
mod stops;
mod storm;
mod turns;
mod world;

use std::sync::Arc;

use ai_provider::{Id, Message, ToolOutput};

use super::effect::{Begin, BeginKind, Effect, Settle};
use super::fact::{End, Fact, NotAccepted, NotBegun, StopWhy, Ticket};
use super::topic::{Event, Phase, Reaction, Topic};
use super::turn::SlotPhase;
use crate::port::{Accepted, Refusal, Reply, StoreErrorKind, WhenLive};
use crate::record::{
    AttemptId, Fate, Input, InputBody, InputId, Known, Queue, ReturnReason, RowId, RowStatus, StoredInput,
    Terminal, TopicId, TopicState, TopicStatus, TurnId,
};

/// What the user says, in the queue that goes with what shall happen on a live turn.
fn message(id: &str, when_live: WhenLive) -> Input {
    let queue = if when_live == WhenLive::FollowUp { Queue::FollowUp } else { Queue::Steer };
    let message = Arc::new(Message::user(id));
    Input::new(id, InputBody::Message { message, queue, parent: None })
}
