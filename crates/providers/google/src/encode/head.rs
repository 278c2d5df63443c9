use ai_http::{Notes, merge_field};
use ai_provider::{JsonObject, ModelError, ReasoningEffort};
use serde_json::{Value, json};

use super::{Scope, invalid};
use crate::models::Thinking;

/// Options that stand beside the settings, in `generationConfig`.
const OF_GENERATION: &[&str] = &[
    "audioTimestamp",
    "candidateCount",
    "enableAffectiveDialog",
    "enableEnhancedCivicAnswers",
    "imageConfig",
    "logprobs",
    "maxOutputTokens",
    "mediaResolution",
    "presencePenalty",
    "frequencyPenalty",
    "responseJsonSchema",
    "responseLogprobs",
    "responseMimeType",
    "responseModalities",
    "responseSchema",
    "routingConfig",
    "seed",
    "speechConfig",
    "stopSequences",
    "temperature",
    "thinkingConfig",
    "topK",
    "topP",
];

/// The categories that `threshold`, an option of ours, is set for.
const HARMS: [&str; 5] = [
    "HARM_CATEGORY_HATE_SPEECH",
    "HARM_CATEGORY_DANGEROUS_CONTENT",
    "HARM_CATEGORY_HARASSMENT",
    "HARM_CATEGORY_SEXUALLY_EXPLICIT",
    "HARM_CATEGORY_CIVIC_INTEGRITY",
];

/// A share of this is the budget for an effort: the most that a thinking model writes.
const BUDGET_BASE: u64 = 65_536;

/// The neutral settings as `generationConfig`, under what the format of the answer needs.
pub(super) fn generation(
    scope: Scope<'_>,
    mut config: JsonObject,
    options: &mut JsonObject,
    notes: &mut Notes,
) -> Result<JsonObject, ModelError> {
    let settings = &scope.request.settings;
    if let Some(limit) = settings.max_output_tokens {
        config.insert("maxOutputTokens".into(), limit.into());
    }
    if let Some(top_k) = settings.top_k {
        config.insert("topK".into(), top_k.into());
    }
    for (name, value) in [
        ("temperature", settings.temperature),
        ("topP", settings.top_p),
        ("presencePenalty", settings.presence_penalty),
        ("frequencyPenalty", settings.frequency_penalty),
    ] {
        let Some(value) = value else { continue };
        let Some(number) = serde_json::Number::from_f64(value) else {
            return Err(invalid(format!("{name} is {value}, which is no number JSON can hold")));
        };
        config.insert(name.into(), Value::Number(number));
    }
    if !settings.stop_sequences.is_empty() {
        config.insert("stopSequences".into(), json!(settings.stop_sequences));
    }
    match settings.seed.map(i32::try_from) {
        None => {}
        Some(Ok(seed)) => drop(config.insert("seed".into(), seed.into())),
        Some(Err(_)) => notes.unsupported("seed", "this API takes a seed of 32 bits"),
    }
    thinking(scope, &mut config, options, notes);
    for name in OF_GENERATION {
        if let Some(value) = options.remove(*name) {
            merge_field(&mut config, name, &value);
        }
    }
    if config.get("candidateCount").and_then(Value::as_u64).is_some_and(|count| count > 1) {
        notes.unsupported("candidateCount", "only the first answer is read");
    }
    Ok(config)
}

/// The effort by the model's own measure. What the options say in this measure is what holds.
fn thinking(scope: Scope<'_>, config: &mut JsonObject, options: &JsonObject, notes: &mut Notes) {
    let level = scope.request.settings.reasoning;
    let Some(name) = level.as_str() else { return };
    let given = options.get("thinkingConfig");
    if given.is_some_and(|given| given.get("thinkingLevel").or(given.get("thinkingBudget")).is_some()) {
        return notes.compatibility("reasoning", "the option `thinkingConfig` takes its place");
    }
    let field = match scope.model.thinking {
        Thinking::No => {
            if level != ReasoningEffort::None {
                notes.unsupported("reasoning", format!("{} does not think", scope.info.target.model));
            }
            return;
        }
        Thinking::Level { least } => {
            let word = match level {
                ReasoningEffort::None | ReasoningEffort::Minimal => least,
                ReasoningEffort::XHigh => "high",
                _ => name,
            };
            if word != name {
                notes.compatibility("reasoning", format!("`{name}` is sent as `{word}`"));
            }
            json!({ "thinkingLevel": word })
        }
        Thinking::Budget { least, most } => {
            let budget = level.budget(BUDGET_BASE, least, most).unwrap_or(least);
            if level == ReasoningEffort::None && budget > 0 {
                let model = &scope.info.target.model;
                notes.compatibility(
                    "reasoning",
                    format!("{model} always thinks: it gets {budget} tokens for it"),
                );
            }
            json!({ "thinkingBudget": budget })
        }
    };
    config.insert("thinkingConfig".into(), field);
}

/// Safety by the option `threshold`, the same for all categories.
pub(super) fn safety(options: &mut JsonObject) -> Option<Value> {
    let threshold = options.remove("threshold")?;
    let settings = HARMS.map(|category| json!({ "category": category, "threshold": threshold }));
    Some(Value::from(settings.to_vec()))
}
