use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use crate::text::{nearest, visible_line};

/// What is wrong with a configuration file, and where. Never shows a value of the file: it may be a key that was
/// put into the wrong place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ConfigError {
    path: PathBuf,
    line: Option<usize>,
    message: String,
}

/// Fields people try to put a key into.
const KEY_FIELDS: &[&str] = &["apikey", "key", "token", "secret", "password", "bearer", "authorization"];

impl ConfigError {
    pub(super) fn unreadable(path: &Path, error: &io::Error) -> Self {
        let message = match error.kind() {
            io::ErrorKind::NotFound => "there is no such file".to_owned(),
            io::ErrorKind::InvalidData => "it is not UTF-8 text".to_owned(),
            _ => format!("it cannot be read: {error}"),
        };
        Self { path: path.to_owned(), line: None, message }
    }

    pub(super) fn from_toml(path: &Path, text: &str, error: &toml::de::Error) -> Self {
        let before = error.span().and_then(|span| text.get(..span.start));
        Self {
            path: path.to_owned(),
            line: before.map(|before| before.matches('\n').count() + 1),
            message: explain(error.message()),
        }
    }
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
        None => message,
    }
}

/// `invalid type: string "sk-1", expected u32` without what stands in quotes.
fn without_values(message: &str) -> String {
    match (message.split_once(" \""), message.rsplit_once('"')) {
        (Some((before, _)), Some((_, after))) if message.starts_with("invalid ") => {
            format!("{before}{after}")
        }
        _ => message.to_owned(),
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the configuration file {}", self.path.display())?;
        match self.line {
            Some(line) => write!(f, ", line {line}: {}", self.message),
            None => write!(f, ": {}", self.message),
        }
    }
}

impl std::error::Error for ConfigError {}
