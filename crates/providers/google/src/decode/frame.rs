//! A frame as it comes in, borrowed from its text. Fields may be missing or null.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::loose::{Count, List, Present, Skip, Text};

type Raw<'a> = Option<&'a RawValue>;

/// A piece of a stream, or a whole answer: they have one form.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Frame<'a> {
    #[serde(borrow)]
    pub(super) candidates: List<Candidate<'a>>,
    pub(super) usage_metadata: Option<Counts>,
    #[serde(borrow)]
    pub(super) model_version: Text<'a>,
    #[serde(borrow)]
    pub(super) response_id: Text<'a>,
    #[serde(borrow)]
    pub(super) prompt_feedback: Raw<'a>,
    #[serde(borrow)]
    pub(super) error: Raw<'a>,
}

/// The frame that nearly all are: one piece of text, and nothing else that matters. A full [`Frame`] has room for all
/// that may come, and filling it takes longer than reading this one.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct TextFrame<'a> {
    #[serde(borrow)]
    pub(super) candidates: [TextCandidate<'a>; 1],
    #[serde(default)]
    pub(super) usage_metadata: Option<Counts>,
    #[serde(borrow, default)]
    pub(super) model_version: Text<'a>,
    #[serde(borrow, default)]
    pub(super) response_id: Text<'a>,
    #[serde(default, rename = "createTime")]
    _create_time: Skip,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct TextCandidate<'a> {
    #[serde(borrow)]
    pub(super) content: TextContent<'a>,
    #[serde(default)]
    pub(super) index: u64,
    #[serde(default, rename = "safetyRatings")]
    _safety_ratings: Skip,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TextContent<'a> {
    #[serde(borrow)]
    pub(super) parts: [TextPart<'a>; 1],
    #[serde(default, rename = "role")]
    _role: Skip,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TextPart<'a> {
    #[serde(borrow)]
    pub(super) text: Cow<'a, str>,
    #[serde(default)]
    pub(super) thought: bool,
}

/// Running totals.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Counts {
    pub(super) prompt_token_count: Count,
    pub(super) cached_content_token_count: Count,
    pub(super) candidates_token_count: Count,
    pub(super) thoughts_token_count: Count,
    #[serde(rename = "promptTokensDetails")]
    _prompt_tokens_details: Skip,
    #[serde(rename = "candidatesTokensDetails")]
    _candidates_tokens_details: Skip,
    #[serde(rename = "cacheTokensDetails")]
    _cache_tokens_details: Skip,
    #[serde(rename = "toolUsePromptTokensDetails")]
    _tool_use_prompt_tokens_details: Skip,
}

/// What is of use in the last frame alone, which is read twice for it.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct LastFrame<'a> {
    #[serde(borrow)]
    pub(super) candidates: List<LastCandidate<'a>>,
    pub(super) usage_metadata: Option<Value>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct LastCandidate<'a> {
    #[serde(borrow)]
    pub(super) safety_ratings: Raw<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Candidate<'a> {
    #[serde(borrow)]
    pub(super) content: Option<Content<'a>>,
    pub(super) index: Count,
    #[serde(borrow)]
    pub(super) finish_reason: Text<'a>,
    #[serde(borrow)]
    pub(super) finish_message: Raw<'a>,
    #[serde(borrow)]
    pub(super) grounding_metadata: Raw<'a>,
    #[serde(borrow)]
    pub(super) url_context_metadata: Raw<'a>,
    #[serde(borrow)]
    pub(super) citation_metadata: Raw<'a>,
    #[serde(rename = "safetyRatings")]
    _safety_ratings: Skip,
    #[serde(borrow)]
    pub(super) avg_logprobs: Raw<'a>,
    #[serde(borrow)]
    pub(super) logprobs_result: Raw<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Content<'a> {
    #[serde(borrow)]
    pub(super) parts: List<Part<'a>>,
}

/// A part holds one of these. What it is, is read off the field that is there.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Part<'a> {
    #[serde(borrow)]
    pub(super) text: Text<'a>,
    pub(super) thought: Option<bool>,
    #[serde(borrow)]
    pub(super) thought_signature: Text<'a>,
    #[serde(borrow)]
    pub(super) function_call: Option<Box<FunctionCall<'a>>>,
    #[serde(borrow)]
    pub(super) inline_data: Option<Box<Blob<'a>>>,
    #[serde(borrow)]
    pub(super) file_data: Option<Box<Blob<'a>>>,
    #[serde(borrow)]
    pub(super) executable_code: Raw<'a>,
    #[serde(borrow)]
    pub(super) code_execution_result: Raw<'a>,
    #[serde(borrow)]
    pub(super) tool_call: Raw<'a>,
    #[serde(borrow)]
    pub(super) tool_response: Raw<'a>,
}

impl<'a> Part<'a> {
    /// What it says of a tool that runs at the server: the field, and its value.
    pub(super) fn of_server(&self) -> Option<(&'static str, &'a RawValue)> {
        let fields = [
            ("executableCode", self.executable_code),
            ("codeExecutionResult", self.code_execution_result),
            ("toolCall", self.tool_call),
            ("toolResponse", self.tool_response),
        ];
        fields.into_iter().find_map(|(field, value)| Some((field, value?)))
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct FunctionCall<'a> {
    #[serde(borrow)]
    pub(super) id: Text<'a>,
    #[serde(borrow)]
    pub(super) name: Text<'a>,
    #[serde(borrow)]
    pub(super) args: Raw<'a>,
    #[serde(borrow)]
    pub(super) partial_args: List<PartialArg<'a>>,
    pub(super) will_continue: Option<bool>,
}

/// A value, or a piece of one, at a place of the arguments.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct PartialArg<'a> {
    #[serde(borrow)]
    pub(super) json_path: Text<'a>,
    #[serde(borrow)]
    pub(super) string_value: Text<'a>,
    #[serde(borrow)]
    pub(super) number_value: Raw<'a>,
    pub(super) bool_value: Option<bool>,
    pub(super) null_value: Present,
    pub(super) will_continue: Option<bool>,
}

/// A file: here, or at a URI.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Blob<'a> {
    #[serde(borrow)]
    pub(super) mime_type: Text<'a>,
    #[serde(borrow)]
    pub(super) data: Text<'a>,
    #[serde(borrow)]
    pub(super) file_uri: Text<'a>,
    #[serde(borrow)]
    pub(super) display_name: Text<'a>,
}
