//! Starting cargo and other programs.

use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::support::{Context, Result};

/// How often a child with a time limit is looked at.
const POLL: Duration = Duration::from_millis(50);

/// The cargo that runs this task, to be started in `root`.
///
/// What `cargo run` tells this program about itself is taken out of the child's environment: build scripts watch
/// such variables, and would run again on each change between `cargo xtask` and plain cargo.
pub(crate) fn cargo(root: &Path) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root);
    for (name, _) in std::env::vars_os() {
        let about_us = name.to_str().is_some_and(|name| {
            name.starts_with("CARGO_PKG_")
                || matches!(
                    name,
                    "CARGO_MANIFEST_DIR" | "CARGO_MANIFEST_PATH" | "CARGO_PRIMARY_PACKAGE" | "OUT_DIR"
                )
        });
        if about_us {
            command.env_remove(name);
        }
    }
    command
}

/// The command as one would type it.
pub(crate) fn typed(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_stem().unwrap_or_default();
    let mut line = program.to_string_lossy().into_owned();
    for arg in command.get_args() {
        line.push(' ');
        line.push_str(&arg.to_string_lossy());
    }
    line
}

/// Runs it with the terminal as its own; anything but success is an error.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let line = typed(command);
    println!("$ {line}");
    judge(command.status().context(&line)?, &line)
}

/// As [`run`], but killed when `limit` has passed.
pub(crate) fn run_within(command: &mut Command, limit: Duration) -> Result<()> {
    let line = typed(command);
    println!("$ {line}");
    let start = Instant::now();
    let mut child = command.stdin(Stdio::null()).spawn().context(&line)?;
    loop {
        if let Some(status) = child.try_wait().context(&line)? {
            return judge(status, &line);
        }
        if start.elapsed() > limit {
            child.kill().context(&line)?;
            child.wait().context(&line)?;
            return Err(format!("`{line}` was still running after {} s", limit.as_secs()).into());
        }
        thread::sleep(POLL);
    }
}

/// Runs it and hands back what it printed.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let line = typed(command);
    let output = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output().context(&line)?;
    judge(output.status, &line)?;
    String::from_utf8(output.stdout).context(&line)
}

/// Whether the program is there and runs.
pub(crate) fn works(command: &mut Command) -> bool {
    let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    quiet.status().is_ok_and(|status| status.success())
}

fn judge(status: ExitStatus, line: &str) -> Result<()> {
    if status.success() { Ok(()) } else { Err(format!("`{line}` failed ({status})").into()) }
}
