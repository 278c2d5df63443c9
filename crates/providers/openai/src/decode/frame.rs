//! A frame as it comes in: borrowed from its text, and read with patience. Servers leave fields out, send null
//! for them, and disagree on types.

use std::fmt;

use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::loose::{Content, ContentPart, Scalar};

type Raw<'a> = Option<&'a RawValue>;

/// A chunk of a stream, or a whole answer.
#[derive(Debug, Deserialize)]
pub(super) struct Frame<'a> {
    #[serde(borrow, default)]
    pub(super) id: Scalar<'a>,
    #[serde(borrow, default)]
    pub(super) model: Scalar<'a>,
    #[serde(borrow, default)]
    pub(super) created: Scalar<'a>,
    #[serde(borrow, default)]
    pub(super) choices: Option<Choices<'a>>,
    #[serde(borrow, default)]
    pub(super) usage: Raw<'a>,
    #[serde(borrow, default)]
    pub(super) x_groq: Option<Groq<'a>>,
    #[serde(borrow, default)]
    pub(super) error: Raw<'a>,
    #[serde(borrow, default)]
    pub(super) citations: Raw<'a>,
    #[serde(borrow, default)]
    pub(super) search_results: Raw<'a>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Groq<'a> {
    #[serde(borrow, default)]
    pub(super) usage: Raw<'a>,
    #[serde(borrow, default)]
    pub(super) error: Raw<'a>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Choice<'a> {
    #[serde(borrow, default)]
    pub(super) index: Scalar<'a>,
    #[serde(borrow, default)]
    pub(super) delta: Option<Delta<'a>>,
    #[serde(borrow, default)]
    pub(super) message: Option<Delta<'a>>,
    #[serde(borrow, default)]
    pub(super) finish_reason: Scalar<'a>,
    #[serde(borrow, default)]
    pub(super) logprobs: Raw<'a>,
    #[serde(borrow, default)]
    pub(super) usage: Raw<'a>,
    #[serde(borrow, default)]
    pub(super) error: Raw<'a>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Delta<'a> {
    #[serde(borrow, default)]
    pub(super) content: Option<Content<'a>>,
    #[serde(borrow, default)]
    pub(super) reasoning_content: Option<Content<'a>>,
    #[serde(borrow, default)]
    pub(super) reasoning: Option<Content<'a>>,
    #[serde(borrow, default)]
    pub(super) refusal: Option<Content<'a>>,
    #[serde(borrow, default)]
    pub(super) tool_calls: Option<Vec<CallDelta<'a>>>,
    #[serde(borrow, default)]
    pub(super) annotations: Raw<'a>,
    #[serde(borrow, default)]
    pub(super) images: Option<Vec<ContentPart<'a>>>,
}

#[derive(Debug, Deserialize)]
pub(super) struct CallDelta<'a> {
    #[serde(borrow, default)]
    pub(super) id: Scalar<'a>,
    #[serde(borrow, default)]
    pub(super) index: Scalar<'a>,
    #[serde(borrow, default)]
    pub(super) function: Option<FunctionDelta<'a>>,
    #[serde(borrow, default)]
    pub(super) extra_content: Option<Extra<'a>>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct FunctionDelta<'a> {
    #[serde(borrow, default)]
    pub(super) name: Scalar<'a>,
    #[serde(borrow, default)]
    pub(super) arguments: Raw<'a>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Extra<'a> {
    #[serde(borrow, default)]
    pub(super) google: Option<GoogleExtra<'a>>,
}

#[derive(Debug, Deserialize)]
pub(super) struct GoogleExtra<'a> {
    #[serde(borrow, default)]
    pub(super) thought_signature: Scalar<'a>,
}

/// The choices that make up the answer: the one of index 0. Some servers spread it over several entries
/// without an index, or with index 0 each, so it is a list; it allocates from the second on.
#[derive(Debug, Default)]
pub(super) struct Choices<'a> {
    pub(super) first: Option<Choice<'a>>,
    pub(super) more: Vec<Choice<'a>>,
}

impl<'de: 'a, 'a> Deserialize<'de> for Choices<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visit;
        impl<'de> Visitor<'de> for Visit {
            type Value = Choices<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of choices")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
                let mut choices = Choices::default();
                while let Some(choice) = list.next_element::<Choice<'de>>()? {
                    if choice.index.number().unwrap_or(0) != 0 {
                        continue;
                    }
                    match choices.first {
                        None => choices.first = Some(choice),
                        Some(_) => choices.more.push(choice),
                    }
                }
                Ok(choices)
            }
        }
        deserializer.deserialize_seq(Visit)
    }
}

impl<'a> Choices<'a> {
    pub(super) fn into_iter(self) -> impl Iterator<Item = Choice<'a>> {
        self.first.into_iter().chain(self.more)
    }
}
