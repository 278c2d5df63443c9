#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    unreachable_pub,
    missing_docs,
    reason = "tests fail by panicking and may leave tasks behind"
)]

mod conformance;
mod conversation;
mod drills;
mod drops;
mod faults;
mod fuzz;
mod retries;
mod support;
