use serde::{Deserialize, Serialize};

use crate::keys::Account;
use crate::options::{JsonObject, ProviderOptions};
use crate::target::TargetId;

/// Who minted an opaque block: a signature, encrypted reasoning or a provider's id is worth something only
/// to the endpoint, the model and the account it came from.
///
/// An adapter that encodes a history drops what is not its own, with a warning.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Origin {
    /// The target that answered.
    #[serde(flatten)]
    pub target: TargetId,
    /// The account whose key was used; absent where the endpoint takes no key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<Account>,
}

/// What a provider attached to a part beyond what the contract names, kept untouched for the way back.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProviderMetadata {
    /// Who minted the values; absent where they are not bound to their maker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    /// Namespace → values.
    #[serde(default, skip_serializing_if = "ProviderOptions::is_empty")]
    pub values: ProviderOptions,
}

impl ProviderMetadata {
    /// Values bound to their maker.
    pub fn minted(origin: Origin, values: ProviderOptions) -> Self {
        Self { origin: Some(origin), values }
    }

    /// The values of one namespace, whoever minted them.
    pub fn get(&self, namespace: &str) -> Option<&JsonObject> {
        self.values.get(namespace)
    }

    /// Takes over another part's metadata: its values win, its origin replaces ours where it has one.
    pub fn merge(&mut self, over: &Self) {
        self.values.merge(&over.values);
        if over.origin.is_some() {
            self.origin.clone_from(&over.origin);
        }
    }
}
