//! `cargo xtask bench`: the benchmarks of the crates that have some.

use std::path::Path;
use std::process::ExitCode;

use crate::cargo;
use crate::support::{Args, Result, root};

pub(crate) const HELP: &str = "\
Runs the benchmarks.

Usage: cargo xtask bench [FILTER…] [-- ARGS…]

Everything given is passed on to the benchmarks; see criterion's own help for what they take.
";

/// Crates with figures to hold, and where they are.
const CRATES: &[(&str, &str)] = &[("ai-http", "crates/ai-http"), ("ai-openai", "crates/providers/openai")];

pub(crate) fn run(mut args: Args) -> Result<ExitCode> {
    let root = root()?;
    let crates = with_benches(&root);
    if crates.is_empty() {
        println!("no benchmarks: none of the crates measured has a `benches` folder yet");
        return Ok(ExitCode::SUCCESS);
    }
    let mut command = cargo::cargo(&root);
    command.arg("bench");
    for name in crates {
        command.args(["--package", name]);
    }
    // Only the files in `benches`: the test harness of the library does not know criterion's arguments.
    command.args(["--bench", "*", "--"]);
    while let Some(arg) = args.next() {
        if arg != "--" {
            command.arg(arg);
        }
    }
    cargo::run(&mut command)?;
    Ok(ExitCode::SUCCESS)
}

fn with_benches(root: &Path) -> Vec<&'static str> {
    let has = |folder: &str| root.join(folder).join("benches").is_dir();
    CRATES.iter().filter(|(_, folder)| has(folder)).map(|&(name, _)| name).collect()
}
