//! `cargo xtask test-all`: everything CI runs, with its own set-up.

use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use crate::cargo;
use crate::support::{Args, Context, Error, Result, columns, exit, root, unknown};

mod browser;
mod mcp;
mod node;
mod redis;
mod stages;
#[cfg(test)]
mod tests;
mod ui_client;

pub(crate) const HELP: &str = "\
Runs everything that CI runs. A stage that fails does not stop the later ones.

Usage: cargo xtask test-all [--only STAGE[,STAGE…]] [--list]

Options:
  --only STAGE,…   run these stages only
  --list           print the stages, run nothing

Environment:
  RECORDINGS     folder of recorded provider traffic (default: ../shared/fixtures beside the repository);
                 tests that need it pass over what is missing
  REQUIRE_ALL=1  what would be skipped for want of something on this machine fails instead

The last line is `N passed, N failed, N skipped` and counts stages. The exit code is 0 if none failed.
";

/// Where recordings are looked for, from the repository's root.
const RECORDINGS: &str = "../shared/fixtures";

/// One part of the whole.
struct Stage {
    name: &'static str,
    what: &'static str,
    run: fn(&Setup) -> Result<Done>,
}

/// How a stage that did not fail ended.
#[derive(Debug)]
enum Done {
    /// With a remark for the summary, which may be empty.
    Passed(String),
    /// Not run, and why.
    Skipped(String),
}

impl Done {
    const PASSED: Self = Self::Passed(String::new());
}

/// What a stage knows about where it runs.
struct Setup<'a> {
    root: &'a Path,
    recordings: Recordings,
}

enum Recordings {
    /// The folder is there; an absolute path.
    At(std::path::PathBuf),
    Missing(std::path::PathBuf),
}

impl Setup<'_> {
    /// Cargo with the environment all stages share.
    ///
    /// One environment and one set of features: the stages reuse each other's build. Nothing here may touch
    /// `RUSTFLAGS`, or everything is built again.
    fn cargo(&self) -> Command {
        let mut command = cargo::cargo(self.root);
        self.environment(&mut command);
        command
    }

    fn environment(&self, command: &mut Command) {
        command.env("RUST_BACKTRACE", "1").env("INSTA_UPDATE", "no");
        if let Recordings::At(folder) = &self.recordings {
            command.env("RECORDINGS", folder);
        }
    }
}

pub(crate) fn run(mut args: Args) -> Result<ExitCode> {
    let mut stages: Vec<&Stage> = stages::ALL.iter().collect();
    let mut list = false;
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--list" => list = true,
            "--only" => stages = only(&args.value_of(&arg)?)?,
            _ => return Err(unknown(&arg, "test-all")),
        }
    }
    if list {
        let rows: Vec<_> =
            stages.iter().map(|stage| vec![stage.name.to_owned(), stage.what.to_owned()]).collect();
        print!("{}", columns(&rows));
        return Ok(ExitCode::SUCCESS);
    }
    let root = root()?;
    let setup = Setup { root: &root, recordings: recordings(&root)? };
    let strict = std::env::var("REQUIRE_ALL").is_ok_and(|value| value == "1");
    let results: Vec<Outcome> = stages.iter().map(|stage| run_stage(stage, &setup, strict)).collect();
    print!("\n{}", summary(&results));
    Ok(exit(results.iter().all(|outcome| outcome.word != Word::Failed)))
}

/// The stages named in a list with commas, in the order in which they always run.
fn only(names: &str) -> Result<Vec<&'static Stage>> {
    let names: Vec<&str> = names.split(',').map(str::trim).collect();
    if let Some(name) = names.iter().find(|name| stages::ALL.iter().all(|stage| stage.name != **name)) {
        let known: Vec<&str> = stages::ALL.iter().map(|stage| stage.name).collect();
        return Err(format!("no stage is called `{name}`; there are {}", known.join(", ")).into());
    }
    Ok(stages::ALL.iter().filter(|stage| names.contains(&stage.name)).collect())
}

fn recordings(root: &Path) -> Result<Recordings> {
    let folder = match std::env::var_os("RECORDINGS") {
        Some(folder) => std::path::absolute(folder).context("RECORDINGS")?,
        None => root.join(RECORDINGS),
    };
    Ok(match folder.canonicalize() {
        Ok(found) if found.is_dir() => Recordings::At(found),
        _ => Recordings::Missing(folder),
    })
}

/// What came of a stage, for the summary.
#[derive(Debug)]
struct Outcome {
    stage: &'static str,
    word: Word,
    time: Duration,
    remark: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Word {
    Passed,
    Failed,
    Skipped,
}

impl Word {
    fn text(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
        }
    }
}

fn run_stage(stage: &'static Stage, setup: &Setup<'_>, strict: bool) -> Outcome {
    println!("\n=== {}: {}", stage.name, stage.what);
    let start = Instant::now();
    let (word, remark) = judge((stage.run)(setup), strict);
    let outcome = Outcome { stage: stage.name, word, time: start.elapsed(), remark };
    let colon = if outcome.remark.is_empty() { "" } else { ": " };
    let (word, time, remark) = (word.text(), seconds(outcome.time), &outcome.remark);
    println!("=== {} {word} in {time}{colon}{remark}", stage.name);
    outcome
}

fn judge(result: std::result::Result<Done, Error>, strict: bool) -> (Word, String) {
    match result {
        Ok(Done::Passed(remark)) => (Word::Passed, remark),
        Ok(Done::Skipped(why)) if strict => (Word::Failed, format!("{why} (REQUIRE_ALL=1)")),
        Ok(Done::Skipped(why)) => (Word::Skipped, why),
        Err(error) => (Word::Failed, error.to_string()),
    }
}

/// The table of stages, and the line of counts that CI reads.
fn summary(results: &[Outcome]) -> String {
    let mut rows = vec![["stage", "result", "time", "remark"].map(str::to_owned).to_vec()];
    for outcome in results {
        let (stage, word) = (outcome.stage.to_owned(), outcome.word.text().to_owned());
        rows.push(vec![stage, word, seconds(outcome.time), outcome.remark.clone()]);
    }
    let total = results.iter().map(|outcome| outcome.time).sum();
    rows.push(vec!["all".to_owned(), String::new(), seconds(total), String::new()]);
    let count = |word| results.iter().filter(|outcome| outcome.word == word).count();
    let (passed, failed, skipped) = (count(Word::Passed), count(Word::Failed), count(Word::Skipped));
    format!("{}\n{passed} passed, {failed} failed, {skipped} skipped\n", columns(&rows))
}

fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}
