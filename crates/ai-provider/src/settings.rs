use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Settings every provider has a word for, or answers with a [`Warning`](crate::Warning).
///
/// `None` means that the caller did not say: the provider's default holds. Numbers must be finite: JSON has no
/// word for the others, which are stored as if they were absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct Settings {
    /// The most tokens the answer may have; at least 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u64>,
    /// Randomness; most APIs take 0 to 2, some 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Nucleus sampling, 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_p: Option<f64>,
    /// Sampling among the k likeliest tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_k: Option<u64>,
    /// Penalty for tokens that occurred at all, −2 to 2.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub presence_penalty: Option<f64>,
    /// Penalty for tokens by how often they occurred, −2 to 2.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frequency_penalty: Option<f64>,
    /// Texts at which the model stops.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stop_sequences: Vec<String>,
    /// Seed of the sampling.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<i64>,
    /// How much the model shall reason.
    #[serde(skip_serializing_if = "ReasoningEffort::is_default")]
    pub reasoning: ReasoningEffort,
    /// How often a retry layer may try again; 0 switches it off, with its other keys and targets. Adapters do not
    /// read it: it is nothing a server is told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_retries: Option<u32>,
}

/// How much the model shall reason. Adapters map it to their API's words or to a token budget.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ReasoningEffort {
    /// Nothing is sent.
    #[default]
    ProviderDefault,
    /// Not at all.
    None,
    /// As little as possible.
    Minimal,
    /// Little.
    Low,
    /// Some.
    Medium,
    /// Much.
    High,
    /// As much as possible.
    #[serde(rename = "xhigh")]
    XHigh,
}

impl ReasoningEffort {
    /// Whether the caller left it to the provider.
    pub fn is_default(&self) -> bool {
        *self == Self::ProviderDefault
    }

    /// The neutral name, for example `xhigh`; absent for the provider's default.
    pub fn as_str(self) -> Option<&'static str> {
        match self {
            Self::ProviderDefault => None,
            Self::None => Some("none"),
            Self::Minimal => Some("minimal"),
            Self::Low => Some("low"),
            Self::Medium => Some("medium"),
            Self::High => Some("high"),
            Self::XHigh => Some("xhigh"),
        }
    }

    /// The budget in tokens for APIs that take a number: a share of the answer's limit (minimal 2 %, low
    /// 10 %, medium 30 %, high 60 %, xhigh 90 %), rounded half up, not below `floor` (the least the API takes)
    /// and not above `maximum` (the most the model takes; it wins over the floor). Absent for the provider's
    /// default and for none.
    ///
    /// ```
    /// use ai_provider::ReasoningEffort;
    /// assert_eq!(ReasoningEffort::Medium.budget(10_000, 1_024, 32_000), Some(3_000));
    /// assert_eq!(ReasoningEffort::Minimal.budget(10_000, 1_024, 32_000), Some(1_024));
    /// assert_eq!(ReasoningEffort::None.budget(10_000, 1_024, 32_000), None);
    /// ```
    pub fn budget(self, max_output_tokens: u64, floor: u64, maximum: u64) -> Option<u64> {
        let percent = match self {
            Self::ProviderDefault | Self::None => return None,
            Self::Minimal => 2,
            Self::Low => 10,
            Self::Medium => 30,
            Self::High => 60,
            Self::XHigh => 90,
        };
        let share = (u128::from(max_output_tokens) * percent + 50) / 100;
        let share = u64::try_from(share).unwrap_or(u64::MAX);
        Some(share.max(floor).min(maximum))
    }
}

/// The form the answer shall have.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum ResponseFormat {
    /// Text.
    #[default]
    Text,
    /// JSON.
    Json {
        /// Its JSON Schema; any JSON object if absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        schema: Option<Value>,
        /// A name for it, for the model.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        /// What it is, for the model.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        description: Option<String>,
    },
}
