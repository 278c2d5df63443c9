//! Why an answer ended, in Google's words.

use ai_provider::UnifiedFinish;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::loose::Text;

/// A value that stands for no value.
pub(super) const UNSPECIFIED: &str = "FINISH_REASON_UNSPECIFIED";

pub(super) fn unified(raw: &str) -> UnifiedFinish {
    match raw {
        "STOP" => UnifiedFinish::Stop,
        "MAX_TOKENS" => UnifiedFinish::Length,
        "SAFETY"
        | "RECITATION"
        | "BLOCKLIST"
        | "PROHIBITED_CONTENT"
        | "SPII"
        | "IMAGE_SAFETY"
        | "IMAGE_RECITATION"
        | "IMAGE_PROHIBITED_CONTENT" => UnifiedFinish::ContentFilter,
        "MALFORMED_FUNCTION_CALL" => UnifiedFinish::Error,
        _ => UnifiedFinish::Other,
    }
}

/// Why the prompt was refused, if it was.
pub(super) fn of_block(feedback: &RawValue) -> Option<String> {
    #[derive(Default, Deserialize)]
    #[serde(default, rename_all = "camelCase")]
    struct Feedback<'a> {
        #[serde(borrow)]
        block_reason: Text<'a>,
    }
    let mut feedback: Feedback<'_> = serde_json::from_str(feedback.get()).ok()?;
    let reason = feedback.block_reason.take_said()?;
    (reason != "BLOCK_REASON_UNSPECIFIED" && reason != "BLOCKED_REASON_UNSPECIFIED")
        .then(|| reason.into_owned())
}
