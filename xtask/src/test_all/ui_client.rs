//! The AI SDK's own reader on our chunks.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, SystemTime};

use super::{Done, Setup};
use crate::cargo;
use crate::support::Result;

/// It reads files and folds them: a second or two.
const LIMIT: Duration = Duration::from_secs(120);

pub(super) fn run(setup: &Setup<'_>) -> Result<Done> {
    let folder = setup.root.join("tests/ui-client");
    if !is_installed(&folder) {
        if !cargo::works(Command::new("npm").arg("--version")) {
            return Ok(Done::Skipped("npm is not installed".to_owned()));
        }
        if let Err(error) = cargo::run(Command::new("npm").current_dir(&folder).arg("ci")) {
            return Ok(Done::Skipped(format!("what tests/ui-client needs cannot be installed: {error}")));
        }
    }
    // Installed with the rest: the system's may be too old for the client.
    let node = folder.join("node_modules/.bin/node");
    cargo::run_within(Command::new(node).current_dir(&folder).arg("check.mjs"), LIMIT)?;
    Ok(Done::PASSED)
}

/// Whether what is installed is what the lock file says; npm writes its own list last.
fn is_installed(folder: &Path) -> bool {
    let written = |name: &str| folder.join(name).metadata().and_then(|file| file.modified()).ok();
    let installed: Option<SystemTime> = written("node_modules/.package-lock.json");
    installed.is_some_and(|at| Some(at) > written("package-lock.json") && Some(at) > written("package.json"))
}
