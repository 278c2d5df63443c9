#![cfg(all(feature = "openai", feature = "anthropic", feature = "google"))]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::field_reassign_with_default,
    missing_docs,
    reason = "tests fail by panicking"
)]

mod calls;
mod catalogue;
mod settings;
