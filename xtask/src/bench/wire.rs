//! The wire benchmark: a stream over loopback, read by us and by hand, in turns.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use super::Options;
use super::mock::Mock;
use super::peer::{cpu_time, instructions};
use super::table::{LINES, Line};
use crate::cargo;
use crate::metadata::Metadata;
use crate::support::{Result, columns, exit};

/// What came of one line.
#[derive(Debug)]
struct Figure {
    line: &'static Line,
    ours: f64,
    by_hand: f64,
    ratio: f64,
}

pub(super) fn run(root: &Path, options: &Options) -> Result<ExitCode> {
    let wanted = |line: &&Line| options.only.as_ref().is_none_or(|part| line.name.contains(part.as_str()));
    let lines: Vec<_> = LINES.iter().filter(wanted).collect();
    if lines.is_empty() {
        let names: Vec<_> = LINES.iter().map(|line| line.name).collect();
        return Err(format!("no line has that in its name; there are: {}", names.join(", ")).into());
    }
    let programs = build(root, &lines)?;
    let mock = Mock::start(&programs)?;
    let mut figures = Vec::with_capacity(lines.len());
    for (at, line) in lines.iter().enumerate() {
        eprintln!("[{}/{}] {} ({})", at + 1, lines.len(), line.name, line.scenario);
        figures.push(measure(&programs, line, mock.base_url(), options)?);
    }
    print!("{}", table(&figures, options));
    let over = figures.iter().any(|figure| figure.ratio > figure.line.limit);
    Ok(exit(!(options.check && over)))
}

/// Builds each package on its own, so that it has the features its own users get, and says where the programs are.
fn build(root: &Path, lines: &[&Line]) -> Result<PathBuf> {
    let target = Metadata::load(root)?.target_directory.join("bench");
    let mut packages = vec!["mock"];
    for package in lines.iter().flat_map(|line| [line.ours.package, line.by_hand.package]) {
        if !packages.contains(&package) {
            packages.push(package);
        }
    }
    for package in packages {
        let mut command = cargo::cargo(root);
        command.args(["build", "--release", "--quiet", "--manifest-path", "xtask/bench/Cargo.toml"]);
        command.args(["--package", package]).env("CARGO_TARGET_DIR", &target);
        cargo::run(&mut command)?;
    }
    Ok(target.join("release"))
}

fn measure(programs: &Path, line: &'static Line, base_url: &str, options: &Options) -> Result<Figure> {
    let cost = if options.instructions { instructions } else { cpu_time };
    let once = || -> Result<(f64, f64)> {
        let ours = cost(programs, line, line.ours, base_url)?;
        let beyond = line.beyond.map_or(Ok(0.0), |peer| cost(programs, line, peer, base_url))?;
        Ok((ours - beyond, cost(programs, line, line.by_hand, base_url)?))
    };
    let mut rounds = Vec::new();
    if options.instructions {
        rounds.push(once()?);
    } else {
        // The first round only warms up.
        once()?;
        for _ in 0..options.rounds {
            rounds.push(once()?);
        }
    }
    Ok(Figure {
        line,
        ours: median(rounds.iter().map(|(ours, _)| *ours).collect()),
        by_hand: median(rounds.iter().map(|(_, by_hand)| *by_hand).collect()),
        ratio: median(rounds.iter().map(|(ours, by_hand)| ours / by_hand).collect()),
    })
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.get(middle) {
        Some(&upper) if values.len() % 2 == 1 => upper,
        Some(&upper) => (values.get(middle.saturating_sub(1)).copied().unwrap_or(upper) + upper) / 2.0,
        None => f64::NAN,
    }
}

fn table(figures: &[Figure], options: &Options) -> String {
    let what = if options.instructions { "instructions" } else { "CPU ns" };
    let heads = ["line", "scenario", &format!("ours, {what}"), "by hand", "per", "ratio", "at most", ""];
    let mut rows = vec![heads.map(str::to_owned).to_vec()];
    rows.extend(figures.iter().map(|figure| {
        let line = figure.line;
        vec![
            line.name.to_owned(),
            line.scenario.to_owned(),
            format!("{:.0}", figure.ours),
            format!("{:.0}", figure.by_hand),
            line.unit.name().to_owned(),
            format!("{:.2}", figure.ratio),
            format!("{:.2}", line.limit),
            if figure.ratio > line.limit { "above".to_owned() } else { String::new() },
        ]
    }));
    columns(&rows)
}

#[cfg(test)]
mod tests {
    use super::median;

    #[test]
    fn the_median_is_the_middle() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(vec![4.0, 1.0, 2.0, 3.0]), 2.5);
        assert!(median(Vec::new()).is_nan());
    }
}
