//! The store on real files.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    missing_docs,
    reason = "tests fail by panicking"
)]

mod conforms;
mod drill;
mod files;
mod handles;
mod kit;
mod limits;
mod migrate;
mod retention;
mod transactions;
