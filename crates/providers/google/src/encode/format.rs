use ai_http::Notes;
use ai_provider::{JsonObject, ModelError, ResponseFormat, StructuredOutput};
use serde_json::Value;

use super::{Scope, invalid, schema};

/// The form of the answer: as fields of `generationConfig`, or in words for the model.
#[derive(Debug, Default)]
pub(super) struct Format {
    pub(super) config: JsonObject,
    pub(super) instruction: Option<String>,
}

const JSON_IN_WORDS: &str = "Answer with one JSON object and nothing else.";

/// `tools` says whether any are offered, `schemas` whether the caller wants schemas to be sent.
pub(super) fn response_format(
    scope: Scope<'_>,
    tools: bool,
    schemas: bool,
    notes: &mut Notes,
) -> Result<Format, ModelError> {
    let ResponseFormat::Json { schema, name, description } = &scope.request.response_format else {
        return Ok(Format::default());
    };
    let mut format = Format::default();
    let bound = scope.capabilities.structured_output != StructuredOutput::None;
    if !bound || (tools && !scope.model.third) {
        let why = if bound {
            "this model takes no bound answer beside tools"
        } else {
            "this model binds no answer"
        };
        notes.compatibility("responseFormat", format!("{why}: it is asked in words"));
        format.instruction = Some(match schema {
            Some(schema) => format!("{JSON_IN_WORDS} It follows this JSON Schema:\n{schema}"),
            None => JSON_IN_WORDS.to_owned(),
        });
        return Ok(format);
    }
    format.config.insert("responseMimeType".into(), "application/json".into());
    let Some(schema) = schema.as_ref().filter(|_| schemas) else { return Ok(format) };
    let mut schema = schema::of_answer(schema).map_err(|problem| invalid(problem.to_string()))?;
    if let Value::Object(schema) = &mut schema {
        for (key, value) in [("title", name), ("description", description)] {
            if let Some(value) = value.as_deref().filter(|value| !value.trim().is_empty()) {
                schema.entry(key).or_insert_with(|| value.into());
            }
        }
    }
    format.config.insert("responseSchema".into(), schema);
    Ok(format)
}
