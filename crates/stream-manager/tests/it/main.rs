//! The crate as its users see it: its ports in memory, and the manager over them, with a source of turns that does what a
//! test says.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::disallowed_methods,
    missing_docs,
    reason = "tests fail by panicking"
)]

mod answers;
mod audit;
mod blocked;
mod body;
mod faults;
mod lasting;
mod liveness;
mod load;
mod many;
mod memory;
mod odd;
mod quiet;
mod recovery;
mod redirect;
mod storm;
mod turns;
mod verbs;
mod world;
