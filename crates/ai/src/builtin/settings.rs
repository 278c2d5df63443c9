use std::collections::BTreeMap;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use ai_http::Transport;
use ai_provider::{ApiKey, KeySource, Keys};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use crate::EnvKeys;

/// Declares the settings of an extension: what all have, and what it has besides.
macro_rules! settings {
    ($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident: $ty:ty,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Default, PartialEq, Eq, ::serde::Deserialize)]
        #[serde(rename_all = "camelCase", deny_unknown_fields, default)]
        #[non_exhaustive]
        pub struct $name {
            /// The key, or several, among which a retry layer rotates. Default: those of the environment.
            pub api_key: Option<$crate::builtin::SecretKeys>,
            /// The base URL, to which the path of each call is appended. Default: the provider's own.
            pub base_url: Option<String>,
            /// The URL of the API itself, for servers with a path of their own. It wins over the base.
            pub endpoint_url: Option<String>,
            /// The name under which options and metadata stand. Default: the provider's own.
            pub name: Option<String>,
            /// Further headers of every call.
            pub headers: $crate::builtin::Headers,
            /// What carries the calls; set by code alone. Default: an HTTP client of its own.
            #[serde(skip)]
            pub transport: Option<$crate::builtin::SharedTransport>,
            $($(#[$field_doc])* pub $field: $ty,)*
        }

        /// Shows names alone: URLs and headers may hold keys.
        impl ::std::fmt::Debug for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.debug_struct(stringify!($name))
                    .field("api_key", &self.api_key)
                    .field("name", &self.name)
                    .field("headers", &self.headers)
                    .finish_non_exhaustive()
            }
        }
    };
}

/// Puts what all settings have into a builder; `$keys` is where the key comes from.
macro_rules! connect {
    ($builder:expr, $settings:expr, $keys:expr) => {{
        let mut builder = $builder.keys($keys);
        if let Some(url) = &$settings.base_url {
            builder = builder.base_url(url);
        }
        if let Some(url) = &$settings.endpoint_url {
            builder = builder.endpoint_url(url);
        }
        if let Some(name) = &$settings.name {
            builder = builder.name(name);
        }
        if let Some(transport) = &$settings.transport {
            builder = builder.transport(transport.0.clone());
        }
        for (name, value) in &$settings.headers.0 {
            builder = builder.header(name, value);
        }
        builder
    }};
}

/// Names a type of extension, for [`Registry::resolve`](ai_core::Registry::resolve).
macro_rules! family {
    ($(#[$doc:meta])* $name:ident, $id:literal, $settings:ty) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name;

        impl ::ai_core::ProviderFamily for $name {
            type Settings = $settings;
            const ID: &'static str = $id;
        }
    };
}

pub(super) use {connect, family, settings};

/// Keys of settings: one or several. `Debug` shows their names.
///
/// In JSON, a text with one key or several separated by commas, or a list of texts or of objects that name a key
/// too: `{"key": "…", "label": "team-a"}`. `false` says that no key is sent, even if the environment has one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SecretKeys(pub Keys);

impl From<ApiKey> for SecretKeys {
    fn from(key: ApiKey) -> Self {
        Self(Keys::one(key))
    }
}

impl<'de> Deserialize<'de> for SecretKeys {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OneOrMany;

        impl<'de> Visitor<'de> for OneOrMany {
            type Value = SecretKeys;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a key, a list of keys or `false`")
            }

            fn visit_bool<E: Error>(self, any: bool) -> Result<SecretKeys, E> {
                match any {
                    false => Ok(SecretKeys(Keys::none())),
                    true => Err(E::custom("`true` is no key")),
                }
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<SecretKeys, E> {
                Keys::parse(text).map(SecretKeys).map_err(|error| E::custom(error.message()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<SecretKeys, A::Error> {
                let mut keys = Vec::new();
                while let Some(OneKey(key)) = list.next_element()? {
                    keys.push(key);
                }
                match keys.is_empty() {
                    true => Err(A::Error::custom("the list of keys is empty")),
                    false => Ok(SecretKeys(Keys::list(keys))),
                }
            }
        }

        deserializer.deserialize_any(OneOrMany)
    }
}

/// An element of a list of keys.
struct OneKey(ApiKey);

impl<'de> Deserialize<'de> for OneKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Named {
            key: String,
            label: Option<String>,
        }

        struct TextOrNamed;

        impl<'de> Visitor<'de> for TextOrNamed {
            type Value = OneKey;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a key, or an object with a key and its label")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<OneKey, E> {
                ApiKey::new(text).map(OneKey).map_err(|error| E::custom(error.message()))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<OneKey, A::Error> {
                let Named { key, label } = Named::deserialize(MapAccessDeserializer::new(map))?;
                let key = ApiKey::new(key).map_err(|error| A::Error::custom(error.message()))?;
                Ok(OneKey(match label {
                    Some(label) => key.labelled(label),
                    None => key,
                }))
            }
        }

        deserializer.deserialize_any(TextOrNamed)
    }
}

/// Headers of settings. `Debug` shows their names.
#[derive(Clone, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(transparent)]
pub struct Headers(pub BTreeMap<String, String>);

impl fmt::Debug for Headers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

/// A transport of settings: two are equal if they are the same one.
#[derive(Clone)]
pub struct SharedTransport(pub Arc<dyn Transport>);

impl SharedTransport {
    fn address(&self) -> *const () {
        Arc::as_ptr(&self.0).cast()
    }
}

impl PartialEq for SharedTransport {
    fn eq(&self, other: &Self) -> bool {
        self.address() == other.address()
    }
}

impl Eq for SharedTransport {}

impl Hash for SharedTransport {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.address().hash(state);
    }
}

impl fmt::Debug for SharedTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SharedTransport")
    }
}

/// The keys of settings, or else of the first of these variables that is set, or else an error that names the first;
/// without variables, none.
pub(super) fn keys(given: &Option<SecretKeys>, variables: &[&str]) -> Arc<dyn KeySource> {
    match (given, variables) {
        (Some(SecretKeys(keys)), _) => Arc::new(keys.clone()),
        (None, []) => Arc::new(Keys::none()),
        (None, [first, ..]) => {
            let set = variables.iter().find(|name| std::env::var_os(name).is_some());
            Arc::new(EnvKeys::new(*set.unwrap_or(first)))
        }
    }
}
