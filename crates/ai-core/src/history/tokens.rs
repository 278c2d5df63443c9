use std::sync::Arc;

use ai_provider::{
    AssistantPart, FileData, FilePart, Message, ToolContent, ToolOutput, ToolPart, ToolResult, Usage,
    UserPart,
};

/// Tokens of the frame around a message: its role, and what separates it from the next.
const FRAME: u64 = 4;
/// Tokens of an image: what the large APIs count for one that fills their tiles.
const IMAGE: u64 = 1_500;
/// Bytes of a document that is not text for one token: a page of a PDF is some 50 KB and 2,000 tokens.
const DOCUMENT: u64 = 25;

/// About how many tokens messages have, without asking any model: one for four ASCII characters, two for three
/// other ones, 1,500 for an image.
///
/// Good to about a third for prose and code. For a history that a model has answered, [`context_tokens`] is far
/// better.
pub fn estimate_tokens(messages: &[Arc<Message>]) -> u64 {
    messages.iter().map(|message| FRAME + of_message(message)).sum()
}

/// About how many tokens the next request has whose history this is, given what the last step took: what was read
/// and written then, and an estimate of what has come since (the messages behind the last one of the assistant).
///
/// Where the input was not reported, all of it is estimated, without the tools and instructions that are not part
/// of the history.
pub fn context_tokens(messages: &[Arc<Message>], last_step: Option<&Usage>) -> u64 {
    let assistant = messages.iter().rposition(|message| matches!(**message, Message::Assistant(_)));
    let reported = last_step
        .and_then(|usage| Some(usage.input.total?.saturating_add(usage.output.total.unwrap_or_default())));
    match (reported, assistant) {
        (Some(reported), Some(at)) => {
            let since = messages.get(at + 1..).unwrap_or_default();
            reported.saturating_add(estimate_tokens(since))
        }
        _ => estimate_tokens(messages),
    }
}

fn of_message(message: &Message) -> u64 {
    match message {
        Message::System(message) => of_text(&message.text),
        Message::User(message) => message
            .parts
            .iter()
            .map(|part| match part {
                UserPart::Text(part) => of_text(&part.text),
                UserPart::File(file) => of_file(file),
                _ => 0,
            })
            .sum(),
        Message::Assistant(message) => message.parts.iter().map(of_part).sum(),
        Message::Tool(message) => message
            .parts
            .iter()
            .map(|part| match part {
                ToolPart::ToolResult(result) => of_result(result),
                _ => FRAME,
            })
            .sum(),
        _ => 0,
    }
}

fn of_part(part: &AssistantPart) -> u64 {
    match part {
        AssistantPart::Text(part) => of_text(&part.text),
        AssistantPart::Reasoning(part) => of_text(&part.text),
        AssistantPart::File(file) | AssistantPart::ReasoningFile(file) => of_file(file),
        AssistantPart::ToolCall(call) => FRAME + of_text(&call.name) + of_text(&call.input),
        AssistantPart::ToolResult(result) => of_result(result),
        _ => FRAME,
    }
}

fn of_result(result: &ToolResult) -> u64 {
    let output = match &result.output {
        ToolOutput::Text(text) | ToolOutput::ErrorText(text) => of_text(text),
        ToolOutput::Json(value) | ToolOutput::ErrorJson(value) => of_text(&value.to_string()),
        ToolOutput::ExecutionDenied { reason } => reason.as_deref().map_or(FRAME, of_text),
        ToolOutput::Content(items) => items
            .iter()
            .map(|item| match item {
                ToolContent::Text(part) => of_text(&part.text),
                ToolContent::File(file) => of_file(file),
                _ => FRAME,
            })
            .sum(),
        _ => 0,
    };
    FRAME + output
}

fn of_file(file: &FilePart) -> u64 {
    match &file.data {
        FileData::Text { text } => of_text(text),
        FileData::Bytes { data } if !file.media_type.starts_with("image") => {
            (count(data.len()) / DOCUMENT).max(IMAGE)
        }
        _ => IMAGE,
    }
}

pub(super) fn of_text(text: &str) -> u64 {
    let ascii = text.bytes().filter(u8::is_ascii).count();
    let others = text.chars().filter(|c| !c.is_ascii()).count();
    // In twelfths of a token.
    (count(ascii) * 3 + count(others) * 8).div_ceil(12)
}

fn count(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}
