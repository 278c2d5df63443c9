use std::fmt;

use serde::{Deserialize, Serialize};

/// Names what a call goes to. Two models with equal targets are the same place to try.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TargetId {
    /// The provider's name, for example `openai`.
    pub provider: String,
    /// The model id as the provider spells it.
    pub model: String,
    /// Where the provider is reached: a base URL without secrets, or a name for what is not reached by URL.
    pub endpoint: String,
}

impl TargetId {
    /// A target from its three parts.
    pub fn new(provider: impl Into<String>, model: impl Into<String>, endpoint: impl Into<String>) -> Self {
        Self { provider: provider.into(), model: model.into(), endpoint: endpoint.into() }
    }
}

/// `provider:model`, the form in which models are named everywhere.
impl fmt::Display for TargetId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.provider, self.model)
    }
}
