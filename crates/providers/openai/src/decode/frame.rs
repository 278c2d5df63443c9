//! A frame as it comes in: borrowed from its text, and read with patience. Servers leave fields out, send null
//! for them, and disagree on types.

use std::borrow::Cow;
use std::fmt;

use serde::Deserializer;
use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::alike::OnlyString;
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
                    if first.as_ref().is_some_and(Choice::is_of_the_answer) {
                        break;
                    }
                    *first = None;
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

impl Frame<'_> {
    /// The string of a frame that says nothing else about the answer, with its quotes, as it stands in `data`.
    pub(super) fn only_string<'f>(&self, data: &'f str) -> Option<(OnlyString, &'f str)> {
        let Choices { first: Some(choice), more } = self.choices.as_ref()? else { return None };
        let delta = choice.delta.as_ref()?;
        let nothing = [self.usage, self.error, self.citations, self.search_results, self.x_groq.usage]
            .into_iter()
            .chain([self.x_groq.error, choice.logprobs, choice.usage, choice.error])
            .chain([delta.reasoning_details, delta.annotations, delta.function_call.arguments])
            .all(|raw| raw.0.is_none());
        let silent = [&delta.reasoning_content, &delta.reasoning, &delta.refusal];
        let bare = nothing
            && more.is_empty()
            && choice.message.is_none()
            && matches!(choice.finish_reason, Scalar::None)
            && matches!(delta.function_call.name, Scalar::None)
            && delta.images.as_ref().is_none_or(Vec::is_empty)
            && silent.iter().all(|content| matches!(content, Content::None));
        if !bare {
            return None;
        }
        match (&delta.content, delta.tool_calls.as_deref().unwrap_or_default()) {
            (Content::Text(Cow::Borrowed(text)), []) => {
                let at = text.as_ptr().addr().checked_sub(data.as_ptr().addr())?.checked_sub(1)?;
                let token = data.get(at..at.checked_add(text.len())?.checked_add(2)?)?;
                Some((OnlyString::Text, token))
            }
            (Content::None, [call]) => {
                Some((OnlyString::Arguments(call.index.number()), call.only_arguments(data)?))
            }
            _ => None,
        }
    }
}

impl CallDelta<'_> {
    /// The arguments of a piece of a call that has nothing else but its index.
    fn only_arguments<'f>(&self, data: &'f str) -> Option<&'f str> {
        let labels = [&self.id, &self.function.name, &self.custom.name];
        let bare = labels.iter().all(|label| matches!(label, Scalar::None))
            && matches!(self.custom.input, Content::None)
            && matches!(self.extra_content.google.thought_signature, Scalar::None);
        let token = self.function.arguments.0.filter(|_| bare)?.get();
        let at = token.as_ptr().addr().checked_sub(data.as_ptr().addr())?;
        data.get(at..at.checked_add(token.len())?).filter(|token| token.starts_with('"'))
    }
}
