//! What every task needs: its arguments, its error, the repository's root, files and tables of text.

use std::collections::VecDeque;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[cfg(test)]
mod tests;

/// Why a task could not do its work: one sentence for the person at the terminal.
#[derive(Debug)]
pub(crate) struct Error(String);

pub(crate) type Result<T> = std::result::Result<T, Error>;

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<String> for Error {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl From<&str> for Error {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

/// Says what was being done when `E` happened.
pub(crate) trait Context<T> {
    fn context(self, what: impl fmt::Display) -> Result<T>;
}

impl<T, E: fmt::Display> Context<T> for std::result::Result<T, E> {
    fn context(self, what: impl fmt::Display) -> Result<T> {
        self.map_err(|error| Error(format!("{what}: {error}")))
    }
}

/// The arguments not read yet.
#[derive(Debug)]
pub(crate) struct Args(VecDeque<String>);

impl Args {
    pub(crate) fn from_env() -> Self {
        Self(std::env::args_os().skip(1).map(|arg| arg.to_string_lossy().into_owned()).collect())
    }

    pub(crate) fn next(&mut self) -> Option<String> {
        self.0.pop_front()
    }

    /// Whether `--help` comes before a lone `--` (what follows that is for somebody else).
    pub(crate) fn asks_for_help(&self) -> bool {
        self.0.iter().take_while(|arg| *arg != "--").any(|arg| arg == "-h" || arg == "--help")
    }

    /// The value of the option just read.
    pub(crate) fn value_of(&mut self, option: &str) -> Result<String> {
        self.next().ok_or_else(|| format!("{option} needs a value").into())
    }

    /// The number given to the option just read.
    pub(crate) fn number_of<N: std::str::FromStr<Err: fmt::Display>>(&mut self, option: &str) -> Result<N> {
        let text = self.value_of(option)?;
        text.parse().context(format_args!("{option} {text}"))
    }

    /// Refuses whatever has not been read.
    pub(crate) fn finish(mut self, task: &str) -> Result<()> {
        match self.next() {
            Some(arg) => Err(unknown(&arg, task)),
            None => Ok(()),
        }
    }
}

pub(crate) fn unknown(arg: &str, task: &str) -> Error {
    format!("`{arg}` is nothing that {task} takes; see `cargo xtask {task} --help`").into()
}

pub(crate) fn exit(ok: bool) -> ExitCode {
    if ok { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The root of the repository, wherever it has been moved to since the build.
pub(crate) fn root() -> Result<PathBuf> {
    let own = std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    match own.parent() {
        Some(root) if root.join("Cargo.toml").is_file() => Ok(root.to_owned()),
        _ => Err(format!("no workspace around {}; run this as `cargo xtask`", own.display()).into()),
    }
}

/// What lies directly in a folder, sorted; nothing if there is no such folder.
pub(crate) fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).context(folder.display())? {
        paths.push(entry.context(folder.display())?.path());
    }
    paths.sort();
    Ok(paths)
}

/// The subfolders of a folder that hold a `Cargo.toml`, sorted.
pub(crate) fn packages_in(folder: &Path) -> Result<Vec<PathBuf>> {
    let found = entries(folder)?;
    Ok(found.into_iter().filter(|path| path.join("Cargo.toml").is_file()).collect())
}

/// All files below a folder whose names end so, sorted; build output and hidden folders are left out, links not
/// followed.
pub(crate) fn files_ending(ending: &str, folder: &Path, into: &mut Vec<PathBuf>) -> Result<()> {
    for path in entries(folder)? {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if path.is_symlink() || name.starts_with('.') {
            continue;
        }
        if path.is_dir() {
            if name != "target" && name != "node_modules" {
                files_ending(ending, &path, into)?;
            }
        } else if name.ends_with(ending) {
            into.push(path);
        }
    }
    Ok(())
}

/// A path as messages show it: below the root, with forward slashes.
pub(crate) fn shown(path: &Path, root: &Path) -> String {
    path.strip_prefix(root).unwrap_or(path).to_string_lossy().replace('\\', "/")
}

/// Lines up the columns of a table; a column whose cells are all numbers goes to the right.
pub(crate) fn columns(rows: &[Vec<String>]) -> String {
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let cells = |column: usize| rows.iter().filter_map(move |row| row.get(column));
    let shape: Vec<(usize, bool)> = (0..count)
        .map(|column| {
            let width = cells(column).map(|cell| cell.chars().count()).max().unwrap_or(0);
            let numbers =
                cells(column).skip(1).all(|cell| cell.chars().all(|c| c.is_ascii_digit() || c == '-'));
            (width, numbers)
        })
        .collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::from(" ");
        for (cell, &(width, right)) in row.iter().zip(&shape) {
            line.push(' ');
            line.push_str(&if right { format!("{cell:>width$}") } else { format!("{cell:<width$}") });
            line.push(' ');
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}
