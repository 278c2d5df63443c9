//! MCP servers of others. Run by `cargo xtask test-all --only mcp`, which installs them; without them these tests are
//! passed over.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    missing_docs,
    reason = "tests fail by panicking"
)]

mod everything;
mod filesystem;
mod http;
mod support;
