//! `cargo xtask bench`: what the SDK costs, as ratios within one run.

use std::process::ExitCode;

use crate::support::{Args, Result, root, unknown};

mod criterion;
mod mock;
mod peer;
mod table;
mod wire;

pub(crate) const HELP: &str = "\
What the SDK costs, measured against readers written by hand on the same loopback server.

Usage: cargo xtask bench [options]

Options:
  --instructions     count instructions (callgrind, needs valgrind) instead of CPU time: repeats within 1 %
  --only NAME        only the lines whose name holds NAME
  --rounds N         rounds of CPU time, of which the median counts; default 5
  --check            fail if a line is above its limit
  --criterion [ARG…] the micro-benchmarks of the crates instead; what follows goes to criterion

Ratios of CPU time differ by some percent from run to run, more on a busy machine; compare ratios, not times.
";

/// What to measure, and how.
#[derive(Debug)]
struct Options {
    instructions: bool,
    only: Option<String>,
    rounds: usize,
    check: bool,
}

pub(crate) fn run(mut args: Args) -> Result<ExitCode> {
    let root = root()?;
    let mut options = Options { instructions: false, only: None, rounds: 5, check: false };
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--instructions" => options.instructions = true,
            "--only" => options.only = Some(args.value_of("--only")?),
            "--rounds" => options.rounds = args.number_of::<usize>("--rounds")?.max(1),
            "--check" => options.check = true,
            "--criterion" => return criterion::run(&root, args),
            other => return Err(unknown(other, "bench")),
        }
    }
    wire::run(&root, &options)
}
