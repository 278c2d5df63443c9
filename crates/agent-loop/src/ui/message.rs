use ai_provider::{Id, JsonObject, ProviderOptions};
use serde::de::Error as _;
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use super::chunk::present;
use super::data::DataChunk;
use super::user_part::UiUserPart;
use super::word::UiInputEncoding;

type Metadata = Option<Box<ProviderOptions>>;

/// A message as a user interface holds it: the AI SDK's `UIMessage`, field for field.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UiMessage {
    /// Names it in its conversation.
    pub id: String,
    /// Who speaks.
    pub role: UiRole,
    /// What the application attached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Value>,
    /// What it holds, in order.
    pub parts: Vec<UiPart>,
}

impl UiMessage {
    /// A message without parts.
    pub fn new(id: impl Into<String>, role: UiRole) -> Self {
        Self { id: id.into(), role, metadata: None, parts: Vec::new() }
    }
}

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum UiRole {
    /// The application.
    System,
    /// The user.
    User,
    /// The model, with its tools.
    Assistant,
}

/// A part of a message. A type it does not know is an error when it is read.
// `remote` makes the derived functions inherent ones, so that the trait's can treat tools and data apart.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self", tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum UiPart {
    /// Text.
    Text {
        /// The text.
        text: String,
        /// Whether more comes; absent in what a user says.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        state: Option<UiBlockState>,
        /// What supports the text.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        citations: Option<Vec<Value>>,
        /// What the provider attached.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        provider_metadata: Metadata,
    },
    /// Reasoning.
    Reasoning {
        /// Its block.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<Id>,
        /// The text.
        text: String,
        /// Whether more comes.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        state: Option<UiBlockState>,
        /// What the provider attached.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        provider_metadata: Metadata,
    },
    /// A file.
    File {
        /// What it is.
        media_type: String,
        /// Where it is; its content, as a data URL.
        url: String,
        /// Its name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        filename: Option<String>,
        /// What the provider attached.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        provider_metadata: Metadata,
    },
    /// A file made while reasoning.
    ReasoningFile {
        /// What it is.
        media_type: String,
        /// Where it is; its content, as a data URL.
        url: String,
        /// What the provider attached.
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
    /// Something only its provider understands.
    Custom {
        /// `provider.name`.
        kind: String,
        /// Its content.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        provider_metadata: Metadata,
    },
    /// A step begins here.
    StepStart,
    /// What the user said in the middle.
    SteeringMessage {
        /// The message.
        id: String,
        /// What it says.
        parts: Vec<UiUserPart>,
    },
    /// A call of a tool, with what came of it.
    #[serde(skip)]
    Tool(Box<UiToolPart>),
    /// Data of the application.
    #[serde(skip)]
    Data(DataChunk),
}

/// Whether a block is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum UiBlockState {
    /// More comes.
    Streaming,
    /// It is complete.
    Done,
}

/// A call of a tool, with what came of it. In JSON its type is `tool-NAME`, or `dynamic-tool` with a `toolName`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UiToolPart {
    /// Which tool.
    #[serde(skip)]
    pub tool_name: String,
    /// Whether the client has no type for the tool.
    #[serde(skip)]
    pub dynamic: bool,
    /// The call.
    pub tool_call_id: Id,
    /// How far it is.
    pub state: UiToolState,
    /// A title for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What the tool attached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_metadata: Option<Box<JsonObject>>,
    /// Whether the provider runs it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_executed: Option<bool>,
    /// Its input, as far as it is there.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "present")]
    pub input: Option<Value>,
    /// The text of an input under way.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "present")]
    pub raw_input: Option<Value>,
    /// What that text is; JSON if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_encoding: Option<UiInputEncoding>,
    /// Its result.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "present")]
    pub output: Option<Value>,
    /// Whether another result follows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preliminary: Option<bool>,
    /// Its error, for the user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_text: Option<String>,
    /// What was asked about it, and answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<UiApproval>,
    /// What the provider attached to the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_provider_metadata: Metadata,
    /// What the provider attached to the result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_provider_metadata: Metadata,
}

impl UiToolPart {
    /// A call of which nothing is known but its tool.
    pub fn new(tool_name: impl Into<String>, tool_call_id: impl Into<Id>) -> Self {
        Self {
            tool_name: tool_name.into(),
            dynamic: false,
            tool_call_id: tool_call_id.into(),
            state: UiToolState::InputStreaming,
            title: None,
            tool_metadata: None,
            provider_executed: None,
            input: None,
            raw_input: None,
            input_encoding: None,
            output: None,
            preliminary: None,
            error_text: None,
            approval: None,
            call_provider_metadata: None,
            result_provider_metadata: None,
        }
    }
}

/// How far a call is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum UiToolState {
    /// Its input is being written.
    InputStreaming,
    /// Its input is complete.
    InputAvailable,
    /// It waits for a person.
    ApprovalRequested,
    /// It was decided.
    ApprovalResponded,
    /// It has a result.
    OutputAvailable,
    /// It failed.
    OutputError,
    /// It was denied.
    OutputDenied,
}

/// A question about a call, and its answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UiApproval {
    /// Pairs the question with its answer.
    pub id: String,
    /// The answer; absent until it is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approved: Option<bool>,
    /// Why it was answered so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Why it was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_reason: Option<String>,
    /// What is asked, for a form that shows it.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "present")]
    pub descriptor: Option<Value>,
    /// The input that the tool's schema was checked against.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "present")]
    pub input_schema_input: Option<Value>,
    /// Whether it was decided without a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_automatic: Option<bool>,
    /// Proves that the question was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
}

const DYNAMIC: &str = "dynamic-tool";
const TOOL: &str = "tool-";

impl Serialize for UiPart {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let tool = match self {
            Self::Data(data) => return data.serialize(serializer),
            Self::Tool(tool) => tool,
            part => return Self::serialize(part, serializer),
        };
        let mut fields = serde_json::to_value(tool).map_err(S::Error::custom)?;
        if let Value::Object(fields) = &mut fields {
            let kind = if tool.dynamic { DYNAMIC.to_owned() } else { format!("{TOOL}{}", tool.tool_name) };
            fields.insert("type".to_owned(), kind.into());
            if tool.dynamic {
                fields.insert("toolName".to_owned(), tool.tool_name.clone().into());
            }
        }
        fields.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for UiPart {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let text = |name: &str| value.get(name).and_then(Value::as_str);
        let kind = text("type").unwrap_or_default();
        let (tool_name, dynamic) = match kind.strip_prefix(TOOL) {
            Some(name) => (Some(name.to_owned()), false),
            None if kind == DYNAMIC => {
                let name = text("toolName").ok_or_else(|| D::Error::missing_field("toolName"))?;
                (Some(name.to_owned()), true)
            }
            None => (None, false),
        };
        let part = match tool_name {
            Some(tool_name) => serde_json::from_value(value)
                .map(|tool| Self::Tool(Box::new(UiToolPart { tool_name, dynamic, ..tool }))),
            None if kind.starts_with(DataChunk::PREFIX) => DataChunk::deserialize(value).map(Self::Data),
            None => Self::deserialize(value),
        };
        part.map_err(D::Error::custom)
    }
}
