//! The project's own tasks, run as `cargo xtask …`.
//!
//! Every task is a module with one `run`. Nothing here is part of the SDK, and no crate of the SDK depends on it.

use std::process::ExitCode;

use support::{Args, Result};

mod bench;
mod cargo;
mod deps;
mod fuzz;
mod metadata;
mod rows;
mod support;
mod test_all;

const HELP: &str = "\
The project's own tasks.

Usage: cargo xtask <task> [options]

Tasks:
  test-all   everything CI runs: format, lints, tests, tables, dependencies, consumers, licences, examples
  rows       the behaviour tables in docs/behaviour: every row has a test, every test names rows that exist
  deps       the layer table: who may use whom, how many external crates, the declared rust-version
  bench      what the SDK costs against readers written by hand, and the micro-benchmarks
  fuzz       the fuzz targets, each for a while, from our own samples on

`cargo xtask <task> --help` says what a task does and takes.
";

fn main() -> ExitCode {
    match dispatch(Args::from_env()) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn dispatch(mut args: Args) -> Result<ExitCode> {
    let Some(task) = args.next() else {
        print!("{HELP}");
        return Ok(ExitCode::FAILURE);
    };
    let (run, help): (fn(Args) -> Result<ExitCode>, &str) = match task.as_str() {
        "test-all" => (test_all::run, test_all::HELP),
        "rows" => (rows::run, rows::HELP),
        "deps" => (deps::run, deps::HELP),
        "bench" => (bench::run, bench::HELP),
        "fuzz" => (fuzz::run, fuzz::HELP),
        "-h" | "--help" | "help" => {
            print!("{HELP}");
            return Ok(ExitCode::SUCCESS);
        }
        other => return Err(format!("no task is called `{other}`; see `cargo xtask --help`").into()),
    };
    if args.asks_for_help() {
        print!("{help}");
        return Ok(ExitCode::SUCCESS);
    }
    run(args)
}
