#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    missing_docs,
    reason = "tests fail by panicking"
)]

mod ahead;
mod api;
mod bodies;
mod calls;
mod client;
mod download;
mod errors;
mod loopback;
mod recordings;
mod secrets;
mod stream;
mod timers;
mod types;
