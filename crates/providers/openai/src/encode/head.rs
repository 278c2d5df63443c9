use ai_http::Notes;
use ai_provider::{Delivery, JsonObject, ModelError, ReasoningEffort};
use serde_json::{Value, json};

use super::{Scope, invalid};
use crate::dialect::EffortForm;

/// Model, delivery and settings, by the words of the dialect.
pub(super) fn settings(scope: Scope<'_>, notes: &mut Notes) -> Result<JsonObject, ModelError> {
    let Scope { dialect, request, info, .. } = scope;
    let settings = &request.settings;
    let mut head = JsonObject::new();
    head.insert("model".into(), scope.model().into());
    if info.delivery == Delivery::Stream {
        head.insert("stream".into(), true.into());
        if dialect.stream_options {
            head.insert("stream_options".into(), json!({ "include_usage": true }));
        }
    }
    if let Some(limit) = settings.max_output_tokens {
        let reasons = dialect.models.is_reasoning(scope.model());
        let field = if reasons { "max_completion_tokens" } else { &dialect.max_tokens };
        head.insert(field.into(), limit.into());
    }
    sampling(scope, &mut head, notes)?;
    if let Some(top_k) = settings.top_k {
        take(&mut head, notes, dialect.top_k, ("topK", "top_k"), top_k.into());
    }
    if !settings.stop_sequences.is_empty() {
        let stop = json!(settings.stop_sequences);
        take(&mut head, notes, dialect.stop, ("stopSequences", "stop"), stop);
    }
    if let Some(seed) = settings.seed {
        let field = dialect.seed.as_deref();
        take(&mut head, notes, field.is_some(), ("seed", field.unwrap_or_default()), seed.into());
    }
    if !settings.reasoning.is_default() {
        effort(scope, settings.reasoning, &mut head, notes);
    }
    Ok(head)
}

fn take(head: &mut JsonObject, notes: &mut Notes, taken: bool, names: (&str, &str), value: Value) {
    let (setting, field) = names;
    if taken {
        head.insert(field.into(), value);
    } else {
        notes.unsupported(setting, "this API has no such setting");
    }
}

fn sampling(scope: Scope<'_>, head: &mut JsonObject, notes: &mut Notes) -> Result<(), ModelError> {
    let Scope { dialect, request, .. } = scope;
    let (settings, models, model) = (&request.settings, &dialect.models, scope.model());
    let fixed = models.is_reasoning(model);
    let reasoning_off = settings.reasoning == ReasoningEffort::None;
    let no_core = fixed && !(reasoning_off && models.samples_without_reasoning(model));
    for (setting, field, value, taken, refused) in [
        (
            "temperature",
            "temperature",
            settings.temperature,
            true,
            no_core || models.refuses_temperature(model),
        ),
        ("topP", "top_p", settings.top_p, true, no_core),
        ("presencePenalty", "presence_penalty", settings.presence_penalty, dialect.presence_penalty, fixed),
        (
            "frequencyPenalty",
            "frequency_penalty",
            settings.frequency_penalty,
            dialect.frequency_penalty,
            fixed,
        ),
    ] {
        let Some(value) = value else { continue };
        let Some(number) = serde_json::Number::from_f64(value) else {
            return Err(invalid(format!("{setting} is {value}, which is no number JSON can hold")));
        };
        if taken && refused {
            notes.unsupported(setting, format!("{model} does not take it"));
        } else {
            take(head, notes, taken, (setting, field), Value::Number(number));
        }
    }
    Ok(())
}

fn effort(scope: Scope<'_>, level: ReasoningEffort, head: &mut JsonObject, notes: &mut Notes) {
    let Scope { dialect, request, .. } = scope;
    let Some(name) = level.as_str() else { return };
    if !dialect.models.takes_effort(scope.model()) {
        return notes.unsupported("reasoning", format!("{} takes no reasoning effort", scope.model()));
    }
    let word = dialect.effort_words.iter().find(|(known, _)| *known == level).map(|(_, word)| &**word);
    let on = level != ReasoningEffort::None;
    match (&dialect.effort, word) {
        (EffortForm::Absent, _) => notes.unsupported("reasoning", "this API has no reasoning effort"),
        (EffortForm::Budget { base, floor, maximum }, _) => {
            head.insert("enable_thinking".into(), on.into());
            let limit = request.settings.max_output_tokens.unwrap_or(*base);
            if let Some(budget) = level.budget(limit, *floor, *maximum) {
                head.insert("thinking_budget".into(), budget.into());
            }
        }
        (_, None) => notes.unsupported("reasoning", format!("this API has no effort like `{name}`")),
        (form, Some(word)) => {
            match form {
                EffortForm::Thinking => {
                    let state = if on { "enabled" } else { "disabled" };
                    head.insert("thinking".into(), json!({ "type": state }));
                    if on {
                        head.insert("reasoning_effort".into(), word.into());
                    }
                }
                EffortForm::Template => {
                    let args = if on {
                        json!({ "enable_thinking": true, "reasoning_effort": word })
                    } else {
                        json!({ "enable_thinking": false })
                    };
                    head.insert("chat_template_kwargs".into(), args);
                }
                EffortForm::Object => {
                    head.insert("reasoning".into(), json!({ "effort": word }));
                }
                _ => {
                    head.insert("reasoning_effort".into(), word.into());
                }
            }
            if word != name {
                notes.compatibility("reasoning", format!("`{name}` is sent as `{word}`"));
            }
        }
    }
}
