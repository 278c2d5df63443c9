use std::borrow::Cow;

use ai_http::Notes;
use ai_provider::{ResponseFormat, StructuredOutput};
use serde_json::{Value, json};

use super::Scope;
use crate::dialect::SchemaForm;

/// The form of the answer: as a field of the body, in words for the model, or both.
#[derive(Debug, Default)]
pub(super) struct Format {
    pub(super) wire: Option<Value>,
    pub(super) instruction: Option<String>,
}

const JSON_IN_WORDS: &str = "Answer with one JSON object and nothing else.";

pub(super) fn response_format(scope: Scope<'_>, notes: &mut Notes) -> Format {
    let ResponseFormat::Json { schema, name, description } = &scope.request.response_format else {
        return Format::default();
    };
    let dialect = scope.dialect;
    let supported = scope.capabilities.structured_output;
    let object = supported >= StructuredOutput::JsonObject && dialect.json_object;
    let Some(schema) = schema else {
        if !object {
            notes.compatibility("responseFormat", "this API takes no JSON without a schema: asked in words");
        }
        return Format {
            wire: object.then(|| json!({ "type": "json_object" })),
            instruction: (!object || dialect.json_in_words).then(|| JSON_IN_WORDS.to_owned()),
        };
    };
    if supported == StructuredOutput::JsonSchema {
        let wire = match dialect.schema {
            SchemaForm::Bare => json!({ "schema": schema }),
            SchemaForm::Full { strict } => {
                let name = name.as_deref().unwrap_or("response");
                let (schema, strict) = match strict.then(|| crate::strict::strict(schema)) {
                    Some(Ok(strict)) => (Cow::Owned(strict), true),
                    Some(Err(problem)) => {
                        notes.compatibility("responseFormat", format!("sent without `strict`: {problem}"));
                        (Cow::Borrowed(schema), false)
                    }
                    None => (Cow::Borrowed(schema), false),
                };
                let mut wire = json!({ "name": name, "schema": schema, "strict": strict });
                if let (Some(description), Value::Object(wire)) = (description, &mut wire) {
                    wire.insert("description".into(), description.as_str().into());
                }
                wire
            }
        };
        return Format {
            wire: Some(json!({ "type": "json_schema", "json_schema": wire })),
            instruction: None,
        };
    }
    notes.compatibility("responseFormat", "this API takes no schema: it is given in words");
    Format {
        wire: object.then(|| json!({ "type": "json_object" })),
        instruction: Some(format!("{JSON_IN_WORDS} It follows this JSON Schema:\n{schema}")),
    }
}
