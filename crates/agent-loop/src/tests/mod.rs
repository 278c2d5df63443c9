#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests fail by panicking"
)]

mod audit;
mod cancel;
mod endings;
mod features;
mod generate;
pub(crate) mod golden;
mod hooks;
mod levels;
mod limits;
mod log;
mod markers;
mod media;
mod messages;
mod protocol;
mod random;
mod retry;
mod slow;
mod steering;
mod streams;
pub(crate) mod support;
mod tools;
mod transcript;
mod usage;
mod work;
