//! `cargo xtask rows`: every row of a behaviour table has a test, and every test names rows that exist.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};
use std::{fmt, fs};

use check::Report;
use mentions::Mentions;
use table::Table;

use crate::support::{Args, Context, Result, columns, entries, exit, files_ending, root, shown, unknown};

mod check;
mod mentions;
mod sample;
mod scripts;
mod table;
#[cfg(test)]
mod tests;

pub(crate) const HELP: &str = "\
Compares the behaviour tables in docs/behaviour with the tests that prove them.

Usage: cargo xtask rows [--sample N [--seed S]]

A table row is a line of docs/behaviour/<crate>.md that begins with its name, a prefix and a number:
  | RT-12 | what is given | what must come out |
A test names the rows it proves, at most three, in its doc comment: the name in square brackets. A test
for Node (*.test.mjs) does so in the comment above it.

Wrong are: a row without a test, two rows of one name, a row in another crate's file; a test that names
a row that does not exist, names more than three, or is ignored; a row named in a comment of anything but a test.

Options:
  --sample N   print N rows chosen at random, each with its tests, instead of the counts
  --seed S     the seed of that choice (default: the clock)
";

const TABLES: &str = "docs/behaviour";
const SOURCES: &[&str] = &["crates", "tests", "xtask"];

/// The name of a row: which crate's contract, and which sentence of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct RowId {
    prefix: [char; 2],
    number: u32,
}

impl RowId {
    /// Two capitals, a dash, a number: `RT-12`.
    fn parse(text: &str) -> Option<Self> {
        let (prefix, digits) = text.split_once('-')?;
        let mut chars = prefix.chars();
        let prefix = [chars.next()?, chars.next()?];
        let well_formed = chars.next().is_none()
            && prefix.iter().all(char::is_ascii_uppercase)
            && digits.chars().all(|c| c.is_ascii_digit());
        let number = digits.parse().ok()?;
        well_formed.then_some(Self { prefix, number })
    }
}

impl fmt::Display for RowId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b] = self.prefix;
        write!(f, "{a}{b}-{}", self.number)
    }
}

/// Where something stands.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    file: String,
    line: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

/// Something wrong, and where.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Problem {
    place: Place,
    text: String,
}

impl Problem {
    fn new(place: &Place, text: impl Into<String>) -> Self {
        Self { place: place.clone(), text: text.into() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.text)
    }
}

pub(crate) fn run(mut args: Args) -> Result<ExitCode> {
    let (mut sample, mut seed) = (None, None);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--sample" => sample = Some(args.number_of(&arg)?),
            "--seed" => seed = Some(args.number_of(&arg)?),
            _ => return Err(unknown(&arg, "rows")),
        }
    }
    let report = read(&root()?)?;
    match sample {
        Some(count) => {
            let seed = seed.unwrap_or_else(clock);
            println!("{count} of {} rows, seed {seed}\n", report.rows.len());
            print!("{}", sample::shown(&report, count, seed));
        }
        None if seed.is_some() => return Err("--seed goes with --sample".into()),
        None => print_counts(&report),
    }
    print_problems(&report);
    Ok(exit(report.problems.is_empty()))
}

/// The task as a stage of `test-all`.
pub(crate) fn stage(root: &Path) -> Result<()> {
    let report = read(root)?;
    print_counts(&report);
    print_problems(&report);
    match report.problems.len() {
        0 => Ok(()),
        count => Err(format!("{count} things wrong with the behaviour tables").into()),
    }
}

fn read(root: &Path) -> Result<Report> {
    let mut tables = Vec::new();
    for path in entries(&root.join(TABLES))? {
        let name = path.file_name().unwrap_or_default();
        if path.extension().is_some_and(|extension| extension == "md") && name != "README.md" {
            let text = fs::read_to_string(&path).context(path.display())?;
            tables.push(Table::parse(&shown(&path, root), &text));
        }
    }
    if tables.is_empty() {
        return Err(format!("no behaviour table in {TABLES}").into());
    }
    let mut mentions = Mentions::default();
    scan(root, ".rs", |file, text| mentions.scan(file, text))?;
    scan(root, scripts::ENDING, |file, text| mentions.scan_script(file, text))?;
    Ok(check::check(tables, mentions))
}

/// Reads all sources whose names end so.
fn scan(root: &Path, ending: &str, mut each: impl FnMut(&str, &str)) -> Result<()> {
    let mut files = Vec::new();
    for folder in SOURCES {
        files_ending(ending, &root.join(folder), &mut files)?;
    }
    for path in files {
        let text = fs::read_to_string(&path).context(path.display())?;
        each(&shown(&path, root), &text);
    }
    Ok(())
}

fn print_counts(report: &Report) {
    let mut rows = vec![["table", "rows", "proved", "tests"].map(str::to_owned).to_vec()];
    for (file, count) in counts(report) {
        let numbers = [count.rows, count.proved, count.tests].map(|n| n.to_string());
        rows.push([vec![file], numbers.to_vec()].concat());
    }
    print!("{}", columns(&rows));
}

#[derive(Debug, Default)]
struct Count {
    rows: usize,
    proved: usize,
    tests: usize,
}

fn counts(report: &Report) -> BTreeMap<String, Count> {
    let mut counts: BTreeMap<String, Count> = BTreeMap::new();
    for proved in report.rows.values() {
        let count = counts.entry(proved.row.place.file.clone()).or_default();
        count.rows += 1;
        count.proved += usize::from(!proved.tests.is_empty());
        count.tests += proved.tests.len();
    }
    counts
}

fn print_problems(report: &Report) {
    for problem in &report.problems {
        println!("{problem}");
    }
}

fn clock() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    since.as_secs() ^ u64::from(since.subsec_nanos())
}
