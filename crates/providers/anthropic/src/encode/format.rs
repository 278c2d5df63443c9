use ai_http::Notes;
use ai_http::schema::{ExtraKeys, Maps, SchemaProblem, SchemaRules, adapt};
use ai_provider::{FunctionTool, ModelError, ResponseFormat};
use serde_json::{Value, json};

use super::{Scope, unsupported};
use crate::json_tool;
use crate::models::{Model, Thinking};

/// What the API takes of JSON Schema where it holds the model to it.
const STRICT: SchemaRules = SchemaRules {
    recursion: false,
    extra_keys: ExtraKeys::Forbidden,
    maps: Maps::Refused,
    one_of: false,
    all_of: false,
    tuples: false,
    keywords: Some(&["default", "title"]),
    formats: Some(&[
        "date",
        "date-time",
        "duration",
        "email",
        "hostname",
        "ipv4",
        "ipv6",
        "time",
        "uri",
        "uuid",
    ]),
    ..SchemaRules::PLAIN
};

const JSON_IN_WORDS: &str = "Answer with one JSON object and nothing else.";

/// The form of the answer: as a setting, as a tool that is forced, or in words.
#[derive(Debug, Default)]
pub(super) struct Format {
    pub(super) wire: Option<Value>,
    pub(super) tool: Option<FunctionTool>,
    pub(super) instruction: Option<&'static str>,
}

/// The schema as the API holds a model to it.
pub(super) fn strict(schema: &Value) -> Result<Value, SchemaProblem> {
    adapt(schema, &STRICT)
}

/// Whether this schema can be said by the setting for it.
pub(crate) fn is_native(schema: &Value, model: &Model) -> bool {
    model.json_schema && strict(schema).is_ok()
}

pub(super) fn response_format(scope: Scope<'_>, notes: &mut Notes) -> Result<Format, ModelError> {
    let ResponseFormat::Json { schema, description, .. } = &scope.request.response_format else {
        return Ok(Format::default());
    };
    let Some(schema) = schema else {
        notes.compatibility("responseFormat", "this API takes no JSON without a schema: asked in words");
        return Ok(Format { instruction: Some(JSON_IN_WORDS), ..Format::default() });
    };
    let problem = match strict(schema) {
        Ok(mut schema) if scope.model.json_schema => {
            if let (Some(description), Value::Object(fields)) = (description, &mut schema) {
                fields.entry("description").or_insert_with(|| description.as_str().into());
            }
            let wire = json!({ "type": "json_schema", "schema": schema });
            return Ok(Format { wire: Some(wire), ..Format::default() });
        }
        Ok(_) => "this model takes no schema".to_owned(),
        Err(problem) => problem.to_string(),
    };
    if scope.model.thinking == Thinking::Always {
        // Such a model cannot be forced to call a tool.
        return Err(unsupported(problem));
    }
    notes.compatibility("responseFormat", format!("the answer comes by a tool that is forced: {problem}"));
    let words = description.as_deref().unwrap_or("Answer with a JSON object.");
    let tool = FunctionTool::new(json_tool::NAME, words, schema.clone());
    Ok(Format { tool: Some(tool), ..Format::default() })
}
