use ai_provider::{Id, JsonObject, ProviderOptions};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use super::data::DataChunk;
use super::user_part::UiUserPart;
use super::word::{UiFinishReason, UiInputEncoding};

type Metadata = Option<Box<ProviderOptions>>;

/// One item of the AI SDK's UI message stream, field for field: what `useChat` and other clients read.
///
/// All chunks of the latest level; [`UiProtocol`](crate::UiProtocol) says which level knows which. Reading
/// tolerates fields it does not know; a type it does not know is an error, as it is for the clients.
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
        /// What supports the text, as the provider says.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        citations: Option<Vec<Value>>,
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
        /// What the fragments to come are; JSON if absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        input_encoding: Option<UiInputEncoding>,
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
        /// A fragment of the input's text.
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
        /// What is asked, for a form that shows it.
        #[serde(default, skip_serializing_if = "Option::is_none", with = "present")]
        approval_descriptor: Option<Value>,
        /// The input that the tool's schema was checked against.
        #[serde(default, skip_serializing_if = "Option::is_none", with = "present")]
        input_schema_input: Option<Value>,
        /// Why it is asked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
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
    /// What the user said in the middle of the answer, before the output that answers it.
    SteeringMessage {
        /// The message.
        id: String,
        /// What it says.
        parts: Vec<UiUserPart>,
    },
    /// Data of the application.
    #[serde(skip)]
    Data(DataChunk),
}

impl UiChunk {
    /// The `type`, without the name of data: `data-` stands for all of it.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Start { .. } => "start",
            Self::StartStep => "start-step",
            Self::FinishStep => "finish-step",
            Self::ResetStep => "reset-step",
            Self::Finish { .. } => "finish",
            Self::Abort { .. } => "abort",
            Self::Error { .. } => "error",
            Self::MessageMetadata { .. } => "message-metadata",
            Self::TextStart { .. } => "text-start",
            Self::TextDelta { .. } => "text-delta",
            Self::TextEnd { .. } => "text-end",
            Self::ReasoningStart { .. } => "reasoning-start",
            Self::ReasoningDelta { .. } => "reasoning-delta",
            Self::ReasoningEnd { .. } => "reasoning-end",
            Self::Custom { .. } => "custom",
            Self::SourceUrl { .. } => "source-url",
            Self::SourceDocument { .. } => "source-document",
            Self::File { .. } => "file",
            Self::ReasoningFile { .. } => "reasoning-file",
            Self::ToolInputStart { .. } => "tool-input-start",
            Self::ToolInputDelta { .. } => "tool-input-delta",
            Self::ToolInputAvailable { .. } => "tool-input-available",
            Self::ToolInputError { .. } => "tool-input-error",
            Self::ToolApprovalRequest { .. } => "tool-approval-request",
            Self::ToolApprovalResponse { .. } => "tool-approval-response",
            Self::ToolOutputAvailable { .. } => "tool-output-available",
            Self::ToolOutputError { .. } => "tool-output-error",
            Self::ToolOutputDenied { .. } => "tool-output-denied",
            Self::SteeringMessage { .. } => "steering-message",
            Self::Data(_) => DataChunk::PREFIX,
        }
    }
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

/// Tells `null`, which is there, from nothing.
pub(super) mod present {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use serde_json::Value;

    pub(in crate::ui) fn serialize<S: Serializer>(
        value: &Option<Value>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        value.serialize(serializer)
    }

    pub(in crate::ui) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Value>, D::Error> {
        Value::deserialize(deserializer).map(Some)
    }
}

#[cfg(test)]
mod tests;
