use serde::Serialize;
use serde::de::DeserializeOwned;

use super::error::{StoreError, StoreErrorKind};

/// So deep may stored JSON be: lists and objects in one another. What comes from a server is read to 128 levels, and
/// stands a few levels down in a row; more would threaten the stack of what reads it.
pub const MAX_DEPTH: usize = 256;

/// As deep as `serde_json` reads by itself.
const PLAIN: usize = 127;

/// JSON for a store. It can be [read](decode) again, which the text of `serde_json` alone can not where a server has
/// sent it JSON as deep as it may be. For implementations.
///
/// # Errors
/// [`Conflict`](StoreErrorKind::Conflict) if it is deeper than [`MAX_DEPTH`], or is none.
pub fn encode(value: &impl Serialize) -> Result<String, StoreError> {
    let conflict = |what: String| StoreError::new(StoreErrorKind::Conflict, what);
    let text = serde_json::to_string(value)
        .map_err(|error| conflict("writing JSON".to_owned()).with_source(error))?;
    match depth(&text) {
        deep if deep > MAX_DEPTH => Err(conflict(format!("JSON of {deep} levels"))),
        _ => Ok(text),
    }
}

/// Reads what [`encode`] wrote. For implementations.
///
/// # Errors
/// [`Corrupt`](StoreErrorKind::Corrupt) if it is something else.
pub fn decode<T: DeserializeOwned>(text: &str) -> Result<T, StoreError> {
    let plain = serde_json::from_str(text);
    let read = match plain {
        Err(_) if (PLAIN + 1..=MAX_DEPTH).contains(&depth(text)) => {
            let mut reader = serde_json::Deserializer::from_str(text);
            reader.disable_recursion_limit();
            T::deserialize(&mut reader).and_then(|value| reader.end().map(|()| value))
        }
        plain => plain,
    };
    read.map_err(|error| StoreError::new(StoreErrorKind::Corrupt, "reading JSON").with_source(error))
}

/// How deep lists and objects stand in one another. Text that is no JSON has some depth too.
fn depth(text: &str) -> usize {
    let (mut deep, mut deepest, mut quoted, mut escaped) = (0_usize, 0, false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            _ if quoted => {}
            b'[' | b'{' => {
                deep += 1;
                deepest = deepest.max(deep);
            }
            b']' | b'}' => deep = deep.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

#[cfg(test)]
mod tests;
