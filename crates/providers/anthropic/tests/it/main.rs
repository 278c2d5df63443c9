//! The adapter through the whole path of a call, without a network.
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
mod blocks;
mod cache;
mod calls;
mod errors;
mod files;
mod finish;
mod history;
mod prefix;
mod provider;
mod recordings;
mod replay;
mod request;
mod samples;
mod stream;
mod support;
mod tools;
mod usage;
