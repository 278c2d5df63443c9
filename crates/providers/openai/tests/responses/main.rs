//! The Responses API, through the whole path of a call and through its codec alone.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    missing_docs,
    unreachable_pub,
    reason = "tests fail by panicking"
)]

mod allocations;
mod calls;
mod errors;
mod history;
mod prefix;
mod provider;
mod recordings;
mod request;
mod samples;
mod server;
mod stream;
mod support;
