//! Values whose type servers disagree on.

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;

use serde::de::Visitor;
use serde::{Deserialize, Deserializer};

/// A text, borrowed unless it is escaped; empty where it is null. A number is read as its text.
#[derive(Debug, Default)]
pub(super) struct Text<'a>(Cow<'a, str>);

impl<'a> Text<'a> {
    pub(super) fn into_cow(self) -> Cow<'a, str> {
        self.0
    }

    /// The text, unless it is blank.
    pub(super) fn said(&self) -> Option<String> {
        (!self.0.trim().is_empty()).then(|| self.0.clone().into_owned())
    }
}

impl Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visit;
        impl<'de> Visitor<'de> for Visit {
            type Value = Text<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Text(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Text(Cow::Owned(text.to_owned())))
            }

            fn visit_unit<E>(self) -> Result<Self::Value, E> {
                Ok(Text::default())
            }

            fn visit_u64<E>(self, number: u64) -> Result<Self::Value, E> {
                Ok(Text(number.to_string().into()))
            }

            fn visit_i64<E>(self, number: i64) -> Result<Self::Value, E> {
                Ok(Text(number.to_string().into()))
            }

            fn visit_f64<E>(self, number: f64) -> Result<Self::Value, E> {
                Ok(Text(number.to_string().into()))
            }
        }
        deserializer.deserialize_any(Visit)
    }
}

/// Which block an event is about: a whole number, also as a decimal or a text; absent where it is null.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Index(pub(super) Option<i64>);

impl<'de> Deserialize<'de> for Index {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visit;
        impl Visitor<'_> for Visit {
            type Value = Index;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the number of a block")
            }

            fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<Index, E> {
                i64::try_from(number).map(|number| Index(Some(number))).map_err(E::custom)
            }

            fn visit_i64<E>(self, number: i64) -> Result<Index, E> {
                Ok(Index(Some(number)))
            }

            fn visit_f64<E: serde::de::Error>(self, number: f64) -> Result<Index, E> {
                format!("{number:.0}").parse().map(|number| Index(Some(number))).map_err(E::custom)
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Index, E> {
                text.trim().parse().map(|number| Index(Some(number))).map_err(E::custom)
            }

            fn visit_unit<E>(self) -> Result<Index, E> {
                Ok(Index(None))
            }
        }
        deserializer.deserialize_any(Visit)
    }
}
