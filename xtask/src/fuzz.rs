//! `cargo xtask fuzz`: the fuzz targets, each for a while, from seeds of our own.

use std::path::Path;
use std::process::{Command, ExitCode};

use crate::cargo;
use crate::support::{Args, Result, columns, exit, root, unknown};

pub(crate) const HELP: &str = "\
Runs the fuzz targets, from our own samples on.

Usage: cargo xtask fuzz [--seconds N] [TARGET…]

Options:
  --seconds N   how long each target runs (default 60)

Targets: framer, chat, responses, messages, gemini, assembler, schema; without any, all of them.

It takes a nightly compiler, and cargo-fuzz, which is installed if it is missing. Without them it says that it was
skipped; with REQUIRE_ALL=1 that is a failure. What breaks a target is left in fuzz/artifacts.
";

/// What `fuzz/src/lib.rs` has.
const TARGETS: &[&str] = &["framer", "chat", "responses", "messages", "gemini", "assembler", "schema"];

/// The command line of this line of versions is the one used here.
const CARGO_FUZZ: &str = "^0.13";

/// Longer inputs find little that shorter ones do not, and take longer.
const MAX_LEN: &str = "-max_len=8192";

/// No input takes a tenth of this; one that does is a finding.
const TIMEOUT: &str = "-timeout=20";

pub(crate) fn run(mut args: Args) -> Result<ExitCode> {
    let (mut seconds, mut wanted) = (60_u32, Vec::new());
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--seconds" => {
                let value = args.value_of(&arg)?;
                seconds = value.parse().map_err(|_| format!("{value:?} is no number of seconds"))?;
            }
            target => match TARGETS.iter().find(|known| **known == target) {
                Some(target) => wanted.push(*target),
                None => return Err(unknown(&arg, "fuzz")),
            },
        }
    }
    let root = root()?;
    if let Some(why) = missing(&root) {
        println!("skipped: {why}");
        let strict = std::env::var("REQUIRE_ALL").is_ok_and(|value| value == "1");
        return Ok(exit(!strict));
    }
    // A target in name only: it writes the seeds, and runs nothing.
    cargo::run(fuzz(&root, "seeds").args(["--", "-runs=0"]))?;
    let targets = if wanted.is_empty() { TARGETS } else { &wanted };
    let mut rows = vec![["target", "result"].map(str::to_owned).to_vec()];
    let mut clean = true;
    for target in targets {
        let mut command = fuzz(&root, target);
        command.args(["--", &format!("-max_total_time={seconds}"), MAX_LEN, TIMEOUT, "-print_final_stats=1"]);
        let word = match cargo::run(&mut command) {
            Ok(()) => format!("{seconds} s clean"),
            Err(error) => {
                println!("{target}: {error}");
                clean = false;
                format!("broken: see fuzz/artifacts/{target}")
            }
        };
        rows.push(vec![(*target).to_owned(), word]);
    }
    print!("\n{}", columns(&rows));
    Ok(exit(clean))
}

/// What is missing to run them, after an attempt to install it.
fn missing(root: &Path) -> Option<String> {
    if !cargo::works(nightly(root).arg("--version")) {
        return Some("there is no nightly compiler (`rustup toolchain install nightly`)".to_owned());
    }
    if cargo::works(nightly(root).args(["fuzz", "--version"])) {
        return None;
    }
    println!("cargo-fuzz is not installed; building it takes a minute or two, once");
    // Unoptimised: it is built longer than it runs.
    let args = ["install", "--debug", "--locked", "cargo-fuzz", "--version", CARGO_FUZZ];
    let installed = cargo::run(cargo::cargo(root).args(args));
    installed.err().map(|error| format!("cargo-fuzz cannot be installed: {error}"))
}

/// Runs a target. There is no `unsafe` of ours for a sanitizer to look at, and without one it is faster.
fn fuzz(root: &Path, target: &str) -> Command {
    let mut command = nightly(root);
    command.args(["fuzz", "run", "--fuzz-dir", "fuzz", "--sanitizer", "none", target]);
    command
}

/// The cargo of the nightly compiler.
fn nightly(root: &Path) -> Command {
    let mut command = Command::new("rustup");
    command.current_dir(root).args(["run", "nightly", "cargo"]);
    // Those of the cargo that runs this task.
    for name in ["CARGO", "RUSTC", "RUSTUP_TOOLCHAIN", "RUSTFLAGS"] {
        command.env_remove(name);
    }
    command
}
