use ai_provider::Usage;
use serde_json::Value;

/// The usage of an answer, by the one meaning every adapter gives the fields: input includes the cache, output
/// includes reasoning. What the server does not say stays unknown. `reasoning_beside` says that the server
/// counts reasoning beside its output, not as a part of it.
pub(crate) fn read(raw: &str, reasoning_beside: bool) -> Usage {
    let Ok(raw) = serde_json::from_str::<Value>(raw) else { return Usage::default() };
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
    usage.raw = Some(raw);
    usage
}

fn at<'v>(value: &'v Value, path: &str) -> Option<&'v Value> {
    path.split('.').try_fold(value, |value, key| value.get(key))
}

/// Whether a usage object counts anything.
pub(super) fn counts(raw: &str) -> bool {
    let Ok(raw) = serde_json::from_str::<Value>(raw) else { return false };
    raw.as_object().is_some_and(|fields| fields.values().filter_map(number).any(|count| count > 0))
}

/// A count, also where it came as a decimal.
fn number(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| {
        let number = value.as_f64().filter(|number| *number >= 0.0)?;
        format!("{:.0}", number.trunc()).parse().ok()
    })
}
