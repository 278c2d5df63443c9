use ai_provider::{Id, JsonObject, ProviderOptions, UnifiedFinish};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

type Metadata = Option<Box<ProviderOptions>>;

/// One item of the AI SDK's UI message stream, field for field: what `useChat` and other clients read.
///
/// The chunks of level 7 (the npm package `ai` 7.0.77). Reading tolerates fields it does not know; a type it
/// does not know is an error, as it is for the clients.
///
/// ```
/// use agent_loop::UiChunk;
/// let chunk = UiChunk::TextDelta { id: "1".into(), delta: "Hi".to_owned(), provider_metadata: None };
/// let json = serde_json::to_string(&chunk)?;
/// assert_eq!(json, r#"{"type":"text-delta","id":"1","delta":"Hi"}"#);
/// assert_eq!(serde_json::from_str::<UiChunk>(&json)?, chunk);
/// # Ok::<(), serde_json::Error>(())
/// ```
// `remote` makes the derived functions inherent ones, so that the trait's can treat `data-NAME` apart.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self", tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum UiChunk {
    /// The message begins.
    Start {
        /// The id the message shall have; the client keeps its own if absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message_id: Option<String>,
        /// What the application attaches to the message.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message_metadata: Option<Value>,
    },
    /// A step begins.
    StartStep,
    /// A step is over.
    FinishStep,
    /// The client drops the parts of the current step, which goes on.
    ResetStep,
    /// The message is complete.
    Finish {
        /// Why the model stopped.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        finish_reason: Option<UiFinishReason>,
        /// What the application attaches to the message.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message_metadata: Option<Value>,
    },
    /// The run was cancelled.
    Abort {
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// The run failed.
    Error {
        /// For the user.
        error_text: String,
    },
    /// What the application attaches to the message, in the middle.
    MessageMetadata {
        /// Merged deeply over what is there.
        #[serde(default)]
        message_metadata: Value,
    },
    /// A block of text begins.
    TextStart {
        /// The block.
        id: Id,
        /// What the provider attached.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        provider_metadata: Metadata,
    },
    /// More of it.
    TextDelta {
        /// The block.
        id: Id,
        /// The text.
        delta: String,
        /// What the provider attached.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        provider_metadata: Metadata,
    },
    /// It is complete.
    TextEnd {
        /// The block.
        id: Id,
        /// What the provider attached.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        provider_metadata: Metadata,
    },
    /// A block of reasoning begins.
    ReasoningStart {
        /// The block.
        id: Id,
        /// What the provider attached.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        provider_metadata: Metadata,
    },
    /// More of it.
    ReasoningDelta {
        /// The block.
        id: Id,
        /// The text.
        delta: String,
        /// What the provider attached.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        provider_metadata: Metadata,
    },
    /// It is complete.
    ReasoningEnd {
        /// The block.
        id: Id,
        /// What the provider attached.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        provider_metadata: Metadata,
    },
    /// Something only its provider understands.
    Custom {
        /// `provider.name`.
        kind: String,
        /// Its content.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        provider_metadata: Metadata,
    },
    /// A page something was found on.
    SourceUrl {
        /// Names the source within its message.
        source_id: Id,
        /// Its address.
        url: String,
        /// Its title.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        title: Option<String>,
        /// What the provider attached.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        provider_metadata: Metadata,
    },
    /// A document something was found in.
    SourceDocument {
        /// Names the source within its message.
        source_id: Id,
        /// What it is.
        media_type: String,
        /// Its title.
        title: String,
        /// Its file name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        filename: Option<String>,
        /// What the provider attached.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        provider_metadata: Metadata,
    },
    /// A file.
    File {
        /// Where it is; its content, as a data URL.
        url: String,
        /// What it is.
        media_type: String,
        /// What the provider attached.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        provider_metadata: Metadata,
    },
    /// A file made while reasoning.
    ReasoningFile {
        /// Where it is; its content, as a data URL.
        url: String,
        /// What it is.
        media_type: String,
        /// What the provider attached.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        provider_metadata: Metadata,
    },
    /// The input of a tool call begins.
    ToolInputStart {
        /// The call to come.
        tool_call_id: Id,
        /// Which tool.
        tool_name: String,
        /// Whether the provider runs it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        provider_executed: Option<bool>,
        /// Whether the client has no type for the tool.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        dynamic: Option<bool>,
        /// A title for people.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        title: Option<String>,
        /// What the tool attached.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tool_metadata: Option<Box<JsonObject>>,
        /// What the provider attached.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        provider_metadata: Metadata,
    },
    /// More of it.
    ToolInputDelta {
        /// The call.
        tool_call_id: Id,
        /// A fragment of JSON text.
        input_text_delta: String,
    },
    /// The call is complete.
    ToolInputAvailable {
        /// The call.
        tool_call_id: Id,
        /// Which tool.
        tool_name: String,
        /// Its input.
        #[serde(default)]
        input: Value,
        /// Whether the provider runs it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        provider_executed: Option<bool>,
        /// Whether the client has no type for the tool.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        dynamic: Option<bool>,
        /// A title for people.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        title: Option<String>,
        /// What the tool attached.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tool_metadata: Option<Box<JsonObject>>,
        /// What the provider attached.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        provider_metadata: Metadata,
    },
    /// The call cannot be used.
    ToolInputError {
        /// The call.
        tool_call_id: Id,
        /// Which tool.
        tool_name: String,
        /// What was to be its input: as text where it is not JSON.
        #[serde(default)]
        input: Value,
        /// For the user.
        error_text: String,
        /// Whether the provider runs it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        provider_executed: Option<bool>,
        /// Whether the client has no type for the tool.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        dynamic: Option<bool>,
        /// A title for people.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        title: Option<String>,
        /// What the tool attached.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tool_metadata: Option<Box<JsonObject>>,
        /// What the provider attached.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        provider_metadata: Metadata,
    },
    /// A call waits for a person.
    ToolApprovalRequest {
        /// Pairs the question with its answer.
        approval_id: Id,
        /// The call.
        tool_call_id: Id,
        /// Whether it was decided without a person.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        is_automatic: Option<bool>,
        /// Proves on the way back that the question was asked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signature: Option<String>,
    },
    /// A call was decided.
    ToolApprovalResponse {
        /// The question.
        approval_id: Id,
        /// Yes or no.
        approved: bool,
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// Whether the provider runs the call.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        provider_executed: Option<bool>,
        /// What the provider attached.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        provider_metadata: Metadata,
    },
    /// A call has a result.
    ToolOutputAvailable {
        /// The call.
        tool_call_id: Id,
        /// The result.
        #[serde(default)]
        output: Value,
        /// Whether more will follow for the same call.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        preliminary: Option<bool>,
        /// Whether the provider ran it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        provider_executed: Option<bool>,
        /// Whether the client has no type for the tool.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        dynamic: Option<bool>,
        /// What the tool attached.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tool_metadata: Option<Box<JsonObject>>,
        /// What the provider attached.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        provider_metadata: Metadata,
    },
    /// A call failed.
    ToolOutputError {
        /// The call.
        tool_call_id: Id,
        /// For the user.
        error_text: String,
        /// Whether the provider ran it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        provider_executed: Option<bool>,
        /// Whether the client has no type for the tool.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        dynamic: Option<bool>,
        /// What the tool attached.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tool_metadata: Option<Box<JsonObject>>,
        /// What the provider attached.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        provider_metadata: Metadata,
    },
    /// A call was denied.
    ToolOutputDenied {
        /// The call.
        tool_call_id: Id,
    },
    /// Data of the application.
    #[serde(skip)]
    Data(DataChunk),
}

impl Serialize for UiChunk {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Data(data) => data.serialize(serializer),
            chunk => Self::serialize(chunk, serializer),
        }
    }
}

impl<'de> Deserialize<'de> for UiChunk {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let kind = value.get("type").and_then(Value::as_str).unwrap_or_default();
        let chunk = if kind.starts_with(DataChunk::PREFIX) {
            DataChunk::deserialize(value).map(Self::Data)
        } else {
            Self::deserialize(value)
        };
        chunk.map_err(D::Error::custom)
    }
}

/// Data of the application, of the type `data-NAME`. A later chunk with the same name and id replaces an
/// earlier one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DataChunk {
    /// The name, without `data-`.
    #[serde(rename = "type", with = "data_type")]
    pub name: String,
    /// Which data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The data.
    #[serde(default)]
    pub data: Value,
    /// Whether it is shown only, and never part of the message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transient: Option<bool>,
}

impl DataChunk {
    const PREFIX: &'static str = "data-";
}

mod data_type {
    use serde::{Deserialize, Deserializer, Serializer, de::Error as _};

    use super::DataChunk;

    pub(super) fn serialize<S: Serializer>(name: &str, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{}{name}", DataChunk::PREFIX))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
        let kind = String::deserialize(deserializer)?;
        let name = kind.strip_prefix(DataChunk::PREFIX);
        name.map(str::to_owned)
            .ok_or_else(|| D::Error::custom(format!("`{kind}` does not begin with `data-`")))
    }
}

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
    /// Something else.
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

#[cfg(test)]
mod tests;
