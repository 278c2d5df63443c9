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
    pub(super) input: Input<'a>,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Input<'a> {
    Ours(Vec<Item<'a>>),
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
        map.serialize_entry("input", &self.input)?;
        map.end()
    }
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Tool<'a> {
    Function {
        r#type: &'static str,
        name: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        description: Option<&'a str>,
        parameters: Cow<'a, Value>,
        #[serde(skip_serializing_if = "Option::is_none")]
        strict: Option<bool>,
        #[serde(flatten)]
        extra: JsonObject,
    },
    /// One the server knows by its type.
    Server {
        r#type: &'a str,
        #[serde(flatten)]
        args: Cow<'a, JsonObject>,
    },
}

/// An item of the history. The variants are told apart by their own `type`.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Item<'a> {
    /// What the caller or the user says.
    Message {
        role: &'static str,
        content: Content<'a>,
        #[serde(flatten)]
        extra: JsonObject,
    },
    /// What the model said.
    Said {
        r#type: &'static str,
        role: &'static str,
        content: [Said<'a>; 1],
        #[serde(skip_serializing_if = "Option::is_none")]
        phase: Option<&'a str>,
        #[serde(flatten)]
        extra: JsonObject,
    },
    /// An item that the server keeps.
    Reference {
        r#type: &'static str,
        id: &'a str,
    },
    Reasoning {
        r#type: &'static str,
        id: &'a str,
        summary: Vec<ReasoningText<'a>>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        content: Vec<ReasoningText<'a>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        encrypted_content: Option<&'a str>,
    },
    Call {
        r#type: &'static str,
        call_id: Text<'a>,
        name: Text<'a>,
        arguments: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        namespace: Option<&'a str>,
    },
    CustomCall {
        r#type: &'static str,
        call_id: Text<'a>,
        name: Text<'a>,
        input: String,
    },
    Output {
        r#type: &'static str,
        call_id: Text<'a>,
        output: Output<'a>,
        #[serde(flatten)]
        extra: JsonObject,
    },
    /// An item as it came, or in a form of its own.
    Raw(Cow<'a, Value>),
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Content<'a> {
    Text(Text<'a>),
    Parts(Vec<Part<'a>>),
}

#[derive(Debug, Serialize)]
pub(super) struct Said<'a> {
    pub(super) r#type: &'static str,
    pub(super) text: &'a str,
}

#[derive(Debug, Serialize)]
pub(super) struct ReasoningText<'a> {
    pub(super) r#type: &'static str,
    pub(super) text: &'a str,
}

/// The output of a call.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Output<'a> {
    Text(Text<'a>),
    Parts(Vec<Part<'a>>),
}

/// A part of a message or of an output.
#[derive(Debug, Serialize)]
pub(super) struct Part<'a> {
    #[serde(flatten)]
    pub(super) media: Media<'a>,
    #[serde(flatten)]
    pub(super) extra: JsonObject,
}

#[derive(Debug, Serialize)]
#[serde(tag = "type")]
pub(super) enum Media<'a> {
    #[serde(rename = "input_text")]
    Text { text: Text<'a> },
    #[serde(rename = "input_image")]
    Image(Image<'a>),
    #[serde(rename = "input_file")]
    File(File<'a>),
}

#[derive(Debug, Default, Serialize)]
pub(super) struct Image<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) image_url: Option<Text<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) file_id: Option<&'a str>,
}

#[derive(Debug, Default, Serialize)]
pub(super) struct File<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) file_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) file_url: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) filename: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) file_data: Option<String>,
}

impl<'a> Part<'a> {
    pub(super) fn text(text: impl Into<Text<'a>>) -> Self {
        Self::from(Media::Text { text: text.into() })
    }

    /// The text of a part that is nothing else.
    pub(super) fn plain_text(&self) -> Option<&str> {
        match &self.media {
            Media::Text { text } => Some(text),
            _ => None,
        }
    }
}

impl<'a> From<Media<'a>> for Part<'a> {
    fn from(media: Media<'a>) -> Self {
        Self { media, extra: JsonObject::new() }
    }
}
