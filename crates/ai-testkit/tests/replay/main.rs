//! The program `replay`: as a process, and all recordings through what it is made of.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs,
    reason = "tests fail by panicking"
)]

mod outcome;
mod process;
mod recordings;
