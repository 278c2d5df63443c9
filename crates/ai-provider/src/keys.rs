use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use async_trait::async_trait;
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq;

use crate::error::{ErrorClass, ModelError};

macro_rules! name_type {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(Arc<str>);

        impl $name {
            /// The name as text.
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
    };
}

name_type! {
    /// Names a key in events, ledgers and errors, where the key itself must never stand.
    KeyLabel
}

name_type! {
    /// Names the account a key belongs to: keys of one account share its limits and its opaque blocks.
    Account
}

/// An API key with the names under which it may be spoken of.
///
/// Comparing two keys of one length takes the same time wherever they differ, and `Debug` shows the names
/// alone. It has no `Display` and no serde: a key is stored and printed by nobody.
///
/// The default name of a key and of its account is `key`. Name the accounts where one conversation may be
/// continued with the key of another: opaque blocks (signatures, encrypted reasoning) are sent back to the
/// account that minted them and to no other, and accounts are told apart by their names alone.
///
/// ```
/// use ai_provider::ApiKey;
/// let key = ApiKey::new(" sk-secret\n")?.labelled("team-a");
/// assert_eq!(key.expose(), "sk-secret");
/// assert!(!format!("{key:?}").contains("secret"));
/// assert!(ApiKey::new("two\r\nlines").is_err());
/// # Ok::<(), ai_provider::ModelError>(())
/// ```
#[derive(Clone)]
pub struct ApiKey {
    secret: SecretString,
    label: KeyLabel,
    account: Account,
}

impl ApiKey {
    /// A key from its text. Outer white space is trimmed, since keys come from files and terminals.
    ///
    /// # Errors
    /// `InvalidRequest` if the key is blank or holds anything but visible ASCII: such a key could not be
    /// sent, or would smuggle a header in. The text of the key is not part of the error.
    pub fn new(secret: impl Into<String>) -> Result<Self, ModelError> {
        let secret = secret.into();
        let trimmed = secret.trim();
        if trimmed.is_empty() {
            return Err(ModelError::new(ErrorClass::InvalidRequest, "the API key is blank"));
        }
        if let Some(at) = trimmed.bytes().position(|byte| !byte.is_ascii_graphic()) {
            return Err(ModelError::new(
                ErrorClass::InvalidRequest,
                format!("the API key holds a character at position {at} that is not visible ASCII"),
            ));
        }
        Ok(Self { secret: trimmed.to_owned().into(), label: "key".into(), account: "key".into() })
    }

    /// Names the key, and its account too unless that is named afterwards.
    #[must_use]
    pub fn labelled(mut self, label: impl Into<KeyLabel>) -> Self {
        self.label = label.into();
        self.account = self.label.as_str().into();
        self
    }

    /// Names the account, for several keys that share one.
    #[must_use]
    pub fn of_account(mut self, account: impl Into<Account>) -> Self {
        self.account = account.into();
        self
    }

    /// The secret itself, for the one place that puts it on the wire.
    pub fn expose(&self) -> &str {
        self.secret.expose_secret()
    }

    /// The name of the key.
    pub fn label(&self) -> &KeyLabel {
        &self.label
    }

    /// The name of its account.
    pub fn account(&self) -> &Account {
        &self.account
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApiKey")
            .field("label", &self.label)
            .field("account", &self.account)
            .finish_non_exhaustive()
    }
}

impl PartialEq for ApiKey {
    fn eq(&self, other: &Self) -> bool {
        let same: bool = self.expose().as_bytes().ct_eq(other.expose().as_bytes()).into();
        same && self.label == other.label && self.account == other.account
    }
}

impl Eq for ApiKey {}

impl Hash for ApiKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.expose().hash(state);
        self.label.hash(state);
        self.account.hash(state);
    }
}

/// Where an adapter gets its key, call by call.
///
/// The adapter asks for [`CallContext::key_index`](crate::CallContext::key_index); a retry layer rotates by
/// setting that index. So one model value and one connection pool serve all keys.
#[async_trait]
pub trait KeySource: Send + Sync + fmt::Debug {
    /// The names of the keys, by index. Empty where the endpoint takes none.
    fn labels(&self) -> &[KeyLabel];

    /// The key of this index; `None` where the endpoint takes none.
    ///
    /// # Errors
    /// `Auth` if the key cannot be had (a token that cannot be renewed, an index out of range).
    async fn key(&self, index: usize) -> Result<Option<ApiKey>, ModelError>;
}

/// Keys that are known from the start: none, one, or a list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Keys {
    keys: Vec<ApiKey>,
    labels: Vec<KeyLabel>,
}

impl Keys {
    /// For an endpoint that takes no key.
    pub fn none() -> Self {
        Self::default()
    }

    /// One key.
    pub fn one(key: ApiKey) -> Self {
        Self { labels: vec![key.label().clone()], keys: vec![key] }
    }

    /// Several keys, used in this order. Those that still have the default name are named by position:
    /// `key-1`, `key-2`, …
    pub fn list(keys: impl IntoIterator<Item = ApiKey>) -> Self {
        let keys: Vec<_> = keys
            .into_iter()
            .enumerate()
            .map(|(at, key)| match key.label().as_str() {
                "key" => {
                    let account = key.account().clone();
                    let key = key.labelled(format!("key-{}", at + 1));
                    if account.as_str() == "key" { key } else { key.of_account(account) }
                }
                _ => key,
            })
            .collect();
        Self { labels: keys.iter().map(|key| key.label().clone()).collect(), keys }
    }

    /// One key or a comma-separated list of them, as people write it into one variable.
    ///
    /// # Errors
    /// As [`ApiKey::new`]; empty items are passed over, but at least one key must remain.
    ///
    /// ```
    /// use ai_provider::{KeySource, Keys};
    /// let keys = Keys::parse("sk-a, sk-b")?;
    /// let labels: Vec<_> = keys.labels().iter().map(|label| label.as_str()).collect();
    /// assert_eq!(labels, ["key-1", "key-2"]);
    /// # Ok::<(), ai_provider::ModelError>(())
    /// ```
    pub fn parse(text: &str) -> Result<Self, ModelError> {
        let items: Vec<&str> = text.split(',').map(str::trim).filter(|item| !item.is_empty()).collect();
        match items.as_slice() {
            [] | [_] => Ok(Self::one(ApiKey::new(items.first().copied().unwrap_or_default())?)),
            several => {
                let keys: Result<Vec<_>, _> = several.iter().map(|item| ApiKey::new(*item)).collect();
                Ok(Self::list(keys?))
            }
        }
    }
}

#[async_trait]
impl KeySource for Keys {
    fn labels(&self) -> &[KeyLabel] {
        &self.labels
    }

    async fn key(&self, index: usize) -> Result<Option<ApiKey>, ModelError> {
        if self.keys.is_empty() {
            return Ok(None);
        }
        self.keys.get(index).cloned().map(Some).ok_or_else(|| {
            ModelError::new(
                ErrorClass::Auth,
                format!("there is no key {index}: {} are configured", self.keys.len()),
            )
        })
    }
}
