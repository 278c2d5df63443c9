use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::finish::FinishReason;
use crate::id::Id;
use crate::media::FilePart;
use crate::message::CustomPart;
use crate::metadata::ProviderMetadata;
use crate::tool::{ToolCall, ToolResult, is_false};
use crate::usage::Usage;
use crate::warning::Warning;

type Metadata = Option<Box<ProviderMetadata>>;

/// One item of a model's answer.
///
/// The order rules, which [`Assembler`](crate::Assembler) checks:
/// - `StreamStart` comes first or not at all, before any network data is interpreted. A model leaves it out
///   only where the request could not even be written.
/// - A block is start, deltas, end under one id; blocks may interleave. Text, reasoning and tool input have
///   each their own ids, and no block of a kind uses an id again.
/// - `ToolInput…` parts are optional; the `ToolCall` of the same id is the authoritative, complete call and
///   comes once, after `ToolInputEnd`.
/// - `Finish` comes last, once. Nothing follows it, nor an `Err`.
///
/// What comes once or seldom is boxed: a part passes through every layer, and most of them are short deltas.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum StreamPart {
    /// The request was encoded; what could not be sent as asked.
    StreamStart {
        /// What the adapter has to say about the request.
        warnings: Vec<Warning>,
    },
    /// Who answers, as soon as it is known.
    ResponseMetadata(Box<ResponseMetadata>),
    /// A block of visible text begins.
    TextStart {
        /// The block.
        id: Id,
        /// What the provider attached.
        #[serde(default, rename = "providerMetadata", skip_serializing_if = "Option::is_none")]
        metadata: Metadata,
    },
    /// More of it; may be empty where only metadata came.
    TextDelta {
        /// The block.
        id: Id,
        /// The text.
        delta: String,
        /// What the provider attached.
        #[serde(default, rename = "providerMetadata", skip_serializing_if = "Option::is_none")]
        metadata: Metadata,
    },
    /// It is complete.
    TextEnd {
        /// The block.
        id: Id,
        /// What the provider attached.
        #[serde(default, rename = "providerMetadata", skip_serializing_if = "Option::is_none")]
        metadata: Metadata,
    },
    /// A block of reasoning begins.
    ReasoningStart {
        /// The block.
        id: Id,
        /// What the provider attached.
        #[serde(default, rename = "providerMetadata", skip_serializing_if = "Option::is_none")]
        metadata: Metadata,
    },
    /// More of it; may be empty where only metadata came, such as a signature.
    ReasoningDelta {
        /// The block.
        id: Id,
        /// The text.
        delta: String,
        /// What the provider attached.
        #[serde(default, rename = "providerMetadata", skip_serializing_if = "Option::is_none")]
        metadata: Metadata,
    },
    /// It is complete.
    ReasoningEnd {
        /// The block.
        id: Id,
        /// What the provider attached.
        #[serde(default, rename = "providerMetadata", skip_serializing_if = "Option::is_none")]
        metadata: Metadata,
    },
    /// The input of a tool call begins.
    ToolInputStart {
        /// The id of the call to come.
        id: Id,
        /// Which tool.
        tool_name: String,
        /// Whether the provider runs it.
        #[serde(default, skip_serializing_if = "is_false")]
        provider_executed: bool,
        /// Whether the tool is known to the provider alone.
        #[serde(default, skip_serializing_if = "is_false")]
        dynamic: bool,
        /// A title for people.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        title: Option<String>,
    },
    /// More of it: a fragment of JSON text.
    ToolInputDelta {
        /// The call.
        id: Id,
        /// The fragment.
        delta: String,
    },
    /// It is complete.
    ToolInputEnd {
        /// The call.
        id: Id,
    },
    /// A complete call.
    ToolCall(Box<ToolCall>),
    /// The result of a call the provider ran itself.
    ToolResult(Box<ToolResult>),
    /// The provider asks whether it may run a call.
    ToolApprovalRequest(ToolApprovalRequest),
    /// Where something was found.
    Source(Box<Source>),
    /// A file.
    File(Box<FilePart>),
    /// A file made while reasoning.
    ReasoningFile(Box<FilePart>),
    /// Something only its provider understands.
    Custom(CustomPart),
    /// The answer is over.
    Finish(Box<Finish>),
    /// A frame as received, before the parts made of it; only on request.
    Raw {
        /// The frame.
        raw_value: Value,
    },
}

impl StreamPart {
    /// Whether showing this part binds the attempt: from then on nothing may be tried again unseen.
    ///
    /// Not binding are the start, metadata, raw frames, starts and ends of text and reasoning blocks, and
    /// empty deltas.
    pub fn commits(&self) -> bool {
        match self {
            Self::StreamStart { .. }
            | Self::ResponseMetadata(_)
            | Self::Raw { .. }
            | Self::TextStart { .. }
            | Self::TextEnd { .. }
            | Self::ReasoningStart { .. }
            | Self::ReasoningEnd { .. } => false,
            Self::TextDelta { delta, .. }
            | Self::ReasoningDelta { delta, .. }
            | Self::ToolInputDelta { delta, .. } => !delta.is_empty(),
            _ => true,
        }
    }

    /// A start of text without metadata.
    pub fn text_start(id: impl Into<Id>) -> Self {
        Self::TextStart { id: id.into(), metadata: None }
    }

    /// A delta of text without metadata.
    pub fn text_delta(id: impl Into<Id>, delta: impl Into<String>) -> Self {
        Self::TextDelta { id: id.into(), delta: delta.into(), metadata: None }
    }

    /// An end of text without metadata.
    pub fn text_end(id: impl Into<Id>) -> Self {
        Self::TextEnd { id: id.into(), metadata: None }
    }

    /// A start of reasoning without metadata.
    pub fn reasoning_start(id: impl Into<Id>) -> Self {
        Self::ReasoningStart { id: id.into(), metadata: None }
    }

    /// A delta of reasoning without metadata.
    pub fn reasoning_delta(id: impl Into<Id>, delta: impl Into<String>) -> Self {
        Self::ReasoningDelta { id: id.into(), delta: delta.into(), metadata: None }
    }

    /// An end of reasoning without metadata.
    pub fn reasoning_end(id: impl Into<Id>) -> Self {
        Self::ReasoningEnd { id: id.into(), metadata: None }
    }
}

/// Who answers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ResponseMetadata {
    /// The provider's id of the response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// When it was made, in seconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<u64>,
    /// The model that was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked_model: Option<String>,
    /// The model that answers, by the provider's word.
    #[serde(default, rename = "modelId", skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

/// Where something was found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "sourceType", rename_all = "kebab-case", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum Source {
    /// A page.
    Url {
        /// Names the source within its message.
        id: Id,
        /// Its address.
        url: String,
        /// Its title.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        title: Option<String>,
        /// What the provider attached.
        #[serde(default, rename = "providerMetadata", skip_serializing_if = "Option::is_none")]
        metadata: Metadata,
    },
    /// A document.
    Document {
        /// Names the source within its message.
        id: Id,
        /// What it is.
        media_type: String,
        /// Its title.
        title: String,
        /// Its file name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        filename: Option<String>,
        /// What the provider attached.
        #[serde(default, rename = "providerMetadata", skip_serializing_if = "Option::is_none")]
        metadata: Metadata,
    },
}

/// The provider asks whether it may run a call of its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolApprovalRequest {
    /// Pairs the question with its answer.
    pub approval_id: Id,
    /// The call it is about; it comes before.
    pub tool_call_id: Id,
}

/// The answer is over.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Finish {
    /// Why.
    #[serde(rename = "finishReason")]
    pub reason: FinishReason,
    /// What it took.
    pub usage: Usage,
    /// What the provider attached.
    #[serde(default, rename = "providerMetadata", skip_serializing_if = "Option::is_none")]
    pub metadata: Metadata,
}
