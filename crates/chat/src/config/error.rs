use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use serde_path_to_error::Segment;

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

    pub(super) fn from_toml(path: &Path, text: &str, Misread { error, field }: Misread) -> Self {
        let before = error.span().and_then(|span| text.get(..span.start));
        let mut message = explain(error.message());
        if let Some(name) = field.last().filter(|_| message.starts_with("invalid ")) {
            message = format!("`{}`: {message}; write {}", visible_line(name), example(&field));
        }
        Self { path: path.to_owned(), line: before.map(|before| before.matches('\n').count() + 1), message }
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

/// Each field with a value of the right kind.
const EXAMPLES: &[&str] = &[
    "default_model = \"openai:gpt-4.1-mini\"",
    "system = \"Be brief.\"",
    "kind = \"openai-compatible\"",
    "base_url = \"http://localhost:8080/v1\"",
    "endpoint_url = \"http://localhost:8080/chat\"",
    "dialect = \"generic\"",
    "api_key_env = \"NAME_OF_A_VARIABLE\"",
    "model = \"openai:gpt-4.1-mini\"",
    "temperature = 0.5",
    "top_p = 0.9",
    "max_output_tokens = 1000",
    "seed = 1",
    "reasoning = \"low\"",
    "enable = [\"calculator\", \"read_file\"]",
    "root = \"notes\"",
    "max_steps = 20",
];

/// What to write in place of a field that is of the wrong kind.
fn example(field: &[String]) -> String {
    match field.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["tools"] => "`[tools]` on a line of its own, and below it `enable = [\"calculator\"]`".to_owned(),
        ["providers"] | ["providers", _] => {
            "`[providers.NAME]` on a line of its own, and below it `base_url = \"http://localhost:8080/v1\"`"
                .to_owned()
        }
        ["models"] | ["models", _] => {
            "`[models.NAME]` on a line of its own, and below it `model = \"openai:gpt-4.1-mini\"`".to_owned()
        }
        [.., name] => {
            let mut examples = EXAMPLES.iter();
            let example = examples.find(|example| example.split(" = ").next() == Some(name));
            example.map_or_else(|| "something else".to_owned(), |example| format!("`{example}`"))
        }
        [] => "a table".to_owned(),
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
