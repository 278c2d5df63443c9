use std::sync::Arc;

use ai_provider::{Message, ToolCall, ToolOutput, ToolPart, UserPart};
use serde_json::Value;

use super::plan::Outcome;

/// What belongs to the last question: its text, and what tools have given since.
#[derive(Debug, Default)]
pub(super) struct Turn {
    pub(super) question: String,
    pub(super) outcomes: Vec<Outcome>,
}

impl Turn {
    pub(super) fn read(messages: &[Arc<Message>]) -> Self {
        let mut turn = Self::default();
        let mut calls: Vec<&ToolCall> = Vec::new();
        for message in messages {
            match &**message {
                Message::User(user) => {
                    let texts = user.parts.iter().filter_map(|part| match part {
                        UserPart::Text(part) => Some(part.text.as_str()),
                        _ => None,
                    });
                    turn = Self { question: texts.collect::<Vec<_>>().join("\n"), outcomes: Vec::new() };
                }
                Message::Assistant(assistant) => calls.extend(assistant.tool_calls()),
                Message::Tool(results) => {
                    let results = results.parts.iter().filter_map(|part| match part {
                        ToolPart::ToolResult(result) => Some(result),
                        _ => None,
                    });
                    turn.outcomes.extend(results.map(|result| {
                        Outcome {
                            tool: result.tool_name.clone(),
                            input: calls
                                .iter()
                                .find(|call| call.id == result.tool_call_id)
                                .and_then(|call| call.input_json().ok())
                                .unwrap_or(Value::Null),
                            result: said(&result.output),
                        }
                    }));
                }
                _ => {}
            }
        }
        turn
    }
}

/// A result as text.
pub(super) fn said(output: &ToolOutput) -> Result<String, String> {
    match output {
        ToolOutput::Text(text) => Ok(text.clone()),
        ToolOutput::Json(value) => Ok(value.to_string()),
        ToolOutput::ErrorText(text) => Err(text.clone()),
        ToolOutput::ErrorJson(value) => Err(value.to_string()),
        ToolOutput::ExecutionDenied { reason } => Err(reason
            .as_ref()
            .map_or_else(|| "it was denied".to_owned(), |reason| format!("it was denied: {reason}"))),
        _ => Ok("something I cannot show".to_owned()),
    }
}
