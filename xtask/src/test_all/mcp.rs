//! Our MCP client on servers of others.

use super::{Done, Setup, node};
use crate::cargo;
use crate::support::Result;

/// Where they are installed.
const FOLDER: &str = "tests/mcp-servers";

pub(super) fn run(setup: &Setup<'_>) -> Result<Done> {
    if let Err(why) = node::install(setup.root, FOLDER) {
        return Ok(Done::Skipped(why));
    }
    // With the features of the stage before it, whose build it uses.
    let args = ["test", "--workspace", "--all-features", "--test", "mcp-servers"];
    cargo::run(setup.cargo().args(args).env("MCP_SERVERS", setup.root.join(FOLDER)))?;
    Ok(Done::PASSED)
}
