//! The program from outside: the built binary against a real server on loopback.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs,
    reason = "tests fail by panicking"
)]

mod answers;
mod bad_input;
#[cfg(unix)]
mod config;
mod configured;
mod kept;
#[cfg(unix)]
mod mcp;
mod retries;
#[cfg(unix)]
mod serve;
mod support;
