//! Reading into fields that are there already. A frame has many fields and most are absent: made by value, as
//! serde does it, each level moves all of them.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Error, IgnoredAny, SeqAccess, Unexpected, Visitor};
use serde::{Deserialize, Deserializer};

/// What can be read into.
pub(crate) trait Fill<'de> {
    fn fill<D: Deserializer<'de>>(&mut self, deserializer: D) -> Result<(), D::Error>;
}

/// The place to read into.
pub(crate) struct Place<'p, T>(pub(crate) &'p mut T);

impl<'de, T: Fill<'de>> DeserializeSeed<'de> for Place<'_, T> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        self.0.fill(deserializer)
    }
}

/// Reads one document.
pub(crate) fn read<'de, T: Fill<'de>>(json: &'de str, place: &mut T) -> Result<(), serde_json::Error> {
    let mut deserializer = serde_json::Deserializer::from_str(json);
    place.fill(&mut deserializer)?;
    deserializer.end()
}

/// Null leaves nothing.
impl<'de, T: Fill<'de> + Default> Fill<'de> for Option<T> {
    fn fill<D: Deserializer<'de>>(&mut self, deserializer: D) -> Result<(), D::Error> {
        struct Visit<'p, T>(&'p mut Option<T>);
        impl<'de, T: Fill<'de> + Default> Visitor<'de> for Visit<'_, T> {
            type Value = ();

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a value or null")
            }

            fn visit_unit<E>(self) -> Result<(), E> {
                *self.0 = None;
                Ok(())
            }

            fn visit_none<E>(self) -> Result<(), E> {
                *self.0 = None;
                Ok(())
            }

            fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
                self.0.insert(T::default()).fill(deserializer)
            }
        }
        deserializer.deserialize_option(Visit(self))
    }
}

impl<'de, T: Fill<'de> + Default> Fill<'de> for Vec<T> {
    fn fill<D: Deserializer<'de>>(&mut self, deserializer: D) -> Result<(), D::Error> {
        struct Visit<'p, T>(&'p mut Vec<T>);
        impl<'de, T: Fill<'de> + Default> Visitor<'de> for Visit<'_, T> {
            type Value = ();

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
                let mut item = T::default();
                while list.next_element_seed(Place(&mut item))?.is_some() {
                    self.0.push(std::mem::take(&mut item));
                }
                Ok(())
            }
        }
        deserializer.deserialize_seq(Visit(self))
    }
}

/// A key, borrowed unless it is escaped.
pub(crate) struct Key<'a>(pub(crate) Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Key<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visit;
        impl<'de> Visitor<'de> for Visit {
            type Value = Key<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a key")
            }

            fn visit_borrowed_str<E>(self, key: &'de str) -> Result<Self::Value, E> {
                Ok(Key(Cow::Borrowed(key)))
            }

            fn visit_str<E>(self, key: &str) -> Result<Self::Value, E> {
                Ok(Key(Cow::Owned(key.to_owned())))
            }
        }
        deserializer.deserialize_str(Visit)
    }
}

/// Some servers, written in PHP, send an object without fields as an empty list.
pub(crate) fn empty_list<'de, A: SeqAccess<'de>>(
    mut list: A,
    expected: &dyn serde::de::Expected,
) -> Result<(), A::Error> {
    match list.next_element::<IgnoredAny>()? {
        None => Ok(()),
        Some(_) => Err(A::Error::invalid_type(Unexpected::Seq, expected)),
    }
}

/// An object with these keys. Others are passed over; of a key that comes twice, the last counts.
macro_rules! object {
    ($(#[$doc:meta])* $name:ident { $($(#[$note:meta])* $key:literal $field:ident: $type:ty,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Default)]
        pub(crate) struct $name<'a> {
            $($(#[$note])* pub(crate) $field: $type,)*
        }

        impl<'de> Fill<'de> for $name<'de> {
            fn fill<D: Deserializer<'de>>(&mut self, deserializer: D) -> Result<(), D::Error> {
                struct Visit<'p, 'de>(&'p mut $name<'de>);
                impl<'de> Visitor<'de> for Visit<'_, 'de> {
                    type Value = ();

                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str("an object")
                    }

                    fn visit_unit<E>(self) -> Result<(), E> {
                        Ok(())
                    }

                    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<(), A::Error> {
                        empty_list(list, &self)
                    }

                    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
                        while let Some(Key(key)) = map.next_key::<Key<'de>>()? {
                            match &*key {
                                $($key => map.next_value_seed(Place(&mut self.0.$field))?,)*
                                _ => drop(map.next_value::<IgnoredAny>()?),
                            }
                        }
                        Ok(())
                    }
                }
                deserializer.deserialize_any(Visit(self))
            }
        }
    };
}

pub(crate) use object;
