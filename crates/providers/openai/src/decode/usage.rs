use ai_provider::Usage;
use serde_json::Value;

use super::loose::Raw;

/// The usage of an answer, by the one meaning every adapter gives the fields: input includes the cache, output
/// includes reasoning. What the server does not say stays unknown. `reasoning_beside` says that the server
/// counts reasoning beside its output, not as a part of it.
pub(crate) fn read(raw: &str, reasoning_beside: bool) -> Usage {
    serde_json::from_str(raw).map_or_else(|_| Usage::default(), |raw| of(raw, reasoning_beside))
}

/// As [`read`], of a usage object that was read already.
fn of(raw: Value, reasoning_beside: bool) -> Usage {
    let count = |paths: &[&str]| paths.iter().find_map(|path| at(&raw, path).and_then(number));

    let mut usage = Usage::default();
    let prompt = count(&["prompt_tokens", "input_tokens"]);
    let read = count(&[
        "prompt_tokens_details.cached_tokens",
        "prompt_token_details.cached_tokens",
        "input_tokens_details.cached_tokens",
        "cached_tokens",
        "num_cached_tokens",
        "prompt_cache_hit_tokens",
    ]);
    let write = count(&[
        "prompt_tokens_details.cache_write_tokens",
        "input_tokens_details.cache_write_tokens",
        "prompt_tokens_details.cache_creation_input_tokens",
        "cache_creation_input_tokens",
    ]);
    let cached = read.unwrap_or(0).saturating_add(write.unwrap_or(0));
    // A prompt smaller than its cached part was counted without it.
    usage.input.total =
        prompt.map(|prompt| if cached > prompt { prompt.saturating_add(cached) } else { prompt });
    usage.input.cache_read = read;
    usage.input.cache_write = write;
    if read.is_some() {
        usage.input.no_cache = usage.input.total.map(|total| total.saturating_sub(cached));
    }

    let completion = count(&["completion_tokens", "output_tokens"]);
    let reasoning = count(&[
        "completion_tokens_details.reasoning_tokens",
        "output_tokens_details.reasoning_tokens",
        "reasoning_tokens",
    ]);
    usage.output.reasoning = reasoning;
    usage.output.total = match (completion, reasoning) {
        (Some(completion), Some(reasoning)) if reasoning_beside => Some(completion.saturating_add(reasoning)),
        _ => completion,
    };
    if let (Some(total), Some(reasoning)) = (usage.output.total, reasoning) {
        usage.output.text = Some(total.saturating_sub(reasoning));
    }
    usage.raw = Some(raw.into());
    usage
}

fn at<'v>(value: &'v Value, path: &str) -> Option<&'v Value> {
    path.split('.').try_fold(value, |value, key| value.get(key))
}

/// The last usage object of an answer. Most are read once, some servers send one with each delta.
#[derive(Debug, Default)]
pub(super) struct LastUsage {
    /// As it came.
    text: String,
    /// What it says, once somebody has asked.
    read: Option<Value>,
}

impl LastUsage {
    /// Keeps this one, if it is one.
    pub(super) fn keep(&mut self, usage: Raw<'_>) -> bool {
        let Some(usage) = usage.0 else { return false };
        self.read = None;
        self.text.clear();
        self.text.push_str(usage.get());
        true
    }

    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Whether it counts anything: some servers send zeros until the end.
    pub(super) fn counts(&mut self) -> bool {
        self.read = serde_json::from_str(&self.text).ok();
        let fields = self.read.as_ref().and_then(Value::as_object);
        fields.is_some_and(|fields| fields.values().filter_map(number).any(|count| count > 0))
    }

    /// Its meaning; see [`read`].
    pub(super) fn take(&mut self, reasoning_beside: bool) -> Usage {
        match self.read.take() {
            Some(raw) => of(raw, reasoning_beside),
            None => read(&self.text, reasoning_beside),
        }
    }
}

/// A count, also where it came as a decimal.
fn number(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| {
        let number = value.as_f64().filter(|number| *number >= 0.0)?;
        format!("{:.0}", number.trunc()).parse().ok()
    })
}
