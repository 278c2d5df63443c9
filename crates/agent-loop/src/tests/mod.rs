#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests fail by panicking"
)]

mod cancel;
mod endings;
mod generate;
pub(crate) mod golden;
mod levels;
mod messages;
mod protocol;
mod random;
pub(crate) mod support;
