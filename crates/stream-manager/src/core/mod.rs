//! A topic as data: facts come in, effects go out.
//!
//! There is no clock, no runtime and no store in it: [`Topic::apply`] takes what has happened and says what shall be
//! done about it. What comes of that is the next fact. Each fact names the attempt it is about; one about an attempt
//! that is over is counted and dropped.

mod accept;
mod begin;
mod effect;
mod fact;
mod inbox;
mod recover;
mod redirect;
mod settle;
mod stop;
mod topic;
mod turn;

#[cfg(test)]
mod tests;

pub(crate) use effect::{Begin, BeginKind, Effect, Planned, Settle};
pub(crate) use fact::{End, Fact, NotAccepted, NotBegun, StopWhy, Ticket};
pub(crate) use recover::Found;
pub(crate) use topic::{Event, Reaction, Topic};
pub(crate) use turn::ParkedRow;
