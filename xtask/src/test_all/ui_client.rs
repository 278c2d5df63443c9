//! The AI SDK's own reader on our chunks, and its transport on `chat serve`.

use std::process::Command;
use std::time::Duration;

use super::{Done, Setup, node};
use crate::cargo;
use crate::metadata::Metadata;
use crate::support::Result;

/// Files are read and folded in a second or two, a served answer takes as long.
const LIMIT: Duration = Duration::from_secs(120);

pub(super) fn run(setup: &Setup<'_>) -> Result<Done> {
    let node = match node::install(setup.root, "tests/ui-client") {
        Ok(node) => node,
        Err(why) => return Ok(Done::Skipped(why)),
    };
    let folder = setup.root.join("tests/ui-client");
    cargo::run_within(Command::new(&node).current_dir(&folder).arg("check.mjs"), LIMIT)?;
    cargo::run(setup.cargo().args(["build", "-p", "chat"]))?;
    let program = Metadata::load(setup.root)?.target_directory.join("debug").join("chat");
    let program = program.with_extension(std::env::consts::EXE_EXTENSION);
    let mut served = Command::new(node);
    served.current_dir(folder).args(["--test", "serve.test.mjs"]).env("CHAT", program);
    cargo::run_within(&mut served, LIMIT)?;
    Ok(Done::PASSED)
}
