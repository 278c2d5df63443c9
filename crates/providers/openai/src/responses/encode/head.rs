use ai_http::{Notes, legal_tool_name};
use ai_provider::{
    Delivery, JsonObject, ModelError, ReasoningEffort, ResponseFormat, StructuredOutput, ToolDefinition,
};
use serde_json::{Value, json};

use super::{Scope, invalid, tools};
use crate::strict::strict;

/// Model, delivery and settings.
pub(super) fn settings(scope: Scope<'_>, notes: &mut Notes) -> Result<JsonObject, ModelError> {
    let Scope { dialect, request, info, .. } = scope;
    let settings = &request.settings;
    let mut head = JsonObject::new();
    head.insert("model".into(), scope.model().into());
    if info.delivery == Delivery::Stream {
        head.insert("stream".into(), true.into());
    }
    if let Some(limit) = settings.max_output_tokens {
        head.insert("max_output_tokens".into(), limit.into());
    }
    let reasons = dialect.models.is_reasoning(scope.model());
    let off = settings.reasoning == ReasoningEffort::None;
    let fixed =
        dialect.developer && reasons && !(off && dialect.models.samples_without_reasoning(scope.model()));
    for (setting, field, value, taken) in [
        ("temperature", "temperature", settings.temperature, true),
        ("topP", "top_p", settings.top_p, true),
        ("presencePenalty", "presence_penalty", settings.presence_penalty, dialect.penalties),
        ("frequencyPenalty", "frequency_penalty", settings.frequency_penalty, dialect.penalties),
    ] {
        let Some(value) = value else { continue };
        let Some(number) = serde_json::Number::from_f64(value) else {
            return Err(invalid(format!("{setting} is {value}, which is no number JSON can hold")));
        };
        match (taken, fixed) {
            (true, false) => drop(head.insert(field.into(), Value::Number(number))),
            (true, true) => notes.unsupported(setting, format!("{} does not take it", scope.model())),
            (false, _) => notes.unsupported(setting, "this API has no such setting"),
        }
    }
    for (setting, given) in [
        ("topK", settings.top_k.is_some()),
        ("seed", settings.seed.is_some()),
        ("stopSequences", !settings.stop_sequences.is_empty()),
    ] {
        if given {
            notes.unsupported(setting, "this API has no such setting");
        }
    }
    if let Some(reasoning) = effort(scope, notes) {
        head.insert("reasoning".into(), reasoning);
    }
    Ok(head)
}

fn effort(scope: Scope<'_>, notes: &mut Notes) -> Option<Value> {
    let Scope { dialect, request, .. } = scope;
    let level = request.settings.reasoning;
    let name = level.as_str()?;
    if !dialect.models.takes_effort(scope.model()) {
        notes.unsupported("reasoning", format!("{} takes no reasoning effort", scope.model()));
        return None;
    }
    let Some((_, word)) = dialect.effort_words.iter().find(|(known, _)| *known == level) else {
        notes.unsupported("reasoning", format!("this API has no effort like `{name}`"));
        return None;
    };
    if word != name {
        notes.compatibility("reasoning", format!("`{name}` is sent as `{word}`"));
    }
    Some(match &dialect.summary {
        Some(summary) if level != ReasoningEffort::None => json!({ "effort": word, "summary": summary }),
        _ => json!({ "effort": word }),
    })
}

/// The form of the answer: as a field of the body, or in words for the model.
#[derive(Debug, Default)]
pub(super) struct Format {
    pub(super) wire: Option<Value>,
    pub(super) instruction: Option<String>,
}

const JSON_IN_WORDS: &str = "Answer with one JSON object and nothing else.";

pub(super) fn format(scope: Scope<'_>, notes: &mut Notes) -> Format {
    let ResponseFormat::Json { schema, name, description } = &scope.request.response_format else {
        return Format::default();
    };
    let supported = scope.capabilities.structured_output;
    let Some(schema) = schema else {
        if supported >= StructuredOutput::JsonObject {
            return Format { wire: Some(json!({ "type": "json_object" })), instruction: None };
        }
        notes.compatibility(
            "responseFormat",
            "this server takes no response format: JSON is asked for in words",
        );
        return Format { wire: None, instruction: Some(JSON_IN_WORDS.to_owned()) };
    };
    if supported < StructuredOutput::JsonSchema {
        notes.compatibility("responseFormat", "this server takes no schema: it is given in words");
        return Format {
            wire: (supported == StructuredOutput::JsonObject).then(|| json!({ "type": "json_object" })),
            instruction: Some(format!("{JSON_IN_WORDS} It follows this JSON Schema:\n{schema}")),
        };
    }
    let (schema, held) = match strict(schema) {
        Ok(strict) => (strict, true),
        Err(problem) => {
            notes.compatibility("responseFormat", format!("sent without `strict`: {problem}"));
            (schema.clone(), false)
        }
    };
    let name = legal_tool_name(name.as_deref().unwrap_or("response"));
    let mut wire = json!({ "type": "json_schema", "name": name, "schema": schema, "strict": held });
    if let (Some(description), Value::Object(wire)) = (description, &mut wire) {
        wire.insert("description".into(), description.as_str().into());
    }
    Format { wire: Some(wire), instruction: None }
}

/// Asks for the output that the answer, or the next request, needs.
pub(super) fn include(scope: Scope<'_>, head: &mut JsonObject) {
    let Scope { dialect, request, .. } = scope;
    let unstored = head.get("store").and_then(Value::as_bool) == Some(false);
    let reasons = dialect.models.is_reasoning(scope.model());
    let runs = |names: &[&str]| {
        request.tools.iter().any(|tool| match tool {
            ToolDefinition::Provider(tool) => {
                tools::server_tool(scope, tool).is_some_and(|name| names.contains(&name))
            }
            _ => false,
        })
    };
    let logprobs = head.get("top_logprobs").and_then(Value::as_u64).is_some_and(|count| count > 0);
    let wanted = [
        ("reasoning.encrypted_content", unstored && reasons),
        ("web_search_call.action.sources", runs(&["web_search", "web_search_preview"])),
        ("code_interpreter_call.outputs", runs(&["code_interpreter"])),
        ("message.output_text.logprobs", logprobs),
    ];
    let mut list = match head.remove("include") {
        None => Vec::new(),
        Some(Value::Array(list)) => list,
        // Not a list: the server shall say what it thinks of it.
        Some(other) => {
            head.insert("include".into(), other);
            return;
        }
    };
    for (name, _) in wanted
        .into_iter()
        .filter(|(name, wanted)| *wanted && dialect.include.iter().any(|known| known == name))
    {
        if !list.iter().any(|known| known == name) {
            list.push(name.into());
        }
    }
    if !list.is_empty() {
        head.insert("include".into(), list.into());
    }
}

/// Whether a field of the settings is sent as it was set; one that is an object may have further fields.
pub(super) fn holds(head: &JsonObject, field: &str, set: &Value) -> bool {
    match (head.get(field), set) {
        // Its default is ours.
        (Some(Value::Object(sent)), Value::Object(set)) if field == "reasoning" => {
            sent.get("effort") == set.get("effort")
        }
        (Some(Value::Object(sent)), Value::Object(set)) if field == "text" => {
            set.iter().all(|(name, value)| sent.get(name) == Some(value))
        }
        (sent, set) => sent == Some(set),
    }
}

/// What goes out as it was asked for, though the server may not honour it.
pub(super) fn check(head: &JsonObject, notes: &mut Notes) {
    let given = |name: &str| head.get(name).is_some_and(|value| !value.is_null());
    if given("conversation") && given("previous_response_id") {
        notes.unsupported("conversation", "a conversation and a previous response exclude each other");
    }
    if head.get("background").and_then(Value::as_bool) == Some(true) {
        notes.unsupported("background", "an answer that is not there at once cannot be fetched later");
    }
}
