//! Tools that run at Google: code execution, and the searches of newer models.

use ai_http::Parts;
use ai_provider::{
    ErrorClass, Id, JsonObject, ModelError, ProviderMetadata, StreamPart, ToolCall, ToolOutput, ToolResult,
};
use serde_json::Value;

use super::ids::AnswerIds;

/// The tool name of code the model runs.
const CODE_EXECUTION: &str = "code_execution";
/// The beginning of the tool names of other tools at Google; their type follows.
pub(crate) const SERVER: &str = "server:";

/// Calls of one answer that run at Google.
const MAX_CALLS: usize = 1_024;

/// Calls that ran at Google, with their results.
#[derive(Debug, Default)]
pub(super) struct ServerCalls {
    count: usize,
    /// Calls without a result yet: the server's id if it gave one, ours, and the tool.
    open: Vec<(Option<String>, Id, String)>,
}

impl ServerCalls {
    /// Reads a part by the field it came in.
    pub(super) fn take(
        &mut self,
        kind: &str,
        raw: &str,
        metadata: Box<ProviderMetadata>,
        ids: &mut AnswerIds,
        out: &mut Parts,
    ) -> Result<(), ModelError> {
        let mut value = object(raw)?;
        let given = take_id(&mut value);
        let mut field = |name: &str| value.get_mut(name).map(Value::take).filter(|value| !value.is_null());
        match kind {
            "executableCode" => self.begin(given, CODE_EXECUTION.to_owned(), value, Some(metadata), ids, out),
            "codeExecutionResult" => {
                let failed = value.get("outcome").is_some_and(|outcome| outcome != "OUTCOME_OK");
                let output = if failed { ToolOutput::ErrorJson(value) } else { ToolOutput::Json(value) };
                self.end(given, CODE_EXECUTION.to_owned(), output, metadata, ids, out)
            }
            "toolCall" => {
                let args = field("args").unwrap_or_else(|| Value::Object(JsonObject::new()));
                self.begin(given, tool_name(&value), args, Some(metadata), ids, out)
            }
            _ => {
                let output = ToolOutput::Json(field("response").unwrap_or_default());
                self.end(given, tool_name(&value), output, metadata, ids, out)
            }
        }
    }

    fn begin(
        &mut self,
        given: Option<String>,
        tool: String,
        input: Value,
        metadata: Option<Box<ProviderMetadata>>,
        ids: &mut AnswerIds,
        out: &mut Parts,
    ) -> Result<(), ModelError> {
        if self.count >= MAX_CALLS {
            let message = format!("the answer has more than {MAX_CALLS} calls of tools at the server");
            return Err(ModelError::new(ErrorClass::TooLarge, message));
        }
        let id = ids.call(given.as_deref());
        self.count += 1;
        out.push(StreamPart::ToolCall(Box::new(ToolCall {
            provider_executed: true,
            dynamic: tool.starts_with(SERVER),
            metadata,
            ..ToolCall::new(id.clone(), tool.clone(), input.to_string())
        })));
        self.open.push((given, id, tool));
        Ok(())
    }

    /// A result belongs to the open call of its id, else to the first of its tool. One without a call gets a
    /// call of its own, so that no result is lost.
    fn end(
        &mut self,
        given: Option<String>,
        tool: String,
        output: ToolOutput,
        metadata: Box<ProviderMetadata>,
        ids: &mut AnswerIds,
        out: &mut Parts,
    ) -> Result<(), ModelError> {
        let by_id = self.open.iter().position(|(id, ..)| given.is_some() && *id == given);
        let find = |open: &[(Option<String>, Id, String)]| {
            by_id.or_else(|| {
                open.iter().position(|(id, _, of)| *of == tool && (id.is_none() || given.is_none()))
            })
        };
        if find(&self.open).is_none() {
            self.begin(given.clone(), tool.clone(), Value::Object(JsonObject::new()), None, ids, out)?;
        }
        let at = find(&self.open).unwrap_or(self.open.len().saturating_sub(1));
        let Some((_, id, tool)) = (at < self.open.len()).then(|| self.open.remove(at)) else { return Ok(()) };
        out.push(StreamPart::ToolResult(Box::new(ToolResult {
            provider_executed: true,
            dynamic: tool.starts_with(SERVER),
            metadata: Some(metadata),
            ..ToolResult::new(id, tool, output)
        })));
        Ok(())
    }
}

fn tool_name(value: &Value) -> String {
    format!("{SERVER}{}", value.get("toolType").and_then(Value::as_str).unwrap_or("unknown"))
}

fn take_id(value: &mut Value) -> Option<String> {
    match value.as_object_mut()?.remove("id")? {
        Value::String(id) if !id.is_empty() => Some(id),
        _ => None,
    }
}

fn object(raw: &str) -> Result<Value, ModelError> {
    match serde_json::from_str(raw) {
        Ok(value @ Value::Object(_)) => Ok(value),
        _ => Err(ModelError::new(ErrorClass::Protocol, "a call of a tool at the server is no object")),
    }
}
