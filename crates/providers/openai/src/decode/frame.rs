//! A frame as it comes in: borrowed from its text, and read with patience. Servers leave fields out, send null
//! for them, and disagree on types.

use std::fmt;

use serde::Deserializer;
use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::fill::{Fill, Key, Place, empty_list, object};
use super::loose::{Content, ContentPart, Raw, Scalar};

object! {
    /// A chunk of a stream, or a whole answer.
    Frame {
        "id" id: Scalar<'a>,
        "model" model: Scalar<'a>,
        "created" created: Scalar<'a>,
        "choices" choices: Option<Choices<'a>>,
        "usage" usage: Raw<'a>,
        "x_groq" x_groq: Groq<'a>,
        "error" error: Raw<'a>,
        "citations" citations: Raw<'a>,
        "search_results" search_results: Raw<'a>,
    }
}

object! {
    Groq {
        "usage" usage: Raw<'a>,
        "error" error: Raw<'a>,
    }
}

object! {
    Choice {
        "index" index: Scalar<'a>,
        "delta" delta: Option<Delta<'a>>,
        "message" message: Option<Delta<'a>>,
        "finish_reason" finish_reason: Scalar<'a>,
        "logprobs" logprobs: Raw<'a>,
        "usage" usage: Raw<'a>,
        "error" error: Raw<'a>,
    }
}

object! {
    Delta {
        "content" content: Content<'a>,
        "reasoning_content" reasoning_content: Content<'a>,
        "reasoning" reasoning: Content<'a>,
        "reasoning_details" reasoning_details: Raw<'a>,
        "refusal" refusal: Content<'a>,
        "tool_calls" tool_calls: Option<Vec<CallDelta<'a>>>,
        "function_call" function_call: FunctionDelta<'a>,
        "annotations" annotations: Raw<'a>,
        "images" images: Option<Vec<ContentPart<'a>>>,
    }
}

object! {
    CallDelta {
        "id" id: Scalar<'a>,
        "index" index: Scalar<'a>,
        "function" function: FunctionDelta<'a>,
        "custom" custom: CustomDelta<'a>,
        "extra_content" extra_content: ExtraContent<'a>,
    }
}

object! {
    FunctionDelta {
        "name" name: Scalar<'a>,
        "arguments" arguments: Raw<'a>,
    }
}

object! {
    CustomDelta {
        "name" name: Scalar<'a>,
        "input" input: Content<'a>,
    }
}

object! {
    ExtraContent {
        "google" google: GoogleExtra<'a>,
    }
}

object! {
    GoogleExtra {
        "thought_signature" thought_signature: Scalar<'a>,
    }
}

/// The choices that make up the answer: the one of index 0. Some servers spread it over several entries without
/// an index, or with index 0 each, so there may be more; those allocate.
#[derive(Debug, Default)]
pub(super) struct Choices<'a> {
    first: Option<Choice<'a>>,
    more: Vec<Choice<'a>>,
}

impl<'a> Choices<'a> {
    pub(super) fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Choice<'a>> {
        self.first.iter_mut().chain(&mut self.more)
    }
}

impl<'de> Fill<'de> for Choices<'de> {
    fn fill<D: Deserializer<'de>>(&mut self, deserializer: D) -> Result<(), D::Error> {
        struct Visit<'p, 'de>(&'p mut Choices<'de>);
        impl<'de> Visitor<'de> for Visit<'_, 'de> {
            type Value = ();

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of choices")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
                let Choices { first, more } = self.0;
                while list.next_element_seed(Place(&mut *first))?.is_some() {
                    *first = first.take_if(|choice| choice.is_of_the_answer());
                    if first.is_some() {
                        break;
                    }
                }
                let mut next = None;
                while list.next_element_seed(Place(&mut next))?.is_some() {
                    more.extend(next.take_if(|choice: &mut Choice<'_>| choice.is_of_the_answer()));
                }
                Ok(())
            }
        }
        deserializer.deserialize_seq(Visit(self))
    }
}

/// What came of an answer, by kind.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Came {
    pub(super) text: bool,
    pub(super) reasoning: bool,
    pub(super) refusal: bool,
    pub(super) calls: bool,
    pub(super) files: bool,
}

impl Came {
    pub(super) fn anything(self) -> bool {
        self.text || self.reasoning || self.refusal || self.calls || self.files
    }
}

impl Delta<'_> {
    /// Takes away what came already.
    pub(super) fn without(&mut self, came: Came) {
        if came.reasoning {
            self.reasoning_content = Content::None;
            self.reasoning = Content::None;
        }
        match &mut self.content {
            Content::Text(_) if came.text => self.content = Content::None,
            Content::Parts(parts) => parts.iter_mut().for_each(|part| part.without(came)),
            _ => {}
        }
        if came.refusal {
            self.refusal = Content::None;
        }
        if came.calls {
            self.tool_calls = None;
            self.function_call = FunctionDelta::default();
        }
        if came.files {
            self.images = None;
        }
    }
}

impl ContentPart<'_> {
    fn without(&mut self, came: Came) {
        if came.text {
            self.text = Content::None;
        }
        if came.reasoning {
            self.thinking = Content::None;
        }
        if came.refusal {
            self.refusal = Content::None;
        }
        if came.files {
            self.image_url = Raw(None);
        }
    }
}

impl Choice<'_> {
    fn is_of_the_answer(&self) -> bool {
        self.index.number().unwrap_or(0) == 0
    }
}
