//! Values whose type servers disagree on.

use std::borrow::Cow;
use std::fmt;

use ai_http::halves;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::fill::{self, Fill, Key, Place, empty_list, object};

/// A text or a number; nothing where it is null or of any other type.
#[derive(Debug, Default)]
pub(crate) enum Scalar<'a> {
    #[default]
    None,
    Text(Cow<'a, str>),
    Unsigned(u64),
    Signed(i64),
    Float(f64),
}

impl<'a> Scalar<'a> {
    /// As text; a blank one is none.
    pub(crate) fn take_text(&mut self) -> Option<Cow<'a, str>> {
        match std::mem::take(self) {
            Self::None => None,
            Self::Text(text) => Some(text).filter(|text| !text.trim().is_empty()),
            Self::Unsigned(number) => Some(number.to_string().into()),
            Self::Signed(number) => Some(number.to_string().into()),
            Self::Float(number) => Some(number.to_string().into()),
        }
    }

    /// The text as it stands; a blank one is none, and so is a number.
    pub(crate) fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(&**text).filter(|text| !text.trim().is_empty()),
            _ => None,
        }
    }

    /// As a whole number; what stands behind a decimal point is cut.
    pub(crate) fn number(&self) -> Option<i64> {
        match self {
            Self::None => None,
            Self::Text(text) => text.trim().parse().ok(),
            Self::Unsigned(number) => i64::try_from(*number).ok(),
            Self::Signed(number) => Some(*number),
            Self::Float(number) => format!("{:.0}", number.trunc()).parse().ok(),
        }
    }
}

impl<'de> Fill<'de> for Scalar<'de> {
    fn fill<D: Deserializer<'de>>(&mut self, deserializer: D) -> Result<(), D::Error> {
        *self = Self::deserialize(deserializer)?;
        Ok(())
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
#[derive(Debug, Default)]
pub(crate) enum Content<'a> {
    #[default]
    None,
    Text(Cow<'a, str>),
    Parts(Vec<ContentPart<'a>>),
}

object! {
    /// Its type is what it holds.
    ContentPart {
        "text" text: Content<'a>,
        "thinking" thinking: Content<'a>,
        "refusal" refusal: Content<'a>,
        "image_url" image_url: Raw<'a>,
    }
}

impl<'a> Content<'a> {
    pub(crate) fn has_text(&self) -> bool {
        match self {
            Self::None => false,
            Self::Text(text) => !text.is_empty(),
            Self::Parts(parts) => parts.iter().any(|part| part.text.has_text()),
        }
    }

    /// All of its text, without a copy where it is one piece.
    pub(crate) fn take_text(&mut self) -> Cow<'a, str> {
        match std::mem::take(self) {
            Self::None => Cow::Borrowed(""),
            Self::Text(text) => text,
            Self::Parts(mut parts) => {
                let texts = parts.iter_mut().map(|part| part.text.take_text());
                texts.reduce(|all, next| all + next).unwrap_or_default()
            }
        }
    }
}

impl<'de> Fill<'de> for Content<'de> {
    fn fill<D: Deserializer<'de>>(&mut self, deserializer: D) -> Result<(), D::Error> {
        struct Visit<'p, 'de>(&'p mut Content<'de>);
        impl<'de> Visitor<'de> for Visit<'_, 'de> {
            type Value = ();

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text or a list of parts")
            }

            fn visit_unit<E>(self) -> Result<(), E> {
                *self.0 = Content::None;
                Ok(())
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<(), E> {
                *self.0 = Content::Text(Cow::Borrowed(text));
                Ok(())
            }

            fn visit_str<E>(self, text: &str) -> Result<(), E> {
                *self.0 = Content::Text(Cow::Owned(text.to_owned()));
                Ok(())
            }

            fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<(), A::Error> {
                let mut parts = Vec::new();
                parts.fill(SeqAccessDeserializer::new(list))?;
                *self.0 = Content::Parts(parts);
                Ok(())
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<(), A::Error> {
                let mut part = ContentPart::default();
                part.fill(MapAccessDeserializer::new(map))?;
                *self.0 = Content::Parts(vec![part]);
                Ok(())
            }
        }
        deserializer.deserialize_any(Visit(self))
    }
}

/// Any value, unread; nothing where it is null.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Raw<'a>(pub(crate) Option<&'a RawValue>);

impl<'de> Fill<'de> for Raw<'de> {
    fn fill<D: Deserializer<'de>>(&mut self, deserializer: D) -> Result<(), D::Error> {
        self.0 = Deserialize::deserialize(deserializer)?;
        Ok(())
    }
}

/// The arguments of a call: a text of JSON, or the JSON itself. Says whether there are stand-ins for halves of
/// characters in it.
pub(crate) fn arguments(raw: Option<&RawValue>) -> Result<(Cow<'_, str>, bool), serde_json::Error> {
    let Some(json) = raw.map(RawValue::get) else { return Ok((Cow::Borrowed(""), false)) };
    if !json.starts_with('"') {
        return Ok((Cow::Borrowed(json), false));
    }
    let mut content = Content::None;
    let Err(error) = fill::read(json, &mut content) else { return Ok((content.take_text(), false)) };
    let marked = halves::with_stand_ins(json).ok_or(error)?;
    let mut content = Content::None;
    fill::read(&marked, &mut content)?;
    Ok((content.take_text().into_owned().into(), true))
}

/// The address of an image: a text, or an object that holds it.
pub(crate) fn url(raw: &RawValue) -> Option<String> {
    #[derive(Deserialize)]
    struct Image<'a> {
        #[serde(borrow, default)]
        url: Scalar<'a>,
    }
    let mut url = match raw.get().starts_with('{') {
        true => serde_json::from_str::<Image<'_>>(raw.get()).ok()?.url,
        false => serde_json::from_str(raw.get()).ok()?,
    };
    url.take_text().map(Cow::into_owned)
}
