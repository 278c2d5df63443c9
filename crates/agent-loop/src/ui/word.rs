use ai_provider::UnifiedFinish;
use serde::{Deserialize, Serialize};

/// Why the model stopped, in the words of the UI message stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum UiFinishReason {
    /// It was done.
    Stop,
    /// A length limit was reached.
    Length,
    /// The provider withheld content.
    ContentFilter,
    /// It waits for results of tool calls.
    ToolCalls,
    /// The provider says that it failed.
    Error,
    /// It was interrupted: by the user, who said something else.
    Interrupted,
    /// Something else. Level 5 has also `unknown` for it, which is read as this.
    #[serde(alias = "unknown")]
    Other,
}

impl From<UnifiedFinish> for UiFinishReason {
    fn from(reason: UnifiedFinish) -> Self {
        match reason {
            UnifiedFinish::Stop => Self::Stop,
            UnifiedFinish::Length => Self::Length,
            UnifiedFinish::ContentFilter => Self::ContentFilter,
            UnifiedFinish::ToolCalls => Self::ToolCalls,
            UnifiedFinish::Error => Self::Error,
            _ => Self::Other,
        }
    }
}

/// What the fragments of a tool's input are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum UiInputEncoding {
    /// JSON text.
    Json,
    /// Text that is the input itself.
    Text,
}
