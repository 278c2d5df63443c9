use serde::{Deserialize, Serialize};

/// Why the model stopped: the unified reason, and the word the provider used.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct FinishReason {
    /// The reason in the SDK's own terms.
    pub unified: UnifiedFinish,
    /// The reason as received; absent where the API states none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw: Option<String>,
}

impl FinishReason {
    /// A unified reason with the provider's word for it.
    pub fn new(unified: UnifiedFinish, raw: impl Into<String>) -> Self {
        Self { unified, raw: Some(raw.into()) }
    }
}

impl From<UnifiedFinish> for FinishReason {
    fn from(unified: UnifiedFinish) -> Self {
        Self { unified, raw: None }
    }
}

/// The reasons every provider's own list is mapped to.
///
/// A word that is not known is `Other`; it is never guessed to be a good end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum UnifiedFinish {
    /// The model was done, or met a stop sequence.
    Stop,
    /// The output or the context limit was reached: the message is cut.
    Length,
    /// The provider withheld content.
    ContentFilter,
    /// The model waits for results of tool calls.
    ToolCalls,
    /// The provider says that it failed.
    Error,
    /// A reason the SDK does not know; see [`FinishReason::raw`].
    Other,
}

impl UnifiedFinish {
    /// The name used in stored data and in UI streams, for example `tool-calls`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Stop => "stop",
            Self::Length => "length",
            Self::ContentFilter => "content-filter",
            Self::ToolCalls => "tool-calls",
            Self::Error => "error",
            Self::Other => "other",
        }
    }
}
