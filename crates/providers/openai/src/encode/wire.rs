//! The body as it goes out: written in order, borrowed from the request wherever it can be.

use std::borrow::Cow;

use ai_provider::JsonObject;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::Value;

type Text<'a> = Cow<'a, str>;

/// Everything but the history, then the history: so the prompt's prefix stays the same from step to step.
#[derive(Debug)]
pub(crate) struct Body<'a> {
    pub(super) head: JsonObject,
    pub(super) tools: Vec<Tool<'a>>,
    pub(super) messages: Messages<'a>,
}

#[derive(Debug)]
pub(super) enum Messages<'a> {
    Ours(Vec<Message<'a>>),
    /// The caller's own, from the extra body.
    Given(Value),
}

impl Serialize for Body<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (key, value) in &self.head {
            map.serialize_entry(key, value)?;
        }
        // Tools in the head are the caller's own and replace ours.
        if !self.tools.is_empty() && !self.head.contains_key("tools") {
            map.serialize_entry("tools", &self.tools)?;
        }
        match &self.messages {
            Messages::Ours(messages) => map.serialize_entry("messages", messages)?,
            Messages::Given(messages) => map.serialize_entry("messages", messages)?,
        }
        map.end()
    }
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Tool<'a> {
    Function {
        r#type: &'static str,
        function: Function<'a>,
        #[serde(flatten)]
        extra: JsonObject,
    },
    Server {
        r#type: &'a str,
        #[serde(flatten)]
        args: &'a JsonObject,
    },
}

#[derive(Debug, Serialize)]
pub(super) struct Function<'a> {
    pub(super) name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) description: Option<&'a str>,
    pub(super) parameters: Cow<'a, Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) strict: Option<bool>,
}

/// A message, with the fields its role has.
#[derive(Debug, Default)]
pub(super) struct Message<'a> {
    pub(super) role: &'static str,
    pub(super) content: Content<'a>,
    /// The field for reasoning, and the reasoning.
    pub(super) reasoning: Option<(Text<'a>, Text<'a>)>,
    /// The reasoning in its maker's own form.
    pub(super) details: Vec<&'a Value>,
    pub(super) tool_calls: Vec<Call<'a>>,
    pub(super) tool_call_id: Option<Text<'a>>,
    pub(super) name: Option<Text<'a>>,
    pub(super) prefix: bool,
    pub(super) extra: JsonObject,
}

#[derive(Debug, Default, Serialize)]
#[serde(untagged)]
pub(super) enum Content<'a> {
    #[default]
    Null,
    Text(Text<'a>),
    Parts(Vec<Part<'a>>),
}

impl Serialize for Message<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("role", self.role)?;
        if let Some(id) = &self.tool_call_id {
            map.serialize_entry("tool_call_id", id)?;
        }
        if let Some(name) = &self.name {
            map.serialize_entry("name", name)?;
        }
        if let Some((field, text)) = &self.reasoning {
            map.serialize_entry(field, text)?;
        }
        if !self.details.is_empty() {
            map.serialize_entry("reasoning_details", &self.details)?;
        }
        map.serialize_entry("content", &self.content)?;
        if !self.tool_calls.is_empty() {
            map.serialize_entry("tool_calls", &self.tool_calls)?;
        }
        if self.prefix {
            map.serialize_entry("prefix", &true)?;
        }
        for (key, value) in &self.extra {
            if !self.writes(key) {
                map.serialize_entry(key, value)?;
            }
        }
        map.end()
    }
}

impl Message<'_> {
    /// Whether this field is written already: an option of the caller's must not give it twice.
    pub(super) fn writes(&self, key: &str) -> bool {
        match key {
            "role" | "content" => true,
            "tool_call_id" => self.tool_call_id.is_some(),
            "name" => self.name.is_some(),
            "tool_calls" => !self.tool_calls.is_empty(),
            "prefix" => self.prefix,
            "reasoning_details" => !self.details.is_empty(),
            _ => self.reasoning.as_ref().is_some_and(|(field, _)| field == key),
        }
    }
}

#[derive(Debug, Serialize)]
pub(super) struct Call<'a> {
    pub(super) id: Text<'a>,
    pub(super) r#type: &'static str,
    pub(super) function: CalledFunction<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) extra_content: Option<Value>,
}

#[derive(Debug, Serialize)]
pub(super) struct CalledFunction<'a> {
    pub(super) name: Text<'a>,
    pub(super) arguments: &'a str,
}

/// A part of a user message.
#[derive(Debug, Serialize)]
pub(super) struct Part<'a> {
    #[serde(flatten)]
    pub(super) media: Media<'a>,
    #[serde(flatten)]
    pub(super) extra: JsonObject,
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Media<'a> {
    Text { text: Text<'a> },
    ImageUrl { image_url: ImageUrl<'a> },
    VideoUrl { video_url: VideoUrl<'a> },
    InputAudio { input_audio: InputAudio },
    File { file: File<'a> },
}

#[derive(Debug, Serialize)]
pub(super) struct ImageUrl<'a> {
    pub(super) url: Text<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) detail: Option<Value>,
}

#[derive(Debug, Serialize)]
pub(super) struct VideoUrl<'a> {
    pub(super) url: Text<'a>,
}

#[derive(Debug, Serialize)]
pub(super) struct InputAudio {
    pub(super) data: String,
    pub(super) format: &'static str,
}

#[derive(Debug, Default, Serialize)]
pub(super) struct File<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) file_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) filename: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) file_data: Option<String>,
}

impl<'a> Part<'a> {
    pub(super) fn text(text: impl Into<Text<'a>>) -> Self {
        Self::from(Media::Text { text: text.into() })
    }
}

impl<'a> From<Media<'a>> for Part<'a> {
    fn from(media: Media<'a>) -> Self {
        Self { media, extra: JsonObject::new() }
    }
}
