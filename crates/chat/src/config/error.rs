use std::fmt;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde_path_to_error::Segment;

use crate::text::{nearest, visible_line};

/// Why a configuration file is not used. Never shows a value of the file: it may be a key that was put into the wrong
/// place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ConfigError {
    path: PathBuf,
    fault: Fault,
    /// How many faults there are besides.
    more: usize,
}

/// What is wrong with a configuration, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) line: Option<usize>,
    pub(crate) message: String,
}

/// Fields people try to put a key into.
const KEY_FIELDS: &[&str] =
    &["apikey", "apikeys", "key", "secret", "password", "bearer", "authorization", "token"];

impl ConfigError {
    pub(super) fn new(path: &Path, fault: Fault, more: usize) -> Self {
        Self { path: path.to_owned(), fault, more }
    }

    pub(super) fn unreadable(path: &Path, error: &io::Error) -> Self {
        let message = match error.kind() {
            io::ErrorKind::NotFound => "there is no such file".to_owned(),
            io::ErrorKind::InvalidData => "it is not UTF-8 text".to_owned(),
            _ => format!("it cannot be read: {error}"),
        };
        Self::new(path, Fault { line: None, message }, 0)
    }
}

/// What TOML's reader says, and the field it was at: the names from the root down to it.
#[derive(Debug)]
pub(super) struct Misread {
    error: toml::de::Error,
    field: Vec<String>,
}

impl Misread {
    pub(super) fn syntax(error: toml::de::Error) -> Self {
        Self { error, field: Vec::new() }
    }

    pub(super) fn span(&self) -> Option<Range<usize>> {
        self.error.span()
    }

    /// The field that is missing, if that is what is wrong.
    pub(super) fn misses(&self) -> Option<Vec<&str>> {
        let name = self.error.message().strip_prefix("missing field `")?.strip_suffix('`')?;
        Some(self.field.iter().map(String::as_str).chain([name]).collect())
    }

    pub(super) fn fault(&self, text: &str) -> Fault {
        let before = self.span().and_then(|span| text.get(..span.start));
        let mut message = explain(self.error.message());
        let own_words = ["unknown ", "missing ", "duplicate "];
        if let Some(name) =
            self.field.last().filter(|_| !own_words.iter().any(|word| message.starts_with(word)))
        {
            let hint = message.starts_with("invalid ").then(|| format!("; write {}", example(&self.field)));
            if !message.contains("is not taken") {
                message = format!("`{}`: {message}{}", visible_line(name), hint.unwrap_or_default());
            }
        }
        Fault { line: before.map(|before| before.matches('\n').count() + 1), message }
    }
}

impl From<serde_path_to_error::Error<toml::de::Error>> for Misread {
    fn from(error: serde_path_to_error::Error<toml::de::Error>) -> Self {
        let field = error.path().iter().filter_map(|segment| match segment {
            Segment::Map { key } => Some(key.clone()),
            _ => None,
        });
        Self { field: field.collect(), error: error.into_inner() }
    }
}

/// What to write in place of a field that is of the wrong kind: as the example has it.
fn example(field: &[String]) -> String {
    let example = super::example::complete();
    let path = match field {
        [parent, rest @ ..] if super::example::has_names(parent) && rest.len() < 2 => {
            format!("{parent}.NAME")
        }
        _ => field.join("."),
    };
    let line = |name: &str, value: &toml::Value| format!("{name} = {}", inline(value));
    let plain = |table: &toml::Table| {
        table.iter().find(|(_, value)| !value.is_table()).map(|(name, value)| line(name, value))
    };
    match (find(&example, "", field), field.last()) {
        (Some(toml::Value::Table(table)), _) => {
            let nested = || table.values().filter_map(toml::Value::as_table).find_map(plain);
            let below = plain(table).or_else(nested).unwrap_or_default();
            format!("`[{path}]` on a line of its own, and below it `{below}`")
        }
        (Some(value), Some(name)) => format!("`{}`", line(name, value)),
        _ => "something else".to_owned(),
    }
}

/// A field of the example. Where names are free, that of any entry that has it.
fn find<'a>(value: &'a toml::Value, parent: &str, field: &[String]) -> Option<&'a toml::Value> {
    let Some((name, rest)) = field.split_first() else { return Some(value) };
    let table = value.as_table()?;
    let exact = table.get(name).and_then(|value| find(value, name, rest));
    let of_any = || table.values().find_map(|value| find(value, name, rest));
    exact.or_else(|| super::example::has_names(parent).then(of_any).flatten())
}

/// A value on one line.
fn inline(value: &toml::Value) -> String {
    value.to_string().lines().map(str::trim).collect::<Vec<_>>().join(" ")
}

/// The message of the TOML reader, with a suggestion and without values.
fn explain(message: &str) -> String {
    let message = without_values(message).lines().collect::<Vec<_>>().join("; ");
    let message = visible_line(&message);
    let unknown =
        message.strip_prefix("unknown field `").or_else(|| message.strip_prefix("unknown variant `"));
    let Some((name, rest)) = unknown.and_then(|rest| rest.split_once('`')) else { return message };
    let plain: String = name.to_lowercase().chars().filter(|c| c.is_alphanumeric()).collect();
    if message.starts_with("unknown field") && KEY_FIELDS.contains(&plain.as_str()) {
        return format!(
            "`{name}` is not taken: a key in a file ends up in backups and repositories. Put the key into an \
             environment variable and name the variable: api_key_env = \"NAME\""
        );
    }
    let known: Vec<_> = rest.split('`').skip(1).step_by(2).collect();
    match nearest(name, known) {
        Some(nearest) => format!("{message}; did you mean `{nearest}`?"),
        // What is like none of the words may be a key.
        None if message.starts_with("unknown variant") => format!("this word is not known{rest}"),
        None => message,
    }
}

/// `invalid type: string "sk-1", expected u32` without what stands in quotes, and with our own words for the
/// names of Rust.
fn without_values(message: &str) -> String {
    let Some((what, expected)) = message.rsplit_once(", expected ") else { return message.to_owned() };
    if !message.starts_with("invalid ") {
        return message.to_owned();
    }
    let what = what.split(['"', '`']).next().unwrap_or_default().trim_end();
    let expected = match expected {
        "a map" => "a table",
        "path string" => "a string",
        "a sequence" => "a list",
        "a nonzero u32" => "a whole number above 0",
        "u64" | "i64" => "a whole number",
        "f64" => "a number",
        expected if expected.starts_with("struct ") => "a table",
        expected => expected,
    };
    format!("{what}, expected {expected}")
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the configuration file {}", self.path.display())?;
        if let Some(line) = self.fault.line {
            write!(f, ", line {line}")?;
        }
        write!(f, ": {}", self.fault.message)?;
        match self.more {
            0 => Ok(()),
            more => write!(f, " ({more} more: `chat config check` shows all)"),
        }
    }
}

impl std::error::Error for ConfigError {}
