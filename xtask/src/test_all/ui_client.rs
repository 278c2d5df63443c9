//! The AI SDK's own reader on our chunks.

use std::process::Command;
use std::time::Duration;

use super::{Done, Setup, node};
use crate::cargo;
use crate::support::Result;

/// It reads files and folds them: a second or two.
const LIMIT: Duration = Duration::from_secs(120);

pub(super) fn run(setup: &Setup<'_>) -> Result<Done> {
    let node = match node::install(setup.root, "tests/ui-client") {
        Ok(node) => node,
        Err(why) => return Ok(Done::Skipped(why)),
    };
    let folder = setup.root.join("tests/ui-client");
    cargo::run_within(Command::new(node).current_dir(folder).arg("check.mjs"), LIMIT)?;
    Ok(Done::PASSED)
}
