//! The manager over its ports in memory, with a source of turns that does what a test says.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    missing_docs,
    reason = "tests fail by panicking"
)]

mod answers;
mod many;
mod turns;
mod verbs;
mod world;
