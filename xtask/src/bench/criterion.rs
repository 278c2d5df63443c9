//! The micro-benchmarks of the crates that have some.

use std::path::Path;
use std::process::ExitCode;

use crate::cargo;
use crate::support::{Args, Result, packages_in};

pub(super) fn run(root: &Path, mut args: Args) -> Result<ExitCode> {
    let passed_on: Vec<_> = std::iter::from_fn(|| args.next()).filter(|arg| arg != "--").collect();
    let mut packages = packages_in(&root.join("crates"))?;
    packages.extend(packages_in(&root.join("crates/providers"))?);
    for package in packages.iter().filter(|package| package.join("benches").is_dir()) {
        let mut command = cargo::cargo(root);
        command.arg("bench").arg("--manifest-path").arg(package.join("Cargo.toml"));
        // Only the files in `benches`: the test harness of the library does not know criterion's arguments.
        command.args(["--bench", "*", "--"]).args(&passed_on);
        cargo::run(&mut command)?;
    }
    Ok(ExitCode::SUCCESS)
}
