use serde::de::DeserializeOwned;
use serde_json::Value;

use super::error::Mistake;
use super::partial::first_object;
use super::schema::MEMBER;

/// What of a text is the object: the text itself, or what stands between words and fences.
pub(super) fn object_text(text: &str) -> &str {
    first_object(text).unwrap_or_else(|| text.trim())
}

/// Reads the object. Its own type decides whether it fits.
pub(super) fn from_text<T: DeserializeOwned>(text: &str, wrapped: bool) -> Result<T, Mistake> {
    if wrapped {
        let value = serde_json::from_str(text).map_err(|error| no_json(&error))?;
        return from_value(value, true);
    }
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let value = serde_path_to_error::deserialize(&mut deserializer).map_err(|error| mistake(&error, ""))?;
    deserializer.end().map_err(|error| no_json(&error))?;
    Ok(value)
}

pub(super) fn from_value<T: DeserializeOwned>(mut value: Value, wrapped: bool) -> Result<T, Mistake> {
    if !wrapped {
        return serde_path_to_error::deserialize(value).map_err(|error| mistake(&error, ""));
    }
    match value.get_mut(MEMBER).map(Value::take) {
        Some(member) => serde_path_to_error::deserialize(member).map_err(|error| mistake(&error, MEMBER)),
        None => Err(Mistake { path: None, message: format!("missing field `{MEMBER}`") }),
    }
}

fn no_json(error: &serde_json::Error) -> Mistake {
    Mistake { path: None, message: error.to_string() }
}

/// The path of a mistake, behind `root`.
fn mistake(error: &serde_path_to_error::Error<serde_json::Error>, root: &str) -> Mistake {
    let inner = match error.path().to_string() {
        // What serde_path_to_error writes for the root, and where it lost the way.
        path if path == "." || path == "?" => String::new(),
        path => path,
    };
    let dot = if root.is_empty() || inner.is_empty() || inner.starts_with('[') { "" } else { "." };
    let path = format!("{root}{dot}{inner}");
    let path = (!path.is_empty() && !error.inner().is_syntax() && !error.inner().is_eof()).then_some(path);
    Mistake { path, message: error.inner().to_string() }
}
