//! One run of one peer.

use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

use serde_json::Value;

use super::table::{Line, Peer, Unit};
use crate::support::{Context, Result};

/// Runs of the scenario in one process: together about half a second.
fn repetitions(line: &Line) -> u64 {
    match line.unit {
        Unit::Delta => 40,
        Unit::Step => 150,
    }
}

/// CPU time of one unit, in nanoseconds.
pub(super) fn cpu_time(programs: &Path, line: &Line, peer: Peer, base_url: &str) -> Result<f64> {
    let mut command = pinned(1, &programs.join(peer.program));
    let report = report(&mut command, line, base_url, repetitions(line))?;
    let field = match line.unit {
        Unit::Delta => "per_delta_ns",
        Unit::Step => "per_step_ns",
    };
    report
        .get(field)
        .and_then(Value::as_f64)
        .ok_or_else(|| format!("{} reports no {field}", peer.program).into())
}

/// Instructions of one unit: the difference of a longer and a shorter process, so that starting up, connecting and
/// the first run do not count.
pub(super) fn instructions(programs: &Path, line: &Line, peer: Peer, base_url: &str) -> Result<f64> {
    const MORE: u64 = 4;
    let counted = |repetitions| -> Result<(f64, f64)> {
        let mut command = Command::new("valgrind");
        command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]).arg(programs.join(peer.program));
        arguments(&mut command, line, base_url, repetitions);
        let output = command.output().context("valgrind cannot be run")?;
        let errors = String::from_utf8_lossy(&output.stderr);
        if !output.status.success() {
            return Err(format!("{} failed under valgrind:\n{errors}", peer.program).into());
        }
        let report = json(&output.stdout, peer.program)?;
        let collected =
            errors.lines().find_map(|line| line.split_once("Collected :")?.1.trim().parse::<f64>().ok());
        let collected = collected.ok_or_else(|| format!("callgrind counted nothing:\n{errors}"))?;
        Ok((collected, units(&report, line.unit)?))
    };
    let (short, few) = counted(1)?;
    let (long, many) = counted(1 + MORE)?;
    Ok((long - short) / (many - few))
}

/// How many units a process did in its timed section.
fn units(report: &Value, unit: Unit) -> Result<f64> {
    let number = |name: &str| report.get(name).and_then(Value::as_f64);
    let units = match unit {
        Unit::Delta => number("deltas"),
        Unit::Step => number("cpu_ms").zip(number("per_step_ns")).map(|(ms, step)| (ms * 1e6 / step).round()),
    };
    units.ok_or_else(|| "a peer does not say how much it did".into())
}

fn report(command: &mut Command, line: &Line, base_url: &str, repetitions: u64) -> Result<Value> {
    arguments(command, line, base_url, repetitions);
    let output = command.output().context("a peer cannot be run")?;
    if !output.status.success() {
        let errors = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{}: a peer failed: {errors}", line.name).into());
    }
    json(&output.stdout, line.name)
}

fn json(output: &[u8], who: &str) -> Result<Value> {
    serde_json::from_slice(output).context(format_args!("{who} reports no JSON"))
}

fn arguments(command: &mut Command, line: &Line, base_url: &str, repetitions: u64) {
    command.args([
        "--base-url",
        base_url,
        "--scenario",
        line.scenario,
        "--warmup",
        "1",
        "--max-seconds",
        "600",
    ]);
    command.args(["--reps", &repetitions.to_string()]);
}

/// A program on a core of its own where the system can do that: the server's work is not the client's.
pub(super) fn pinned(core: usize, program: &Path) -> Command {
    static CAN: OnceLock<bool> = OnceLock::new();
    let can = CAN.get_or_init(|| {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let taskset = Command::new("taskset").arg("--version").output();
        cores > 1 && taskset.is_ok_and(|output| output.status.success())
    });
    if !can {
        return Command::new(program);
    }
    let mut command = Command::new("taskset");
    command.arg("--cpu-list").arg(core.to_string()).arg(program);
    command
}
