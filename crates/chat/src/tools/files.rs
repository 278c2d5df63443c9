//! Files under one folder. `cap-std` holds the folder open and resolves every path inside it: `..`, absolute
//! paths and links cannot lead out.

#[cfg(test)]
mod tests;

use std::io::{self, Read};
use std::path::Path;

use cap_std::ambient_authority;
use cap_std::fs::{Dir, DirEntry};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::text::{shorten, visible_line};

/// The largest file that is read unless something else is said, in bytes. Its text goes into the prompt: 256 KiB are
/// some 65,000 tokens, half of what most models can hold.
pub(crate) const MAX_FILE: u64 = 256 << 10;

/// The most entries of a folder that are listed, for the same reason.
pub(crate) const MAX_ENTRIES: usize = 1_000;

/// The most entries that are looked at before sorting: what keeps a folder of millions from filling memory.
const MAX_SCAN: usize = 100_000;

/// Input of `read_file`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReadArgs {
    /// The file, relative to the root folder, for example `notes.txt` or `docs/plan.md`.
    pub(crate) path: String,
}

/// Input of `list_files`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListArgs {
    /// The folder, relative to the root folder; the root folder itself if absent.
    #[serde(default)]
    pub(crate) path: Option<String>,
}

/// Why there is no text or no list. Says nothing about what lies outside the root.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Fault {
    #[error("`{path}` is outside the root folder")]
    Outside { path: String },
    #[error("there is no `{path}`")]
    Missing { path: String },
    #[error("`{path}` may not be read")]
    Denied { path: String },
    #[error("`{path}` is a folder, not a file: list it instead")]
    Folder { path: String },
    #[error("`{path}` is not a folder")]
    NoFolder { path: String },
    #[error("`{path}` is neither a file nor a folder")]
    Special { path: String },
    #[error("`{path}` has {bytes} bytes; at most {limit} are read")]
    TooLarge { path: String, bytes: u64, limit: u64 },
    #[error("`{path}` is not a text file: it holds bytes that are not UTF-8 text")]
    Binary { path: String },
    #[error("the path is empty")]
    Empty,
    #[error("`{path}` could not be read: {error}")]
    Io { path: String, error: io::Error },
}

/// The folder the tools see.
#[derive(Debug)]
pub(crate) struct Root {
    dir: Dir,
    /// The largest file that is read, in bytes.
    limit: u64,
}

impl Root {
    /// Opens the folder; it stays the same one, whatever is renamed later.
    ///
    /// # Errors
    /// If it is not there, is no folder, or may not be read.
    pub(crate) fn open(folder: &Path) -> io::Result<Self> {
        let dir = Dir::open_ambient_dir(folder, ambient_authority())?;
        Ok(Self { dir, limit: MAX_FILE })
    }

    /// Sets the largest file that is read, in bytes.
    pub(crate) fn with_limit(self, limit: u64) -> Self {
        Self { limit, ..self }
    }

    /// The text of a file.
    ///
    /// # Errors
    /// If it is outside, missing, no regular file, larger than the limit, or no text.
    pub(crate) fn read(&self, args: &ReadArgs) -> Result<String, Fault> {
        let path = args.path.trim();
        let fault = |error| fault(path, error);
        // Asked before the file is opened: opening a pipe would wait for its other end.
        let kind = self.dir.metadata(checked(path)?).map_err(fault)?;
        if kind.is_dir() {
            return Err(Fault::Folder { path: shown(path) });
        } else if !kind.is_file() {
            return Err(Fault::Special { path: shown(path) });
        }
        let mut bytes = Vec::new();
        let file = self.dir.open(path).map_err(fault)?;
        file.take(self.limit.saturating_add(1)).read_to_end(&mut bytes).map_err(fault)?;
        if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > self.limit {
            let bytes = kind.len().max(self.limit.saturating_add(1));
            return Err(Fault::TooLarge { path: shown(path), bytes, limit: self.limit });
        }
        match String::from_utf8(bytes) {
            Ok(text) if !text.contains('\0') => Ok(text),
            _ => Err(Fault::Binary { path: shown(path) }),
        }
    }

    /// The entries of a folder, one per line, sorted by name: `docs/`, `notes.txt (12 bytes)`, `here (link)`.
    ///
    /// # Errors
    /// If it is outside, missing or no folder.
    pub(crate) fn list(&self, args: &ListArgs) -> Result<String, Fault> {
        let path = args.path.as_deref().map(str::trim).filter(|path| !path.is_empty()).unwrap_or(".");
        let fault = |error| fault(path, error);
        if !self.dir.metadata(checked(path)?).map_err(fault)?.is_dir() {
            return Err(Fault::NoFolder { path: shown(path) });
        }
        let entries = self.dir.read_dir(path).map_err(fault)?.take(MAX_SCAN + 1);
        let mut entries: Vec<_> = entries.collect::<io::Result<_>>().map_err(fault)?;
        entries.sort_by_key(DirEntry::file_name);
        let found = entries.len();
        let mut lines: Vec<_> = entries.iter().take(MAX_ENTRIES).map(line).collect();
        if found == 0 {
            lines.push("(empty)".to_owned());
        } else if found > MAX_SCAN {
            lines.push(format!("… and more: the folder has over {MAX_SCAN} entries"));
        } else if found > MAX_ENTRIES {
            lines.push(format!("… and {} more, which are not shown", found - MAX_ENTRIES));
        }
        Ok(lines.join("\n"))
    }
}

fn line(entry: &DirEntry) -> String {
    let name = visible_line(&entry.file_name().to_string_lossy());
    match entry.metadata() {
        Ok(kind) if kind.is_dir() => format!("{name}/"),
        Ok(kind) if kind.is_symlink() => format!("{name} (link)"),
        Ok(kind) if kind.is_file() => format!("{name} ({} bytes)", kind.len()),
        _ => format!("{name} (not a file)"),
    }
}

fn checked(path: &str) -> Result<&str, Fault> {
    if path.is_empty() { Err(Fault::Empty) } else { Ok(path) }
}

fn shown(path: &str) -> String {
    shorten(&visible_line(path), 200)
}

fn fault(path: &str, error: io::Error) -> Fault {
    let (given, path) = (path, shown(path));
    match error.kind() {
        io::ErrorKind::NotFound => Fault::Missing { path },
        io::ErrorKind::NotADirectory => Fault::Missing { path },
        // What `cap-std` says of a path that leads out; the system says the same of a file without rights.
        io::ErrorKind::PermissionDenied if error.raw_os_error().is_none() => Fault::Outside { path },
        io::ErrorKind::PermissionDenied => Fault::Denied { path },
        _ if Path::new(given).is_absolute() => Fault::Outside { path },
        _ => Fault::Io { path, error },
    }
}
