//! The body as it goes out: written in order, borrowed from the request wherever it can be.

use std::borrow::Cow;

use ai_provider::JsonObject;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

type Text<'a> = Cow<'a, str>;

/// Everything but the history, then the history: so the prompt's prefix stays the same from step to step.
#[derive(Debug)]
pub(crate) struct Body<'a> {
    pub(super) head: JsonObject,
    pub(super) tools: Vec<JsonObject>,
    pub(super) system: Vec<Block<'a>>,
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
        // What stands in the head is the caller's own and replaces ours.
        if !self.tools.is_empty() && !self.head.contains_key("tools") {
            map.serialize_entry("tools", &self.tools)?;
        }
        if !self.system.is_empty() && !self.head.contains_key("system") {
            map.serialize_entry("system", &self.system)?;
        }
        match &self.messages {
            Messages::Ours(messages) => map.serialize_entry("messages", messages)?,
            Messages::Given(messages) => map.serialize_entry("messages", messages)?,
        }
        map.end()
    }
}

#[derive(Debug, Serialize)]
pub(super) struct Message<'a> {
    pub(super) role: &'static str,
    pub(super) content: Vec<Block<'a>>,
}

/// A content block.
#[derive(Debug)]
pub(super) struct Block<'a> {
    pub(super) content: Content<'a>,
    pub(super) cache_control: Option<Value>,
    pub(super) extra: JsonObject,
}

#[derive(Debug)]
pub(super) enum Content<'a> {
    Text(Text<'a>),
    Thinking {
        thinking: &'a str,
        signature: &'a str,
    },
    RedactedThinking(&'a str),
    /// A call: of a tool on this side, or one that ran at the provider.
    Call {
        kind: &'a str,
        id: Text<'a>,
        name: Text<'a>,
        server_name: Option<&'a Value>,
        input: Cow<'a, RawValue>,
        caller: Option<&'a Value>,
    },
    ToolResult {
        id: Text<'a>,
        content: ResultContent<'a>,
        is_error: bool,
    },
    /// What came of a call that ran at the provider.
    ServerResult {
        kind: &'a str,
        id: &'a str,
        content: &'a Value,
        is_error: bool,
    },
    /// An image or a document.
    File {
        kind: &'static str,
        source: Source<'a>,
        title: Option<&'a str>,
    },
    /// A file for code that runs at the provider.
    Upload(&'a str),
    Compaction {
        content: &'a str,
        encrypted: Option<&'a Value>,
    },
    /// A block as it came.
    Raw(&'a Value),
    /// A block of this type; its fields are the caller's.
    Own(&'a str),
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum ResultContent<'a> {
    Text(Text<'a>),
    Blocks(Vec<Block<'a>>),
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Source<'a> {
    Base64 { media_type: Text<'a>, data: String },
    Url { url: &'a str },
    File { file_id: &'a str },
    Text { media_type: &'static str, data: &'a str },
}

impl<'a> From<Content<'a>> for Block<'a> {
    fn from(content: Content<'a>) -> Self {
        Self { content, cache_control: None, extra: JsonObject::new() }
    }
}

impl<'a> Block<'a> {
    pub(super) fn text(text: impl Into<Text<'a>>) -> Self {
        Content::Text(text.into()).into()
    }

    /// Thinking can carry no cache marker and end no message.
    pub(super) fn is_thinking(&self) -> bool {
        matches!(self.content, Content::Thinking { .. } | Content::RedactedThinking(_))
    }
}

impl Serialize for Block<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        let written = self.content.write(&mut map)?;
        for (key, value) in &self.extra {
            if key != "type" && !written.contains(&key.as_str()) {
                map.serialize_entry(key, value)?;
            }
        }
        if let Some(marker) = &self.cache_control {
            map.serialize_entry("cache_control", marker)?;
        }
        map.end()
    }
}

impl Content<'_> {
    /// Writes the fields; says which, beside the type, so that an option of the caller's gives none twice.
    fn write<M: SerializeMap>(&self, map: &mut M) -> Result<&'static [&'static str], M::Error> {
        Ok(match self {
            Self::Text(text) => {
                map.serialize_entry("type", "text")?;
                map.serialize_entry("text", text)?;
                &["text"]
            }
            Self::Thinking { thinking, signature } => {
                map.serialize_entry("type", "thinking")?;
                map.serialize_entry("thinking", thinking)?;
                map.serialize_entry("signature", signature)?;
                &["thinking", "signature"]
            }
            Self::RedactedThinking(data) => {
                map.serialize_entry("type", "redacted_thinking")?;
                map.serialize_entry("data", data)?;
                &["data"]
            }
            Self::Call { kind, id, name, server_name, input, caller } => {
                map.serialize_entry("type", kind)?;
                map.serialize_entry("id", id)?;
                map.serialize_entry("name", name)?;
                if let Some(server_name) = server_name {
                    map.serialize_entry("server_name", server_name)?;
                }
                map.serialize_entry("input", input)?;
                if let Some(caller) = caller {
                    map.serialize_entry("caller", caller)?;
                }
                &["id", "name", "server_name", "input", "caller"]
            }
            Self::ToolResult { id, content, is_error } => {
                map.serialize_entry("type", "tool_result")?;
                map.serialize_entry("tool_use_id", id)?;
                map.serialize_entry("content", content)?;
                if *is_error {
                    map.serialize_entry("is_error", &true)?;
                }
                &["tool_use_id", "content", "is_error"]
            }
            Self::ServerResult { kind, id, content, is_error } => {
                map.serialize_entry("type", kind)?;
                map.serialize_entry("tool_use_id", id)?;
                map.serialize_entry("content", content)?;
                if *is_error {
                    map.serialize_entry("is_error", &true)?;
                }
                &["tool_use_id", "content", "is_error"]
            }
            Self::File { kind, source, title } => {
                map.serialize_entry("type", kind)?;
                map.serialize_entry("source", source)?;
                match title {
                    None => &["source"],
                    Some(title) => {
                        map.serialize_entry("title", title)?;
                        &["source", "title"]
                    }
                }
            }
            Self::Upload(id) => {
                map.serialize_entry("type", "container_upload")?;
                map.serialize_entry("file_id", id)?;
                &["file_id"]
            }
            Self::Compaction { content, encrypted } => {
                map.serialize_entry("type", "compaction")?;
                // What could not be summed up has no content.
                map.serialize_entry("content", &(!content.is_empty()).then_some(content))?;
                if let Some(encrypted) = encrypted {
                    map.serialize_entry("encrypted_content", encrypted)?;
                }
                &["content", "encrypted_content"]
            }
            Self::Raw(block) => {
                for (key, value) in block.as_object().into_iter().flatten() {
                    map.serialize_entry(key, value)?;
                }
                &[]
            }
            Self::Own(kind) => {
                map.serialize_entry("type", kind)?;
                &[]
            }
        })
    }
}
