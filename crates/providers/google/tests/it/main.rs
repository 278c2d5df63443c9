//! The adapter as its users see it: requests as bytes, answers as parts.
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
mod arguments;
mod calls;
mod conforms;
mod errors;
mod files;
mod history;
mod parts;
mod prefix;
mod provider;
mod recordings;
mod request;
mod samples;
mod stream;
mod support;
