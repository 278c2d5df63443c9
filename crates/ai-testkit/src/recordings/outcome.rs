use ai_provider::{ErrorRecord, FinishReason, ModelError, StreamPart, ToolCall, Usage};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// What came of a call, as far as recordings assert it.
///
/// Made from parts by [`from_parts`](Self::from_parts), or field by field where something else is under test
/// than a stream.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Outcome {
    /// All text deltas.
    pub text: String,
    /// All reasoning deltas.
    pub reasoning: String,
    /// How many blocks of text were started.
    pub text_blocks: usize,
    /// How many blocks of reasoning were started.
    pub reasoning_blocks: usize,
    /// The complete calls.
    pub calls: Vec<ToolCall>,
    /// How many final results of calls came.
    pub results: usize,
    /// How many sources came.
    pub sources: usize,
    /// Why the model stopped.
    pub finish: Option<FinishReason>,
    /// What it took; all unknown without a finish.
    pub usage: Usage,
    /// How it failed.
    pub error: Option<ErrorRecord>,
}

impl Outcome {
    /// Sums up the parts of a stream, and its error.
    pub fn from_parts(parts: &[StreamPart], error: Option<&ModelError>) -> Self {
        let mut outcome = Self { error: error.map(ModelError::record), ..Self::default() };
        for part in parts {
            match part {
                StreamPart::TextStart { .. } => outcome.text_blocks += 1,
                StreamPart::TextDelta { delta, .. } => outcome.text.push_str(delta),
                StreamPart::ReasoningStart { .. } => outcome.reasoning_blocks += 1,
                StreamPart::ReasoningDelta { delta, .. } => outcome.reasoning.push_str(delta),
                StreamPart::ToolCall(call) => outcome.calls.push((**call).clone()),
                StreamPart::ToolResult(result) if !result.preliminary => outcome.results += 1,
                StreamPart::Source(_) => outcome.sources += 1,
                StreamPart::Finish(finish) => {
                    outcome.finish = Some(finish.reason.clone());
                    outcome.usage = finish.usage.clone();
                }
                _ => {}
            }
        }
        outcome
    }

    /// The outcome in the form of a row, every key present. Its calls are written in full.
    ///
    /// ```
    /// use ai_testkit::recordings::Outcome;
    /// let mut outcome = Outcome::default();
    /// outcome.text = "Hello".to_owned();
    /// assert_eq!(outcome.to_row()["text"], serde_json::json!({"chars": 5, "sha": "185f8db32271"}));
    /// ```
    pub fn to_row(&self) -> Value {
        let Usage { input, output, .. } = &self.usage;
        json!({
            "text": sum(&self.text),
            "reasoning": sum(&self.reasoning),
            "blocks": {"text": self.text_blocks, "reasoning": self.reasoning_blocks},
            "calls": self.calls.iter().map(call_row).collect::<Vec<_>>(),
            "results": self.results,
            "sources": self.sources,
            "finish": self.finish.as_ref().map(|finish| json!({"unified": finish.unified, "raw": finish.raw})),
            "usage": {
                "input": {
                    "total": input.total,
                    "noCache": input.no_cache,
                    "cacheRead": input.cache_read,
                    "cacheWrite": input.cache_write,
                },
                "output": {"total": output.total, "text": output.text, "reasoning": output.reasoning},
            },
            "error": self.error.as_ref().map(|error| json!({
                "class": error.class,
                "status": error.status,
                "retryable": error.retryable,
                "messageStart": error.message,
            })),
        })
    }
}

/// A text as rows give it: its length in Unicode scalar values and the start of its SHA-256.
fn sum(text: &str) -> Value {
    let sha: String = Sha256::digest(text).iter().take(6).map(|byte| format!("{byte:02x}")).collect();
    json!({"chars": text.chars().count(), "sha": sha})
}

/// A call as rows give it. Input that is no JSON, as that of a free-form tool may be, is a string.
pub(super) fn call_row(call: &ToolCall) -> Value {
    json!({
        "id": &call.id,
        "name": call.name,
        "input": call.input_json().unwrap_or_else(|_| call.input.clone().into()),
        "providerExecuted": call.provider_executed,
    })
}
