//! Reads secrets where the configuration says they are. No error shows one.

use std::env::VarError;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::process::{Command, Stdio};

use ai_provider::{ApiKey, ModelError};

use crate::config::itself::is_own_program;
use crate::config::{Secret, Text};
use crate::failure::Failure;

/// The largest secret, in bytes: a certificate is the longest thing people use as one.
const MAX_BYTES: u64 = 64 << 10;

/// The secret in a place, without the line break at its end.
///
/// # Errors
/// If there is none, or it is no text.
pub(crate) fn read(place: &Secret) -> Result<String, Failure> {
    let text = match place {
        Secret::Env(name) => match std::env::var(name.as_str()) {
            Ok(text) => text,
            Err(VarError::NotUnicode(_)) => return Err(unusable(place, "it is not text")),
            Err(VarError::NotPresent) => return Err(Failure::new(format!("{} is not set", shown(place)))),
        },
        Secret::File(path) => read_file(path).map_err(|error| unreadable(place, &error))?,
        Secret::Command(words) => run(words).map_err(|error| unreadable(place, &error))?,
    };
    Ok(text.trim_end_matches(['\r', '\n']).to_owned())
}

/// A text of the configuration, or the secret it names.
///
/// # Errors
/// As [`read`].
pub(crate) fn text(text: &Text) -> Result<String, Failure> {
    match text {
        Text::Plain(text) => Ok(text.clone()),
        Text::Secret(place) => read(place),
    }
}

/// A text of the configuration that is no secret.
pub(crate) fn plain(text: &Text) -> Option<&str> {
    match text {
        Text::Plain(text) => Some(text),
        Text::Secret(_) => None,
    }
}

/// The keys in these places: in each one, or several separated by commas, each once.
///
/// # Errors
/// If a place has none, or what it has cannot be one.
pub(crate) fn keys(places: &[Secret]) -> Result<Vec<ApiKey>, Failure> {
    let mut keys: Vec<ApiKey> = Vec::new();
    for place in places {
        let text = read(place).map_err(|failure| no_key(place, &failure))?;
        for key in keys_in(place, &text)? {
            // The same key twice would be refused twice.
            if keys.iter().any(|known| known.expose() == key.expose()) {
                continue;
            }
            let taken = keys.iter().any(|known| known.label() == key.label());
            let number = keys.len() + 1;
            keys.push(if taken { relabelled(key, number) } else { key });
        }
    }
    Ok(keys)
}

fn relabelled(key: ApiKey, number: usize) -> ApiKey {
    let label = format!("{}-{number}", key.label());
    key.labelled(label)
}

fn keys_in(place: &Secret, text: &str) -> Result<Vec<ApiKey>, Failure> {
    let mut texts: Vec<_> = text.split(',').map(str::trim).filter(|text| !text.is_empty()).collect();
    if texts.is_empty() {
        texts.push("");
    }
    let alone = texts.len() == 1;
    let named = |(at, text): (usize, &str)| {
        let key = ApiKey::new(text)?;
        Ok(match label(place) {
            None => key,
            Some(label) if alone => key.labelled(label),
            Some(label) => key.labelled(format!("{label}-{}", at + 1)),
        })
    };
    let keys: Result<_, ModelError> = texts.into_iter().enumerate().map(named).collect();
    keys.map_err(|error| {
        unusable_key(place, error.message()).with_advice("It must be the key alone, on one line.")
    })
}

/// The name under which a key is spoken of.
fn label(place: &Secret) -> Option<String> {
    match place {
        Secret::Env(name) => is_usual(name.as_str()).then(|| name.as_str().to_owned()),
        Secret::File(path) => file_name(path),
        Secret::Command(words) => words.first().and_then(|program| file_name(Path::new(program))),
    }
}

fn file_name(path: &Path) -> Option<String> {
    path.file_name().map(|name| name.to_string_lossy().into_owned())
}

fn no_key(place: &Secret, failure: &Failure) -> Failure {
    let missing = Failure::new(format!("there is no API key: {}", failure.message));
    match place {
        Secret::Env(_) => missing.with_advice("Set it, or name another variable with --api-key-env."),
        _ => missing,
    }
}

fn unusable_key(place: &Secret, why: &str) -> Failure {
    Failure::new(format!("the key in {} cannot be used: {why}", shown(place)))
}

fn unusable(place: &Secret, why: &str) -> Failure {
    Failure::new(format!("{} cannot be used: {why}", shown(place)))
}

fn unreadable(place: &Secret, error: &io::Error) -> Failure {
    let why = match error.kind() {
        io::ErrorKind::NotFound => "there is no such file".to_owned(),
        io::ErrorKind::InvalidData => "what it gives is not UTF-8 text".to_owned(),
        _ => error.to_string(),
    };
    Failure::new(format!("{} gives no secret: {why}", shown(place)))
}

/// A place in words. A variable whose name may be a key that was given in its place is not named, nor are the
/// arguments of a command.
pub(crate) fn shown(place: &Secret) -> String {
    match place {
        Secret::Env(name) if is_usual(name.as_str()) => format!("the environment variable {}", name.as_str()),
        Secret::Env(_) => "the environment variable named for it".to_owned(),
        Secret::File(path) => format!("the file {}", path.display()),
        Secret::Command(words) => {
            format!("the command {}", words.first().map(String::as_str).unwrap_or_default())
        }
    }
}

fn is_usual(variable: &str) -> bool {
    variable.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
}

fn read_file(path: &Path) -> io::Result<String> {
    // Asked before the file is opened: opening a pipe would wait for its other end.
    if !path.metadata()?.is_file() {
        return Err(io::Error::other("it is no regular file"));
    }
    bounded(File::open(path)?)
}

/// What a program prints. It has no input; what it says on standard error is seen by the user.
fn run(words: &[String]) -> io::Result<String> {
    let (program, arguments) = words.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    if is_own_program(Path::new(program), std::env::var_os("PATH").as_deref()) {
        return Err(io::Error::other("it is this program itself, which would ask itself for ever"));
    }
    let mut child =
        Command::new(program).args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
    let printed = child.stdout.take().map_or_else(|| Ok(String::new()), bounded);
    if printed.is_err() {
        // It may write for ever.
        let _ = child.kill();
    }
    let status = child.wait()?;
    match printed {
        Ok(_) if !status.success() => Err(io::Error::other(format!("it failed ({status})"))),
        printed => printed,
    }
}

fn bounded(from: impl Read) -> io::Result<String> {
    let mut text = String::new();
    from.take(MAX_BYTES + 1).read_to_string(&mut text)?;
    match u64::try_from(text.len()) {
        Ok(length) if length <= MAX_BYTES => Ok(text),
        _ => Err(io::Error::other(format!("it is larger than {MAX_BYTES} bytes"))),
    }
}
