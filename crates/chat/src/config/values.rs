//! Values of fields that are more than a text or a number.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ai_provider::JsonObject;
use jiff::SignedDuration;
use schemars::JsonSchema;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// What is said where a secret stands in the file itself.
pub(super) const NO_SECRET_HERE: &str = "a secret in a file ends up in backups and repositories. Put it into an \
     environment variable, a file of its own or a password manager, and say where it is: { env = \"NAME\" }, { file = \
     \"PATH\" } or { command = [\"PROGRAM\", \"ARGUMENT\"] }";

/// The name of an environment variable.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, JsonSchema)]
#[schemars(with = "String")]
pub(crate) struct EnvName(String);

impl EnvName {
    /// A name, if the text can be one. Most keys cannot.
    pub(crate) fn new(name: &str) -> Option<Self> {
        let fits = name.len() <= 100
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
            && !name.starts_with(|c: char| c.is_ascii_digit())
            && !name.is_empty();
        fits.then(|| Self(name.to_owned()))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl<'de> Deserialize<'de> for EnvName {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Self::new(&String::deserialize(from)?).ok_or_else(|| {
            D::Error::custom("this is no name of an environment variable: write the name, not what it holds")
        })
    }
}

/// Where a secret is: `{ env = "NAME" }` for an environment variable, `{ file = "PATH" }` for what a file holds,
/// `{ command = ["PROGRAM", "ARGUMENT"] }` for what a program prints.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema)]
#[schemars(with = "String")]
pub(crate) enum Secret {
    Env(EnvName),
    File(PathBuf),
    Command(Vec<String>),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SecretTable {
    env: Option<EnvName>,
    file: Option<PathBuf>,
    command: Option<Vec<String>>,
}

struct SecretVisitor;

impl<'de> Visitor<'de> for SecretVisitor {
    type Value = Secret;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a table")
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<Secret, E> {
        Err(E::custom(NO_SECRET_HERE))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Secret, A::Error> {
        let table = SecretTable::deserialize(MapAccessDeserializer::new(map))?;
        match (table.env, table.file, table.command) {
            (Some(name), None, None) => Ok(Secret::Env(name)),
            (None, Some(path), None) => Ok(Secret::File(path)),
            (None, None, Some(words)) if words.first().is_some_and(|program| !program.is_empty()) => {
                Ok(Secret::Command(words))
            }
            (None, None, Some(_)) => Err(A::Error::custom("`command` names no program")),
            _ => Err(A::Error::custom("a secret is in one place: `env`, `file` or `command`")),
        }
    }
}

impl<'de> Deserialize<'de> for Secret {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(SecretVisitor)
    }
}

/// A text, or where a text is that must not stand in the file.
#[derive(Clone, PartialEq, Eq, JsonSchema)]
#[schemars(with = "String")]
pub(crate) enum Text {
    Plain(String),
    Secret(Secret),
}

/// Shows no text: it may be a secret after all.
impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plain(_) => f.write_str("Plain(…)"),
            Self::Secret(secret) => secret.fmt(f),
        }
    }
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct TextVisitor;

        impl<'de> Visitor<'de> for TextVisitor {
            type Value = Text;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string, or a table")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Text, E> {
                Ok(Text::Plain(text.to_owned()))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Text, A::Error> {
                SecretVisitor.visit_map(map).map(Text::Secret)
            }
        }

        from.deserialize_any(TextVisitor)
    }
}

/// An address of a server, `http` or `https`, without a password.
#[derive(Clone, PartialEq, Eq, JsonSchema)]
#[schemars(with = "String")]
pub(crate) struct Address(url::Url, String);

impl Address {
    /// As it was written.
    pub(crate) fn as_str(&self) -> &str {
        &self.1
    }

    pub(crate) fn url(&self) -> &url::Url {
        &self.0
    }
}

impl std::str::FromStr for Address {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let url: url::Url = text.trim().parse().map_err(|_| "this is no URL")?;
        if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
            return Err("this is no URL of a server: it begins with http:// or https://");
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err("a password does not belong into a URL: use `keys` or `headers`");
        }
        Ok(Self(url, text.trim().to_owned()))
    }
}

/// Shows no query: it may hold a key.
impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.0.origin().ascii_serialization(), self.0.path())
    }
}

impl<'de> Deserialize<'de> for Address {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        String::deserialize(from)?.parse().map_err(D::Error::custom)
    }
}

/// A time: a number of seconds, or a text with units such as `"500ms"`, `"30s"`, `"5m"` or `"1h 30m"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema)]
#[schemars(with = "String")]
pub(crate) struct Time(pub(crate) Duration);

impl Time {
    /// More is no limit, but a mistake in the unit.
    const MOST: Duration = Duration::from_secs(31 * 24 * 60 * 60);

    fn new(time: Result<Duration, impl fmt::Display>) -> Result<Self, &'static str> {
        match time {
            Ok(time) if time.is_zero() => Err("a time is longer than nothing"),
            Ok(time) if time > Self::MOST => Err("a time is 31 days at most"),
            Ok(time) => Ok(Self(time)),
            Err(_) => Err("this is no time: write a number of seconds, or a text such as \"30s\" or \"5m\""),
        }
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct TimeVisitor;

        impl Visitor<'_> for TimeVisitor {
            type Value = Time;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a time")
            }

            fn visit_i64<E: Error>(self, seconds: i64) -> Result<Time, E> {
                Time::new(u64::try_from(seconds).map(Duration::from_secs)).map_err(E::custom)
            }

            fn visit_f64<E: Error>(self, seconds: f64) -> Result<Time, E> {
                Time::new(Duration::try_from_secs_f64(seconds)).map_err(E::custom)
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Time, E> {
                let time = text.parse::<SignedDuration>().and_then(Duration::try_from);
                Time::new(time).map_err(E::custom)
            }
        }

        from.deserialize_any(TimeVisitor)
    }
}

/// A table as it goes into JSON: times become texts, and a number that JSON does not have is refused.
pub(super) fn json<'de, D: Deserializer<'de>>(from: D) -> Result<JsonObject, D::Error> {
    let table = super::table::table::<D, toml::Table>(from)?;
    fields(table).map_err(D::Error::custom)
}

fn fields(table: toml::Table) -> Result<JsonObject, &'static str> {
    table.into_iter().map(|(name, value)| Ok((name, value_in_json(value)?))).collect()
}

fn value_in_json(value: toml::Value) -> Result<Value, &'static str> {
    Ok(match value {
        toml::Value::String(text) => text.into(),
        toml::Value::Integer(number) => number.into(),
        toml::Value::Float(number) => match serde_json::Number::from_f64(number) {
            Some(number) => Value::Number(number),
            None => return Err("JSON has no such number"),
        },
        toml::Value::Boolean(yes) => yes.into(),
        toml::Value::Datetime(time) => time.to_string().into(),
        toml::Value::Array(list) => {
            Value::Array(list.into_iter().map(value_in_json).collect::<Result<_, _>>()?)
        }
        toml::Value::Table(table) => Value::Object(fields(table)?),
    })
}

/// Where files are that are named in a configuration file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Folders<'a> {
    /// Of the configuration file.
    pub(super) here: &'a Path,
    pub(super) home: Option<&'a Path>,
}

impl Folders<'_> {
    /// A path relative to the configuration file, or to the home where it begins with `~/`.
    pub(super) fn place(self, path: &mut PathBuf) {
        let placed = match (path.strip_prefix("~"), self.home) {
            (Ok(rest), Some(home)) => home.join(rest),
            _ => self.here.join(&*path),
        };
        *path = placed;
    }

    pub(super) fn place_secret(self, secret: &mut Secret) {
        if let Secret::File(path) = secret {
            self.place(path);
        }
    }

    pub(super) fn place_text(self, text: &mut Text) {
        if let Text::Secret(secret) = text {
            self.place_secret(secret);
        }
    }
}
