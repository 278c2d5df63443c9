use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Tokens of one model call, or of several added up.
///
/// Every number may be unknown, which is not zero: `None` means that the provider did not say. All adapters
/// give each field the same meaning, whatever their API counts: `input.total` includes tokens read from and
/// written to the prompt cache, `output.total` includes reasoning.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    /// Tokens the model read.
    #[serde(default)]
    pub input: InputTokens,
    /// Tokens the model wrote.
    #[serde(default)]
    pub output: OutputTokens,
    /// The provider's own usage object, untouched. Shared: an answer's usage is copied into records and sums.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw: Option<Arc<Value>>,
}

/// Tokens read: `total = no_cache + cache_read + cache_write` where all are known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InputTokens {
    /// All tokens of the prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<u64>,
    /// Tokens neither read from nor written to the cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_cache: Option<u64>,
    /// Tokens read from the cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_read: Option<u64>,
    /// Tokens written to the cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<u64>,
}

/// Tokens written: `total = text + reasoning` where both are known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OutputTokens {
    /// All tokens of the answer, reasoning included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<u64>,
    /// Tokens of visible output, tool calls included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<u64>,
    /// Tokens of reasoning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<u64>,
}

impl Usage {
    /// Input plus output; unknown only where both are unknown.
    pub fn total(&self) -> Option<u64> {
        sum(self.input.total, self.output.total)
    }

    /// Adds another call's usage. A sum is unknown only where both sides are, and stops at `u64::MAX`; `raw`
    /// keeps the latest that is there.
    ///
    /// ```
    /// use ai_provider::Usage;
    /// let mut total = Usage::default();
    /// let mut step = Usage::default();
    /// step.input.total = Some(10);
    /// total.add(&step);
    /// total.add(&step);
    /// assert_eq!(total.input.total, Some(20));
    /// assert_eq!(total.output.total, None);
    /// ```
    pub fn add(&mut self, other: &Self) {
        for (ours, theirs) in [
            (&mut self.input.total, other.input.total),
            (&mut self.input.no_cache, other.input.no_cache),
            (&mut self.input.cache_read, other.input.cache_read),
            (&mut self.input.cache_write, other.input.cache_write),
            (&mut self.output.total, other.output.total),
            (&mut self.output.text, other.output.text),
            (&mut self.output.reasoning, other.output.reasoning),
        ] {
            *ours = sum(*ours, theirs);
        }
        if other.raw.is_some() {
            self.raw.clone_from(&other.raw);
        }
    }
}

fn sum(a: Option<u64>, b: Option<u64>) -> Option<u64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.saturating_add(b)),
        (one, other) => one.or(other),
    }
}
