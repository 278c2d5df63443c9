//! Reads a file and finds all that is wrong with it: what is not understood is taken out, and the rest is read again.

use std::collections::BTreeMap;
use std::fs::File as FsFile;
use std::io::{self, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};

use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

use super::Config;
use super::error::{ConfigError, Fault, Misread};
use super::values::Folders;

/// The largest configuration file, in bytes: hundreds of times what a person writes.
const MAX_BYTES: u64 = 1 << 20;

/// The most readings, each of which finds a fault: a file with more is no configuration.
const MAX_READINGS: usize = 100;

/// A configuration as far as it is understood.
#[derive(Debug, Default)]
pub(crate) struct Draft {
    pub(crate) config: Config,
    pub(crate) places: Places,
    /// What is not understood, in the order of the lines.
    pub(crate) faults: Vec<Fault>,
}

impl Draft {
    /// # Errors
    /// If the file cannot be read.
    pub(crate) fn read(path: &Path) -> Result<Self, ConfigError> {
        let text = read_text(path).map_err(|error| ConfigError::unreadable(path, &error))?;
        let mut draft = Self::parse(&text);
        let home = std::env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_absolute());
        let here = path.parent().unwrap_or(Path::new(""));
        draft.config.place(Folders { here, home: home.as_deref() });
        Ok(draft)
    }

    pub(crate) fn parse(text: &str) -> Self {
        let (mut tree, errors) = DeTable::parse_recoverable(text);
        if !errors.is_empty() {
            let faults = errors.into_iter().map(|error| Misread::syntax(error).fault(text)).collect();
            return Self { faults, ..Self::default() };
        }
        let mut draft = Self { places: Places::of(text, tree.get_ref()), ..Self::default() };
        for _ in 0..MAX_READINGS {
            let misread = match understand(&tree) {
                Ok(config) => {
                    draft.config = config;
                    break;
                }
                Err(misread) => misread,
            };
            let taken_out = misread.span().is_some_and(|span| take_out(tree.get_mut(), &span));
            // What was taken out is missing then.
            if !misread.misses().is_some_and(|path| draft.places.has(&path)) {
                draft.faults.push(misread.fault(text));
            }
            if !taken_out {
                break;
            }
        }
        draft.faults.sort_by_key(|fault| fault.line);
        draft
    }
}

fn understand(tree: &Spanned<DeTable<'_>>) -> Result<Config, Misread> {
    serde_path_to_error::deserialize(toml::Deserializer::from(tree.clone())).map_err(Misread::from)
}

/// Takes out the innermost entry that holds the place, and what is written in braces and empty then.
fn take_out(table: &mut DeTable<'_>, place: &Range<usize>) -> bool {
    let inner = table.iter_mut().find_map(|(key, value)| {
        take_out_of(value.get_mut(), place).then(|| (key.clone(), is_emptied(value, place)))
    });
    let key = match inner {
        Some((_, false)) => return true,
        Some((key, true)) => key,
        None => {
            let hit =
                table.iter().find(|(key, value)| holds(&key.span(), place) || holds(&value.span(), place));
            let Some((key, _)) = hit else { return false };
            key.clone()
        }
    };
    table.remove(&key).is_some()
}

fn take_out_of(value: &mut DeValue<'_>, place: &Range<usize>) -> bool {
    match value {
        DeValue::Table(table) => take_out(table, place),
        DeValue::Array(list) => {
            let inner = list.iter_mut().any(|value| take_out_of(value.get_mut(), place));
            let goes = |value: &Spanned<DeValue<'_>>| match inner {
                true => is_emptied(value, place),
                false => holds(&value.span(), place),
            };
            let before = list.len();
            let all = list.clone().into_iter();
            *list = all.filter(|value| !goes(value)).collect::<DeArray<'_>>();
            inner || list.len() < before
        }
        _ => false,
    }
}

fn is_emptied(value: &Spanned<DeValue<'_>>, place: &Range<usize>) -> bool {
    value.get_ref().as_table().is_some_and(DeTable::is_empty) && holds(&value.span(), place)
}

fn holds(outer: &Range<usize>, inner: &Range<usize>) -> bool {
    outer.start <= inner.start && inner.end <= outer.end && !outer.is_empty()
}

/// Which lines the fields of a file are on, as far as they are written in it.
#[derive(Debug, Default)]
pub(crate) struct Places(BTreeMap<Vec<String>, usize>);

impl Places {
    fn of(text: &str, tree: &DeTable<'_>) -> Self {
        let mut places = Self::default();
        places.add(&line_starts(text), &mut Vec::new(), tree);
        places
    }

    fn add(&mut self, lines: &[usize], path: &mut Vec<String>, table: &DeTable<'_>) {
        for (key, value) in table {
            path.push(key.get_ref().to_string());
            self.0.insert(path.clone(), lines.partition_point(|start| *start <= key.span().start));
            if let DeValue::Table(inner) = value.get_ref() {
                self.add(lines, path, inner);
            }
            path.pop();
        }
    }

    /// The line of a field, or of the nearest table around it that is there.
    pub(crate) fn line(&self, path: &[&str]) -> Option<usize> {
        (1..=path.len()).rev().find_map(|length| {
            let path: Vec<_> = path.iter().take(length).map(|name| (*name).to_owned()).collect();
            self.0.get(&path).copied()
        })
    }

    /// Whether the file has this field, understood or not.
    pub(crate) fn has(&self, path: &[&str]) -> bool {
        let path: Vec<_> = path.iter().map(|name| (*name).to_owned()).collect();
        self.0.contains_key(&path)
    }
}

fn line_starts(text: &str) -> Vec<usize> {
    std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect()
}

fn read_text(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    FsFile::open(path)?.take(MAX_BYTES + 1).read_to_string(&mut text)?;
    if u64::try_from(text.len()).unwrap_or(u64::MAX) > MAX_BYTES {
        return Err(io::Error::other(format!("it is larger than {MAX_BYTES} bytes")));
    }
    Ok(text)
}
