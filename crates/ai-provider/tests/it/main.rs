//! The contract of `docs/behaviour/ai-provider.md`, tested through the public API alone.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    missing_docs,
    reason = "tests fail by panicking"
)]

mod assembler;
mod capabilities;
mod context;
mod error;
mod generate;
mod keys;
mod message;
mod options;
mod provider;
mod settings;
mod stored;
mod support;
mod traits;
mod usage;
