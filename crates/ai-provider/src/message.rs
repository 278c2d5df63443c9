use serde::{Deserialize, Serialize};

use crate::id::Id;
use crate::media::FilePart;
use crate::metadata::ProviderMetadata;
use crate::options::ProviderOptions;
use crate::part::{Source, ToolApprovalRequest};
use crate::tool::{ToolCall, ToolResult};

/// One message of a conversation, in no provider's own form.
///
/// ```
/// use ai_provider::Message;
/// let message = Message::user("Hi");
/// let json = serde_json::to_string(&message)?;
/// assert_eq!(json, r#"{"role":"user","parts":[{"type":"text","text":"Hi"}]}"#);
/// assert_eq!(serde_json::from_str::<Message>(&json)?, message);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Message {
    /// Instructions.
    System(SystemMessage),
    /// From the user.
    User(UserMessage),
    /// From the model.
    Assistant(AssistantMessage),
    /// Results of tools, and answers to approval requests.
    Tool(ToolMessage),
}

impl Message {
    /// Instructions as text.
    pub fn system(text: impl Into<String>) -> Self {
        Self::System(SystemMessage { text: text.into(), options: ProviderOptions::default() })
    }

    /// A user's text.
    pub fn user(text: impl Into<String>) -> Self {
        Self::User(UserMessage {
            parts: vec![UserPart::Text(TextPart::new(text))],
            options: ProviderOptions::default(),
        })
    }

    /// A model's text.
    pub fn assistant(text: impl Into<String>) -> Self {
        Self::Assistant(AssistantMessage {
            parts: vec![AssistantPart::Text(TextPart::new(text))],
            options: ProviderOptions::default(),
        })
    }

    /// Results of tools, in the order of their calls.
    pub fn tool(results: impl IntoIterator<Item = ToolResult>) -> Self {
        Self::Tool(ToolMessage {
            parts: results.into_iter().map(ToolPart::ToolResult).collect(),
            options: ProviderOptions::default(),
        })
    }
}

/// Instructions.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SystemMessage {
    /// The text.
    pub text: String,
    /// Options for the provider.
    #[serde(default, rename = "providerOptions", skip_serializing_if = "ProviderOptions::is_empty")]
    pub options: ProviderOptions,
}

/// What a user says.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct UserMessage {
    /// Text and files.
    pub parts: Vec<UserPart>,
    /// Options for the provider.
    #[serde(default, rename = "providerOptions", skip_serializing_if = "ProviderOptions::is_empty")]
    pub options: ProviderOptions,
}

/// A part of what a user says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum UserPart {
    /// Text.
    Text(TextPart),
    /// A file.
    File(FilePart),
}

/// What a model said: complete parts only. What was cut stands in
/// [`Assembled::incomplete_calls`](crate::Assembled::incomplete_calls) or is marked there.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AssistantMessage {
    /// The parts, in the order in which they began.
    pub parts: Vec<AssistantPart>,
    /// Options for the provider.
    #[serde(default, rename = "providerOptions", skip_serializing_if = "ProviderOptions::is_empty")]
    pub options: ProviderOptions,
}

impl AssistantMessage {
    /// All text, without reasoning.
    pub fn text(&self) -> String {
        let texts = self.parts.iter().filter_map(|part| match part {
            AssistantPart::Text(part) => Some(part.text.as_str()),
            _ => None,
        });
        texts.collect()
    }

    /// The calls, in order.
    pub fn tool_calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.parts.iter().filter_map(|part| match part {
            AssistantPart::ToolCall(call) => Some(call),
            _ => None,
        })
    }

    /// Whether it says nothing: no text but blank text, no call, no file, nothing else of substance. Reasoning
    /// and sources alone are not an answer. The one definition of emptiness: retry and the run both ask it.
    pub fn is_empty(&self) -> bool {
        self.parts.iter().all(|part| match part {
            AssistantPart::Text(part) => part.text.trim().is_empty(),
            AssistantPart::Reasoning(_) | AssistantPart::ReasoningFile(_) | AssistantPart::Source(_) => true,
            _ => false,
        })
    }
}

/// A part of what a model said.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum AssistantPart {
    /// Visible text.
    Text(TextPart),
    /// Reasoning.
    Reasoning(ReasoningPart),
    /// A file made while reasoning.
    ReasoningFile(FilePart),
    /// A file.
    File(FilePart),
    /// Where something was found.
    Source(Source),
    /// Something only its provider understands.
    Custom(CustomPart),
    /// A call of a tool.
    ToolCall(ToolCall),
    /// The result of a call the provider ran itself.
    ToolResult(ToolResult),
    /// The provider asks whether it may run a call.
    ToolApprovalRequest(ToolApprovalRequest),
}

/// Text.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TextPart {
    /// The text.
    pub text: String,
    /// Options for the provider.
    #[serde(default, rename = "providerOptions", skip_serializing_if = "ProviderOptions::is_empty")]
    pub options: ProviderOptions,
    /// What the provider attached.
    #[serde(default, rename = "providerMetadata", skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Box<ProviderMetadata>>,
}

impl TextPart {
    /// Just text.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }
}

/// Reasoning: its text, and what the provider needs to get back with it (a signature, encrypted content).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ReasoningPart {
    /// The text; empty where the provider shows none.
    pub text: String,
    /// Options for the provider.
    #[serde(default, rename = "providerOptions", skip_serializing_if = "ProviderOptions::is_empty")]
    pub options: ProviderOptions,
    /// Signature, encrypted content, ids: with who minted them.
    #[serde(default, rename = "providerMetadata", skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Box<ProviderMetadata>>,
}

impl ReasoningPart {
    /// Just text.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }
}

/// Something only its provider understands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CustomPart {
    /// `provider.name`.
    pub kind: String,
    /// Options for the provider.
    #[serde(default, rename = "providerOptions", skip_serializing_if = "ProviderOptions::is_empty")]
    pub options: ProviderOptions,
    /// Its content.
    #[serde(default, rename = "providerMetadata", skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Box<ProviderMetadata>>,
}

/// What is sent back after tools ran.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ToolMessage {
    /// Results and approval answers.
    pub parts: Vec<ToolPart>,
    /// Options for the provider.
    #[serde(default, rename = "providerOptions", skip_serializing_if = "ProviderOptions::is_empty")]
    pub options: ProviderOptions,
}

/// A part of a tool message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ToolPart {
    /// What came of a call.
    ToolResult(ToolResult),
    /// Whether a call may run.
    ToolApprovalResponse(ToolApprovalResponse),
}

/// The answer to a [`ToolApprovalRequest`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolApprovalResponse {
    /// The request it answers.
    pub approval_id: Id,
    /// Yes or no.
    pub approved: bool,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}
