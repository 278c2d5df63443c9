#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    missing_docs,
    reason = "tests fail by panicking"
)]

mod allocations;
mod budget;
mod cancel;
mod commit;
mod concurrency;
mod events;
mod fallbacks;
mod gate;
mod health;
mod keys;
mod nested;
mod policy;
mod properties;
mod request;
mod support;
mod table;
mod together;
mod wire;
