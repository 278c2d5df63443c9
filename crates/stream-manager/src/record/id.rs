use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(Arc<str>);

        impl $name {
            /// A fresh one: a random UUID.
            pub fn random() -> Self {
                Self(Uuid::new_v4().to_string().into())
            }

            /// The id as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.into())
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self(text.into())
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&*self.0, f)
            }
        }
    };
}

text_id! {
    /// Names a conversation.
    TopicId
}
text_id! {
    /// Names an input: given by its sender, so that the same input sent twice counts once.
    InputId
}
text_id! {
    /// Names a row of a conversation: the id of the message the user interface has for it.
    RowId
}
text_id! {
    /// Names a process that may own topics.
    NodeId
}

macro_rules! numbered_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        ///
        /// It counts within one ownership of its topic, and ownerships count up, so that it is unique in its topic and
        /// later ones compare greater. Its text is `EPOCH.NUMBER`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name {
            /// Which ownership of the topic made it.
            pub epoch: u64,
            /// Counts from 1 within it.
            pub number: u64,
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}.{}", self.epoch, self.number)
            }
        }

        impl FromStr for $name {
            type Err = IdError;
            fn from_str(text: &str) -> Result<Self, IdError> {
                let (epoch, number) = text.split_once('.').ok_or(IdError)?;
                Ok(Self { epoch: digits(epoch)?, number: digits(number)? })
            }
        }

        impl Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}

numbered_id! {
    /// Names a turn: one reply to the user on a topic, by one or several models.
    TurnId
}
numbered_id! {
    /// Names an attempt: one run of one model in a turn. A continuation or a resumed run is a new attempt.
    AttemptId
}

/// A text that is no id of a turn or an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not an id of the form EPOCH.NUMBER")]
pub struct IdError;

/// Only digits: `parse` would take a sign too, and then one id had several texts.
fn digits(text: &str) -> Result<u64, IdError> {
    let canonical = text.bytes().all(|byte| byte.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
    if canonical { text.parse().map_err(|_| IdError) } else { Err(IdError) }
}

/// Says which attempt something is about. Every message between the parts of the manager carries it; what is about an
/// attempt that is over is counted and dropped.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Identity {
    /// The conversation.
    pub topic: TopicId,
    /// Its turn.
    pub turn: TurnId,
    /// Its attempt.
    pub attempt: AttemptId,
}
