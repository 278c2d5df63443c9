//! Histories, and the messages they become.

use ai_provider::{
    AssistantMessage, AssistantPart, Message, Request, TextPart, ToolCall, ToolOutput, ToolResult,
};
use serde_json::{Value, json};

use super::{body, dialect, encoded};

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

pub fn messages(name: &str, history: impl IntoIterator<Item = Message>) -> Value {
    body(name, &Request::new(history))["messages"].clone()
}

/// The messages, and the features that were warned of.
pub fn healed(name: &str, history: impl IntoIterator<Item = Message>) -> (Value, Vec<String>) {
    let (body, warnings) = encoded(&dialect(name), "m", &Request::new(history)).unwrap();
    let body: Value = serde_json::from_str(&body).unwrap();
    (body["messages"].clone(), warnings.iter().map(ToString::to_string).collect())
}

pub fn wire_call(id: &str, name: &str, arguments: &str) -> Value {
    json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}})
}

pub fn wire_result(id: &str, text: &str) -> Value {
    json!({"role": "tool", "tool_call_id": id, "content": text})
}
