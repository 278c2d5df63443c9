#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::disallowed_methods,
    missing_docs,
    reason = "tests fail by panicking, and their servers are tasks"
)]

mod calls;
mod changes;
mod connection;
mod fake;
mod hostile;
mod http;
mod settings;
#[cfg(unix)]
mod stdio;
