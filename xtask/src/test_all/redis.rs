//! A Redis for the tests of the store on it: they start it themselves, each its own.

use std::process::Command;

use super::{Done, Setup};
use crate::cargo;
use crate::support::Result;

/// The server, and the program that asks it, are one package in Debian.
const PACKAGE: &str = "redis-server";

pub(super) fn run(_: &Setup<'_>) -> Result<Done> {
    if is_there() {
        return Ok(Done::PASSED);
    }
    println!("{PACKAGE} is not installed; trying with apt-get");
    // The list of packages may be old, or not there at all.
    let installed = install().or_else(|_| cargo::run(apt().arg("update")).and_then(|()| install()));
    Ok(match installed {
        Ok(()) if is_there() => Done::Passed("installed".to_owned()),
        Ok(()) => Done::Skipped(format!("{PACKAGE} was installed, but does not run")),
        Err(error) => Done::Skipped(format!("{PACKAGE} cannot be installed: {error}")),
    })
}

fn is_there() -> bool {
    ["redis-server", "redis-cli"].iter().all(|program| cargo::works(Command::new(program).arg("--version")))
}

fn install() -> Result<()> {
    cargo::run(apt().args(["install", "--yes", "--no-install-recommends", PACKAGE]))
}

fn apt() -> Command {
    let mut command = Command::new("apt-get");
    // The service of the system is not wanted: it is not started where the run level says so.
    command.env("DEBIAN_FRONTEND", "noninteractive").env("RUNLEVEL", "1");
    command
}
