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
    pub(super) tools: Vec<Value>,
    pub(super) contents: Contents<'a>,
}

#[derive(Debug)]
pub(super) enum Contents<'a> {
    Ours(Vec<Content<'a>>),
    /// The caller's own, from the extra body.
    Given(Value),
}

impl Serialize for Body<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (key, value) in &self.head {
            map.serialize_entry(key, value)?;
        }
        if !self.tools.is_empty() {
            map.serialize_entry("tools", &self.tools)?;
        }
        match &self.contents {
            Contents::Ours(contents) => map.serialize_entry("contents", contents)?,
            Contents::Given(contents) => map.serialize_entry("contents", contents)?,
        }
        map.end()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Role {
    User,
    Model,
}

#[derive(Debug, Serialize)]
pub(super) struct Content<'a> {
    pub(super) role: Role,
    pub(super) parts: Vec<Part<'a>>,
}

#[derive(Debug)]
pub(super) struct Part<'a> {
    pub(super) data: Data<'a>,
    pub(super) thought: bool,
    pub(super) signature: Option<Text<'a>>,
    pub(super) extra: JsonObject,
}

/// What a part holds.
#[derive(Debug)]
pub(super) enum Data<'a> {
    Text(Text<'a>),
    InlineData(InlineData<'a>),
    FileData(FileData<'a>),
    FunctionCall(FunctionCall<'a>),
    FunctionResponse(FunctionResponse<'a>),
    /// A part of the server's own tools: the name of its field, and its value.
    Server(&'static str, Value),
    /// A part as it once came.
    Kept(&'a JsonObject),
}

impl<'a> Part<'a> {
    pub(super) fn text(text: impl Into<Text<'a>>) -> Self {
        Self::from(Data::Text(text.into()))
    }
}

impl<'a> From<Data<'a>> for Part<'a> {
    fn from(data: Data<'a>) -> Self {
        Self { data, thought: false, signature: None, extra: JsonObject::new() }
    }
}

impl Serialize for Part<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        let field = match &self.data {
            Data::Text(text) => {
                map.serialize_entry("text", text)?;
                "text"
            }
            Data::InlineData(data) => {
                map.serialize_entry("inlineData", data)?;
                "inlineData"
            }
            Data::FileData(data) => {
                map.serialize_entry("fileData", data)?;
                "fileData"
            }
            Data::FunctionCall(call) => {
                map.serialize_entry("functionCall", call)?;
                "functionCall"
            }
            Data::FunctionResponse(response) => {
                map.serialize_entry("functionResponse", response)?;
                "functionResponse"
            }
            Data::Server(field, value) => {
                map.serialize_entry(field, value)?;
                field
            }
            Data::Kept(part) => {
                for (key, value) in *part {
                    map.serialize_entry(key, value)?;
                }
                return map.end();
            }
        };
        if self.thought {
            map.serialize_entry("thought", &true)?;
        }
        if let Some(signature) = &self.signature {
            map.serialize_entry("thoughtSignature", signature)?;
        }
        // An option of the caller's must not give a field twice.
        let taken = |key: &str| match key {
            "thought" => self.thought,
            "thoughtSignature" => self.signature.is_some(),
            key => key == field,
        };
        for (key, value) in self.extra.iter().filter(|(key, _)| !taken(key)) {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct InlineData<'a> {
    pub(super) mime_type: Text<'a>,
    pub(super) data: String,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct FileData<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) mime_type: Option<Text<'a>>,
    pub(super) file_uri: Text<'a>,
}

#[derive(Debug, Serialize)]
pub(super) struct FunctionCall<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) id: Option<Text<'a>>,
    pub(super) name: Text<'a>,
    pub(super) args: &'a RawValue,
}

#[derive(Debug, Serialize)]
pub(super) struct FunctionResponse<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) id: Option<Text<'a>>,
    pub(super) name: Text<'a>,
    pub(super) response: Response<'a>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) parts: Vec<Part<'a>>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Response<'a> {
    pub(super) name: Text<'a>,
    pub(super) content: ResponseContent<'a>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) is_error: bool,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum ResponseContent<'a> {
    Text(Text<'a>),
    Json(&'a Value),
}
