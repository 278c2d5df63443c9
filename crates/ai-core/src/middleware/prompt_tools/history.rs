use std::sync::Arc;

use ai_provider::{
    AssistantMessage, AssistantPart, Message, TextPart, ToolContent, ToolMessage, ToolOutput, ToolPart,
    ToolResult, UserMessage, UserPart,
};

use super::ToolFormat;

/// The history as a model reads it that knows no tools: calls are text of the assistant, results come from the
/// user. Messages without either are shared with the original.
pub(super) fn rewrite(format: &dyn ToolFormat, messages: &[Arc<Message>]) -> Vec<Arc<Message>> {
    let mut written = Vec::with_capacity(messages.len());
    for message in messages {
        match &**message {
            Message::Assistant(assistant) if assistant.tool_calls().any(|call| !call.provider_executed) => {
                written.push(Arc::new(Message::Assistant(calls(format, assistant))));
            }
            Message::Tool(tool) => {
                let (results, others): (Vec<_>, Vec<_>) =
                    tool.parts.iter().partition(|part| matches!(part, ToolPart::ToolResult(_)));
                let results = results.into_iter().filter_map(|part| match part {
                    ToolPart::ToolResult(result) => Some(result),
                    _ => None,
                });
                let parts = user_parts(format, results);
                if !parts.is_empty() {
                    let options = tool.options.clone();
                    written.push(Arc::new(Message::User(UserMessage { parts, options })));
                }
                if !others.is_empty() {
                    let parts = others.into_iter().cloned().collect();
                    written
                        .push(Arc::new(Message::Tool(ToolMessage { parts, options: tool.options.clone() })));
                }
            }
            _ => written.push(Arc::clone(message)),
        }
    }
    written
}

fn calls(format: &dyn ToolFormat, message: &AssistantMessage) -> AssistantMessage {
    let mut parts: Vec<AssistantPart> = Vec::with_capacity(message.parts.len());
    for part in &message.parts {
        match part {
            AssistantPart::ToolCall(call) if !call.provider_executed => {
                let text = format.call(call);
                match parts.last_mut() {
                    // One text, as the model wrote it: some servers join texts without anything between them.
                    Some(AssistantPart::Text(before)) => {
                        if !before.text.ends_with('\n') {
                            before.text.push('\n');
                        }
                        before.text.push_str(&text);
                    }
                    _ => parts.push(AssistantPart::Text(TextPart::new(text))),
                }
            }
            AssistantPart::Text(after) => match parts.last_mut() {
                Some(AssistantPart::Text(before)) if after.metadata.is_none() => {
                    before.text.push('\n');
                    before.text.push_str(&after.text);
                }
                _ => parts.push(part.clone()),
            },
            other => parts.push(other.clone()),
        }
    }
    AssistantMessage { parts, options: message.options.clone() }
}

fn user_parts<'a>(format: &dyn ToolFormat, results: impl Iterator<Item = &'a ToolResult>) -> Vec<UserPart> {
    let mut texts = Vec::new();
    let mut files = Vec::new();
    for result in results {
        texts.push(format.result(result));
        if let ToolOutput::Content(items) = &result.output {
            let of_result = items.iter().filter_map(|item| match item {
                ToolContent::File(file) => Some(UserPart::File(file.clone())),
                _ => None,
            });
            files.extend(of_result);
        }
    }
    if texts.is_empty() {
        return files;
    }
    let mut parts = vec![UserPart::Text(TextPart::new(texts.join("\n\n")))];
    parts.append(&mut files);
    parts
}
