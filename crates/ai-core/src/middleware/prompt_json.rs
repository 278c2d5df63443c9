use ai_provider::{Capabilities, ModelError, Request, ResponseFormat, StructuredOutput};
use async_trait::async_trait;

use super::text::instruct;
use super::{Middleware, MiddlewareCall};

/// Asks in words for JSON of a schema, for models that can be held to none: the schema moves from the response
/// format into the instructions.
///
/// Where the model can be held to JSON of any shape it still is. What it writes may not fit all the same.
#[derive(Clone, Copy, Debug, Default)]
pub struct PromptJson;

#[async_trait]
impl Middleware for PromptJson {
    fn name(&self) -> &str {
        "prompt-json"
    }

    fn capabilities(&self, inner: &Capabilities) -> Option<Capabilities> {
        let mut capabilities = inner.clone();
        capabilities.structured_output = StructuredOutput::JsonSchema;
        Some(capabilities)
    }

    async fn transform_request(
        &self,
        mut request: Request,
        call: &MiddlewareCall<'_>,
    ) -> Result<Request, ModelError> {
        let ResponseFormat::Json { schema, name, description } = &request.response_format else {
            return Ok(request);
        };
        let mut prompt =
            "Answer with one JSON object and nothing else: no words around it, no fences.".to_owned();
        if let Some(schema) = schema {
            prompt.push_str(&format!("\n\nIt fits this JSON Schema:\n{schema}"));
        }
        if let Some(description) = description {
            let name = name.as_deref().unwrap_or("The object");
            prompt.push_str(&format!("\n\n{name}: {description}"));
        }
        instruct(&mut request.messages, prompt);
        request.response_format = match call.capabilities.structured_output {
            StructuredOutput::None => ResponseFormat::Text,
            _ => ResponseFormat::Json { schema: None, name: None, description: None },
        };
        Ok(request)
    }
}
