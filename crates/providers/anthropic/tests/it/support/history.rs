//! Histories, and the messages they become.

use ai_provider::{
    AssistantMessage, AssistantPart, Message, Request, TextPart, ToolCall, ToolOutput, ToolResult,
};
use serde_json::{Value, json};

use super::{MODEL, body, warned};

pub fn assistant(parts: impl IntoIterator<Item = AssistantPart>) -> Message {
    Message::Assistant(AssistantMessage { parts: parts.into_iter().collect(), ..AssistantMessage::default() })
}

pub fn said(text: &str) -> AssistantPart {
    AssistantPart::Text(TextPart::new(text))
}

pub fn call(id: &str, name: &str, input: &str) -> AssistantPart {
    AssistantPart::ToolCall(ToolCall::new(id, name, input))
}

pub fn result(id: &str, text: &str) -> ToolResult {
    ToolResult::new(id, "f", ToolOutput::Text(text.into()))
}

pub fn messages(history: impl IntoIterator<Item = Message>) -> Value {
    body(MODEL, &Request::new(history))["messages"].clone()
}

/// The messages, and what was warned of.
pub fn healed(history: impl IntoIterator<Item = Message>) -> (Value, Vec<String>) {
    let (body, warnings) = warned(MODEL, &Request::new(history));
    (body["messages"].clone(), warnings)
}

pub fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

pub fn tool_use(id: &str, input: Value) -> Value {
    json!({"type": "tool_use", "id": id, "name": "f", "input": input})
}

pub fn tool_result(id: &str, content: impl Into<Value>) -> Value {
    json!({"type": "tool_result", "tool_use_id": id, "content": content.into()})
}

pub fn turn(role: &str, content: impl IntoIterator<Item = Value>) -> Value {
    json!({"role": role, "content": content.into_iter().collect::<Vec<_>>()})
}
