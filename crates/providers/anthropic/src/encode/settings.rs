use ai_http::Notes;
use ai_provider::{JsonObject, ModelError};
use serde_json::{Number, Value, json};

use super::{Scope, invalid};

/// The most tokens one answer of the model can have, if that is known.
pub(super) fn most(scope: Scope<'_>) -> Option<u64> {
    scope.capabilities.max_output_tokens
}

/// The limit of the answer without thinking. The API wants one always.
pub(super) fn limit(scope: Scope<'_>, notes: &mut Notes) -> u64 {
    let settings = &scope.request.settings;
    for (setting, set) in [
        ("presencePenalty", settings.presence_penalty.is_some()),
        ("frequencyPenalty", settings.frequency_penalty.is_some()),
        ("seed", settings.seed.is_some()),
    ] {
        if set {
            notes.unsupported(setting, "this API has no such setting");
        }
    }
    settings.max_output_tokens.or(most(scope)).unwrap_or(scope.model.max_output)
}

/// Temperature, top-p and top-k, as far as the model takes them.
pub(super) fn sampling(
    scope: Scope<'_>,
    thinks: bool,
    head: &mut JsonObject,
    notes: &mut Notes,
) -> Result<(), ModelError> {
    let settings = &scope.request.settings;
    let refused = match () {
        () if !scope.model.samples => Some("this model does not take it"),
        () if thinks => Some("it cannot be set for a model that thinks"),
        () => None,
    };
    let temperature = number("temperature", settings.temperature)?;
    let top_p = number("topP", settings.top_p)?;
    for (setting, field, value) in [
        ("temperature", "temperature", temperature),
        ("topP", "top_p", top_p),
        ("topK", "top_k", settings.top_k.map(Number::from)),
    ] {
        let Some(mut value) = value else { continue };
        if let Some(why) = refused {
            notes.unsupported(setting, why);
            continue;
        }
        if field == "top_p" && head.contains_key("temperature") {
            notes.unsupported(setting, "it cannot be set together with the temperature");
            continue;
        }
        if field == "temperature"
            && let Some(clamped) = clamped(&value)
        {
            notes.compatibility(setting, format!("{value} is outside of 0 to 1: {clamped} is sent"));
            value = clamped;
        }
        head.insert(field.into(), Value::Number(value));
    }
    Ok(())
}

fn number(setting: &str, value: Option<f64>) -> Result<Option<Number>, ModelError> {
    let Some(value) = value else { return Ok(None) };
    match Number::from_f64(value) {
        Some(number) => Ok(Some(number)),
        None => Err(invalid(format!("{setting} is {value}, which is no number JSON can hold"))),
    }
}

/// The nearest temperature the API takes, if this is none.
fn clamped(value: &Number) -> Option<Number> {
    match value.as_f64()? {
        value if value < 0.0 => Some(0.into()),
        value if value > 1.0 => Some(1.into()),
        _ => None,
    }
}

pub(super) fn stop_sequences(scope: Scope<'_>, head: &mut JsonObject, notes: &mut Notes) {
    let all = &scope.request.settings.stop_sequences;
    let sent: Vec<_> = all.iter().filter(|text| !text.trim().is_empty()).collect();
    if sent.len() < all.len() {
        notes.unsupported("stopSequences", "this API takes none that are blank: they were left out");
    }
    if !sent.is_empty() {
        head.insert("stop_sequences".into(), json!(sent));
    }
}
