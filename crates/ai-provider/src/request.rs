use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use crate::message::Message;
use crate::options::{JsonObject, ProviderOptions};
use crate::settings::{ResponseFormat, Settings};
use crate::tool::{ToolChoice, ToolDefinition};

/// One model call: a neutral transcript and everything that goes with it.
///
/// Cheap to clone: messages and tools are shared, so a step, a retry or a fallback copies none of them.
///
/// ```
/// use ai_provider::{Message, Request};
/// let mut request = Request::new([Message::system("Be brief."), Message::user("Hi")]);
/// request.settings.temperature = Some(0.2);
/// assert_eq!(request.messages.len(), 2);
/// ```
///
/// `Debug` shows the names of the extra headers without their values, which may be secrets.
#[derive(Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Request {
    /// The transcript.
    pub messages: Vec<Arc<Message>>,
    /// Settings with a common name.
    pub settings: Settings,
    /// Tools the model may use, in the order in which it shall see them.
    pub tools: Arc<[ToolDefinition]>,
    /// Which of them it shall use.
    pub tool_choice: ToolChoice,
    /// The form of the answer.
    pub response_format: ResponseFormat,
    /// Settings only one provider understands.
    pub options: ProviderOptions,
    /// Merged into the body last, deep: what the SDK has no name for.
    pub extra_body: JsonObject,
    /// Further headers: name and value; a value of `None` removes a header the model would send.
    pub extra_headers: Vec<(String, Option<String>)>,
    /// Whether the answer is wanted piece by piece or in one body.
    pub delivery: Delivery,
    /// Whether to pass on each frame as received, as [`StreamPart::Raw`](crate::StreamPart::Raw).
    pub include_raw: bool,
}

impl Request {
    /// A request with this transcript and nothing else set.
    pub fn new(messages: impl IntoIterator<Item = Message>) -> Self {
        Self::from_shared(messages.into_iter().map(Arc::new).collect())
    }

    /// A request with a transcript that is shared with others.
    pub fn from_shared(messages: Vec<Arc<Message>>) -> Self {
        Self { messages, ..Self::default() }
    }

    /// Sets the tools.
    #[must_use]
    pub fn with_tools(mut self, tools: impl IntoIterator<Item = ToolDefinition>) -> Self {
        self.tools = tools.into_iter().collect();
        self
    }

    /// Sets one field of the extra body.
    #[must_use]
    pub fn with_extra(mut self, field: impl Into<String>, value: Value) -> Self {
        self.extra_body.insert(field.into(), value);
        self
    }
}

impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Taken apart, so that a new field is not forgotten.
        let Self {
            messages,
            settings,
            tools,
            tool_choice,
            response_format,
            options,
            extra_body,
            extra_headers,
            delivery,
            include_raw,
        } = self;
        f.debug_struct("Request")
            .field("messages", messages)
            .field("settings", settings)
            .field("tools", tools)
            .field("tool_choice", tool_choice)
            .field("response_format", response_format)
            .field("options", options)
            .field("extra_body", extra_body)
            .field("extra_headers", &HeaderNames(extra_headers))
            .field("delivery", delivery)
            .field("include_raw", include_raw)
            .finish()
    }
}

/// Headers as they may be shown.
pub(crate) struct HeaderNames<'a>(pub(crate) &'a [(String, Option<String>)]);

impl fmt::Debug for HeaderNames<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|(name, _)| name)).finish()
    }
}

/// How the answer shall come over the wire. The parts are the same either way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Delivery {
    /// Piece by piece.
    #[default]
    Stream,
    /// In one body.
    Whole,
}
