use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::id::Id;
use crate::media::FilePart;
use crate::message::{CustomPart, TextPart};
use crate::metadata::ProviderMetadata;
use crate::options::{JsonObject, ProviderOptions};

/// A tool the model may use.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ToolDefinition {
    /// One that runs on this side.
    Function(FunctionTool),
    /// One the provider knows by its own id; most run at the provider.
    Provider(ProviderTool),
}

impl ToolDefinition {
    /// The name the model calls it by.
    pub fn name(&self) -> &str {
        match self {
            Self::Function(tool) => &tool.name,
            Self::Provider(tool) => &tool.name,
        }
    }
}

/// A tool that runs on this side.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FunctionTool {
    /// The name the model calls it by.
    pub name: String,
    /// What it does, for the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// JSON Schema of its input, an object.
    pub input_schema: Value,
    /// Examples of its input.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub input_examples: Vec<Value>,
    /// Whether the provider shall hold the model to the schema; its own default if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strict: Option<bool>,
    /// Options for the provider.
    #[serde(default, rename = "providerOptions", skip_serializing_if = "ProviderOptions::is_empty")]
    pub options: ProviderOptions,
}

impl FunctionTool {
    /// A tool with a name, a description and the schema of its input.
    pub fn new(name: impl Into<String>, description: impl Into<String>, input_schema: Value) -> Self {
        Self {
            name: name.into(),
            description: Some(description.into()),
            input_schema,
            input_examples: Vec::new(),
            strict: None,
            options: ProviderOptions::default(),
        }
    }
}

/// A tool the provider knows by its own id.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProviderTool {
    /// `provider.name`, for example `openai.web_search`.
    pub id: String,
    /// The name under which the caller refers to it.
    pub name: String,
    /// Its settings.
    #[serde(default, skip_serializing_if = "JsonObject::is_empty")]
    pub args: JsonObject,
}

/// Which tool the model shall call.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ToolChoice {
    /// Any, or none: the model decides.
    #[default]
    Auto,
    /// None.
    None,
    /// At least one, whichever.
    Required,
    /// This one.
    Tool {
        /// Its name.
        name: String,
    },
}

/// A complete call the model made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolCall {
    /// Pairs the call with its result.
    #[serde(rename = "toolCallId")]
    pub id: Id,
    /// Which tool.
    #[serde(rename = "toolName")]
    pub name: String,
    /// The input as the model wrote it: JSON text, kept byte for byte for the way back. Not validated;
    /// [`new`](Self::new) turns blank text, the way some models call a tool without parameters, into `{}`.
    pub input: String,
    /// Whether the provider runs it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub provider_executed: bool,
    /// Whether the tool is known to the provider alone, not defined in the request.
    #[serde(default, skip_serializing_if = "is_false")]
    pub dynamic: bool,
    /// What the provider attached.
    #[serde(default, rename = "providerMetadata", skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Box<ProviderMetadata>>,
}

impl ToolCall {
    /// A call to be run on this side. Blank input becomes `{}`.
    ///
    /// ```
    /// use ai_provider::ToolCall;
    /// let call = ToolCall::new("call_1", "weather", r#"{"city":"Oslo"}"#);
    /// assert_eq!(call.input_json()?["city"], "Oslo");
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn new(id: impl Into<Id>, name: impl Into<String>, input: impl Into<String>) -> Self {
        let input = input.into();
        let input = if input.trim().is_empty() { "{}".to_owned() } else { input };
        Self {
            id: id.into(),
            name: name.into(),
            input,
            provider_executed: false,
            dynamic: false,
            metadata: None,
        }
    }

    /// The input as JSON.
    ///
    /// # Errors
    /// If the model did not write JSON.
    pub fn input_json(&self) -> Result<Value, serde_json::Error> {
        serde_json::from_str(&self.input)
    }
}

/// What came of a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolResult {
    /// The call it answers.
    pub tool_call_id: Id,
    /// Which tool.
    pub tool_name: String,
    /// What the model gets to see.
    pub output: ToolOutput,
    /// Whether more will follow for the same call.
    #[serde(default, skip_serializing_if = "is_false")]
    pub preliminary: bool,
    /// Whether the provider ran it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub provider_executed: bool,
    /// Whether the tool is known to the provider alone.
    #[serde(default, skip_serializing_if = "is_false")]
    pub dynamic: bool,
    /// Options for the provider.
    #[serde(default, rename = "providerOptions", skip_serializing_if = "ProviderOptions::is_empty")]
    pub options: ProviderOptions,
    /// What the provider attached.
    #[serde(default, rename = "providerMetadata", skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Box<ProviderMetadata>>,
}

impl ToolResult {
    /// The final result of a call that ran on this side.
    pub fn new(call_id: impl Into<Id>, tool_name: impl Into<String>, output: ToolOutput) -> Self {
        Self {
            tool_call_id: call_id.into(),
            tool_name: tool_name.into(),
            output,
            preliminary: false,
            provider_executed: false,
            dynamic: false,
            options: ProviderOptions::default(),
            metadata: None,
        }
    }
}

/// The output of a tool, in the form the model gets it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", content = "value", rename_all = "kebab-case", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum ToolOutput {
    /// Plain text.
    Text(String),
    /// JSON.
    Json(Value),
    /// A failure, in words.
    ErrorText(String),
    /// A failure, as JSON.
    ErrorJson(Value),
    /// The call was not run because it was denied.
    ExecutionDenied {
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// Text, files and provider-specific items.
    Content(Vec<ToolContent>),
}

impl ToolOutput {
    /// Whether the tool failed or was denied.
    pub fn is_error(&self) -> bool {
        matches!(self, Self::ErrorText(_) | Self::ErrorJson(_) | Self::ExecutionDenied { .. })
    }

    /// JSON becomes [`Text`](Self::Text) if it is a string, else [`Json`](Self::Json).
    pub fn from_json(value: Value) -> Self {
        match value {
            Value::String(text) => Self::Text(text),
            other => Self::Json(other),
        }
    }
}

/// An item of a tool's output.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ToolContent {
    /// Text.
    Text(TextPart),
    /// A file.
    File(FilePart),
    /// Something only its provider understands.
    Custom(CustomPart),
}

pub(crate) fn is_false(value: &bool) -> bool {
    !value
}
