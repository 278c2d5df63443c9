#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::field_reassign_with_default,
    clippy::disallowed_methods,
    unreachable_pub,
    missing_docs,
    reason = "tests fail by panicking and may leave tasks behind"
)]

mod agents;
mod approval;
mod consent;
mod endings;
mod history;
mod inputs;
mod kinds;
mod limits;
mod machine;
mod middleware;
mod output;
mod panics;
mod plugin;
mod properties;
mod registry;
mod schedule;
mod seam;
mod spans;
mod states;
mod stored;
mod support;
mod tools;
mod types;
mod work;
