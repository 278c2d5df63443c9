use ai_http::Notes;
use ai_provider::{JsonObject, ModelError, ReasoningEffort};
use serde_json::{Value, json};

use super::{Scope, invalid};
use crate::models::Thinking;

/// A share of this is the budget for an effort: the most that a thinking model writes.
const BUDGET_BASE: u64 = 65_536;

/// The neutral settings as `generationConfig`, under what the format of the answer needs.
pub(super) fn generation(
    scope: Scope<'_>,
    mut config: JsonObject,
    over: &JsonObject,
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
    thinking(scope, &mut config, over, notes);
    Ok(config)
}

/// The effort by the model's own measure. What the caller says in this measure is what holds.
fn thinking(scope: Scope<'_>, config: &mut JsonObject, over: &JsonObject, notes: &mut Notes) {
    let level = scope.request.settings.reasoning;
    let Some(name) = level.as_str() else { return };
    let given = over.get("generationConfig").and_then(|config| config.get("thinkingConfig"));
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
