//! The ports on a real server, which each test starts for itself on a free port of this machine.
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

mod commands;
mod conformance;
mod conversation;
mod faults;
mod lease;
mod log;
mod server;
mod status;
