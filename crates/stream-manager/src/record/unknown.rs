use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A stored value of a kind this version may not know: written by a later one, it is kept as it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Known<T> {
    /// Known.
    Is(T),
    /// Not known; written back unchanged.
    Other(Value),
}

impl<T> Known<T> {
    /// The value, if this version knows it.
    pub fn known(&self) -> Option<&T> {
        match self {
            Self::Is(value) => Some(value),
            Self::Other(_) => None,
        }
    }
}

impl<T> From<T> for Known<T> {
    fn from(value: T) -> Self {
        Self::Is(value)
    }
}
