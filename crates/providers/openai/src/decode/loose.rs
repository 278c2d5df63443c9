//! Values whose type servers disagree on.

use std::borrow::Cow;
use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// A text or a number; nothing where it is null or of any other type.
#[derive(Debug, Default)]
pub(super) enum Scalar<'a> {
    #[default]
    None,
    Text(Cow<'a, str>),
    Unsigned(u64),
    Signed(i64),
    Float(f64),
}

impl<'a> Scalar<'a> {
    /// As text; a blank one is none.
    pub(super) fn text(self) -> Option<Cow<'a, str>> {
        match self {
            Self::None => None,
            Self::Text(text) => Some(text).filter(|text| !text.trim().is_empty()),
            Self::Unsigned(number) => Some(number.to_string().into()),
            Self::Signed(number) => Some(number.to_string().into()),
            Self::Float(number) => Some(number.to_string().into()),
        }
    }

    /// As a whole number; what stands behind a decimal point is cut.
    pub(super) fn number(&self) -> Option<i64> {
        match self {
            Self::None => None,
            Self::Text(text) => text.trim().parse().ok(),
            Self::Unsigned(number) => i64::try_from(*number).ok(),
            Self::Signed(number) => Some(*number),
            Self::Float(number) => format!("{:.0}", number.trunc()).parse().ok(),
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Scalar<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visit;
        impl<'de> Visitor<'de> for Visit {
            type Value = Scalar<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text or a number")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Scalar::Text(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Scalar::Text(Cow::Owned(text.to_owned())))
            }

            fn visit_u64<E>(self, number: u64) -> Result<Self::Value, E> {
                Ok(Scalar::Unsigned(number))
            }

            fn visit_i64<E>(self, number: i64) -> Result<Self::Value, E> {
                Ok(Scalar::Signed(number))
            }

            fn visit_f64<E>(self, number: f64) -> Result<Self::Value, E> {
                Ok(Scalar::Float(number))
            }

            fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
                Ok(Scalar::None)
            }

            fn visit_unit<E>(self) -> Result<Self::Value, E> {
                Ok(Scalar::None)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
                while list.next_element::<IgnoredAny>()?.is_some() {}
                Ok(Scalar::None)
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(Scalar::None)
            }
        }
        deserializer.deserialize_any(Visit)
    }
}

/// Content as text, or as a list of parts.
#[derive(Debug)]
pub(super) enum Content<'a> {
    Text(Cow<'a, str>),
    Parts(Vec<ContentPart<'a>>),
}

/// Its type is what it holds.
#[derive(Debug, Deserialize)]
pub(super) struct ContentPart<'a> {
    #[serde(borrow, default)]
    pub(super) text: Option<Content<'a>>,
    #[serde(borrow, default)]
    pub(super) thinking: Option<Content<'a>>,
    #[serde(borrow, default)]
    pub(super) refusal: Option<Content<'a>>,
    #[serde(borrow, default)]
    pub(super) image_url: Option<&'a RawValue>,
}

impl<'a> Content<'a> {
    pub(super) fn has_text(&self) -> bool {
        match self {
            Self::Text(text) => !text.is_empty(),
            Self::Parts(parts) => parts.iter().any(|part| part.text.as_ref().is_some_and(Self::has_text)),
        }
    }

    /// All of its text, without a copy where it is one piece.
    pub(super) fn into_text(self) -> Cow<'a, str> {
        match self {
            Self::Text(text) => text,
            Self::Parts(parts) => {
                let texts = parts.into_iter().filter_map(|part| part.text).map(Self::into_text);
                texts.reduce(|all, next| all + next).unwrap_or_default()
            }
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Content<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visit;
        impl<'de> Visitor<'de> for Visit {
            type Value = Content<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text or a list of parts")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Content::Text(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Content::Text(Cow::Owned(text.to_owned())))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
                let mut parts = Vec::new();
                while let Some(part) = list.next_element()? {
                    parts.push(part);
                }
                Ok(Content::Parts(parts))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                let part = ContentPart::deserialize(MapAccessDeserializer::new(map))?;
                Ok(Content::Parts(vec![part]))
            }
        }
        deserializer.deserialize_any(Visit)
    }
}

/// The arguments of a call: a text of JSON, or the JSON itself.
pub(super) fn arguments(raw: Option<&RawValue>) -> Result<Cow<'_, str>, serde_json::Error> {
    match raw.map(RawValue::get) {
        None => Ok(Cow::Borrowed("")),
        Some(text) if text.starts_with('"') => match serde_json::from_str(text)? {
            Content::Text(text) => Ok(text),
            Content::Parts(_) => Ok(Cow::Borrowed("")),
        },
        Some(json) => Ok(Cow::Borrowed(json)),
    }
}

/// The address of an image: a text, or an object that holds it.
pub(super) fn url(raw: &RawValue) -> Option<String> {
    #[derive(Deserialize)]
    struct Image<'a> {
        #[serde(borrow, default)]
        url: Scalar<'a>,
    }
    let url = match raw.get().starts_with('{') {
        true => serde_json::from_str::<Image<'_>>(raw.get()).ok()?.url,
        false => serde_json::from_str(raw.get()).ok()?,
    };
    url.text().map(Cow::into_owned)
}
