//! Messages of a user interface as messages for a model, and back.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use ai_provider::{
    AssistantMessage, AssistantPart, CustomPart, FileData, FilePart, Message, ProviderOptions, ReasoningPart,
    SystemMessage, TextPart, ToolCall, ToolMessage, ToolOutput, ToolPart, ToolResult, UserMessage, UserPart,
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::content::{shown, url};
use super::message::{UiBlockState, UiMessage, UiPart, UiRole, UiToolPart, UiToolState};
use super::settings::UiSettings;
use super::user_part::UiUserPart;

type Metadata = Option<Box<ProviderOptions>>;

/// Turns messages of a user interface into a history for a model. Each step becomes an answer and the results of its
/// calls; what the user said in the middle stands between them.
///
/// What comes out is complete for any model: calls without a result are left out, whether their input is half, they
/// wait for a person, or their result is preliminary. So are sources and data. The messages are the client's word:
/// a server that keeps its own history does well to take the last message alone.
///
/// # Errors
/// If a file is a data URL that is not base64.
pub fn to_model_messages(messages: &[UiMessage]) -> Result<Vec<Message>, UiConvertError> {
    let mut history = Vec::new();
    for message in messages {
        match message.role {
            UiRole::System => {
                let texts = message.parts.iter().filter_map(|part| match part {
                    UiPart::Text { text, .. } => Some(text.as_str()),
                    _ => None,
                });
                history.push(Message::System(SystemMessage {
                    text: texts.collect(),
                    ..SystemMessage::default()
                }));
            }
            UiRole::User => {
                let parts = message.parts.iter().filter_map(user_part).collect::<Result<_, _>>()?;
                history.push(Message::User(UserMessage { parts, ..UserMessage::default() }));
            }
            UiRole::Assistant => assistant(&message.parts, &|_| None, &mut history)?,
        }
    }
    Ok(history)
}

/// Turns a history into messages of a user interface: an answer, its calls and their results into one message, with
/// a step for each answer of the model. `new_id` names the messages.
///
/// Nothing that is not for a browser goes out: no metadata of providers, and for errors of tools of this side one
/// fixed sentence.
pub fn to_ui_messages(history: &[Arc<Message>], new_id: impl FnMut() -> String) -> Vec<UiMessage> {
    to_ui_messages_with(history, new_id, |_| None)
}

/// Does the same for a history in which the user speaks in the middle of an answer: `steer` names the message of the
/// user at such a place of the history. It becomes a part of the answer's message, where clients that watched the answer
/// have it, and is no message of its own.
pub fn to_ui_messages_with(
    history: &[Arc<Message>],
    mut new_id: impl FnMut() -> String,
    mut steer: impl FnMut(usize) -> Option<String>,
) -> Vec<UiMessage> {
    let mut messages: Vec<UiMessage> = Vec::new();
    for (at, message) in history.iter().enumerate() {
        match &**message {
            Message::System(system) => {
                let mut message = UiMessage::new(new_id(), UiRole::System);
                message.parts.push(text(&system.text, None));
                messages.push(message);
            }
            Message::User(user) => match steer(at) {
                Some(id) => {
                    let parts = UiUserPart::of(user);
                    let Some(message) = answer_under_way(&mut messages, &mut new_id) else { continue };
                    message.parts.push(UiPart::SteeringMessage { id, parts });
                }
                None => {
                    let mut message = UiMessage::new(new_id(), UiRole::User);
                    message.parts = user.parts.iter().filter_map(shown_user_part).collect();
                    messages.push(message);
                }
            },
            Message::Assistant(answer) => {
                let Some(message) = answer_under_way(&mut messages, &mut new_id) else { continue };
                message.parts.push(UiPart::StepStart);
                for part in &answer.parts {
                    shown_part(part, &mut message.parts);
                }
            }
            Message::Tool(tool) => {
                let Some(message) = messages.last_mut() else { continue };
                for part in &tool.parts {
                    if let ToolPart::ToolResult(result) = part {
                        shown_result(result, &mut message.parts);
                    }
                }
            }
            _ => {}
        }
    }
    messages
}

/// The last message, if it is the assistant's, or else a new one.
fn answer_under_way(
    messages: &mut Vec<UiMessage>,
    new_id: impl FnOnce() -> String,
) -> Option<&mut UiMessage> {
    if messages.last().is_none_or(|last| last.role != UiRole::Assistant) {
        messages.push(UiMessage::new(new_id(), UiRole::Assistant));
    }
    messages.last_mut()
}

/// The history that the parts of one message of the assistant make. `open` says what stands in the place of a result that
/// is not there; a call for which it says nothing is left out.
pub(crate) fn assistant(
    parts: &[UiPart],
    open: &dyn Fn(&UiToolPart) -> Option<ToolOutput>,
    history: &mut Vec<Message>,
) -> Result<(), UiConvertError> {
    for block in parts.split_inclusive(|part| matches!(part, UiPart::SteeringMessage { .. })) {
        for step in block.split(|part| *part == UiPart::StepStart) {
            answer(step, open, history)?;
        }
        if let Some(UiPart::SteeringMessage { parts, .. }) = block.last() {
            let parts = parts.iter().map(said).collect::<Result<_, _>>()?;
            history.push(Message::User(UserMessage { parts, ..UserMessage::default() }));
        }
    }
    Ok(())
}

/// One answer of the model, and the results of its calls.
fn answer(
    step: &[UiPart],
    open: &dyn Fn(&UiToolPart) -> Option<ToolOutput>,
    history: &mut Vec<Message>,
) -> Result<(), UiConvertError> {
    let (mut parts, mut results) = (Vec::new(), Vec::new());
    for part in step {
        match part {
            UiPart::Text { text, provider_metadata, .. } => {
                let options = options(provider_metadata);
                parts.push(AssistantPart::Text(TextPart { options, ..TextPart::new(text) }));
            }
            UiPart::Reasoning { text, provider_metadata, .. } => {
                let options = options(provider_metadata);
                parts.push(AssistantPart::Reasoning(ReasoningPart { options, ..ReasoningPart::new(text) }));
            }
            UiPart::File { media_type, url, filename, provider_metadata } => {
                parts.push(AssistantPart::File(file(media_type, url, filename, provider_metadata)?));
            }
            UiPart::ReasoningFile { media_type, url, provider_metadata } => {
                parts.push(AssistantPart::ReasoningFile(file(media_type, url, &None, provider_metadata)?));
            }
            UiPart::Custom { kind, provider_metadata } => parts.push(AssistantPart::Custom(CustomPart {
                kind: kind.clone(),
                options: options(provider_metadata),
                metadata: None,
            })),
            UiPart::Tool(tool) => {
                let Some(result) = result(tool, open) else { continue };
                parts.push(AssistantPart::ToolCall(call(tool)));
                if result.provider_executed {
                    parts.push(AssistantPart::ToolResult(result));
                } else {
                    results.push(ToolPart::ToolResult(result));
                }
            }
            _ => {}
        }
    }
    if !parts.is_empty() {
        history.push(Message::Assistant(AssistantMessage { parts, ..AssistantMessage::default() }));
    }
    if !results.is_empty() {
        history.push(Message::Tool(ToolMessage { parts: results, ..ToolMessage::default() }));
    }
    Ok(())
}

fn call(tool: &UiToolPart) -> ToolCall {
    let input = match tool.input.as_ref().or(tool.raw_input.as_ref()) {
        // Input that was no JSON stands there as its text.
        Some(Value::String(text)) if tool.state == UiToolState::OutputError => text.clone(),
        Some(input) => input.to_string(),
        None => String::new(),
    };
    ToolCall {
        provider_executed: tool.provider_executed == Some(true),
        dynamic: tool.dynamic,
        ..ToolCall::new(tool.tool_call_id.clone(), &tool.tool_name, input)
    }
}

fn result(tool: &UiToolPart, open: &dyn Fn(&UiToolPart) -> Option<ToolOutput>) -> Option<ToolResult> {
    let reason = || tool.approval.as_ref().and_then(|approval| approval.reason.clone());
    let denied = tool.approval.as_ref().is_some_and(|approval| approval.approved == Some(false));
    let output = match tool.state {
        UiToolState::OutputAvailable if tool.preliminary != Some(true) => {
            ToolOutput::from_json(tool.output.clone().unwrap_or_default())
        }
        UiToolState::OutputError => ToolOutput::ErrorText(tool.error_text.clone().unwrap_or_default()),
        UiToolState::OutputDenied => ToolOutput::ExecutionDenied { reason: reason() },
        UiToolState::ApprovalResponded if denied => ToolOutput::ExecutionDenied { reason: reason() },
        _ => open(tool)?,
    };
    Some(ToolResult {
        provider_executed: tool.provider_executed == Some(true),
        dynamic: tool.dynamic,
        ..ToolResult::new(tool.tool_call_id.clone(), &tool.tool_name, output)
    })
}

fn user_part(part: &UiPart) -> Option<Result<UserPart, UiConvertError>> {
    match part {
        UiPart::Text { text, provider_metadata, .. } => {
            Some(Ok(UserPart::Text(TextPart { options: options(provider_metadata), ..TextPart::new(text) })))
        }
        UiPart::File { media_type, url, filename, provider_metadata } => {
            Some(file(media_type, url, filename, provider_metadata).map(UserPart::File))
        }
        _ => None,
    }
}

fn said(part: &UiUserPart) -> Result<UserPart, UiConvertError> {
    Ok(match part {
        UiUserPart::Text { text, provider_metadata } => {
            UserPart::Text(TextPart { options: options(provider_metadata), ..TextPart::new(text) })
        }
        UiUserPart::File {
            media_type, filename, provider_reference: Some(ids), provider_metadata, ..
        } => {
            let data = FileData::Reference { ids: ids.clone() };
            let (filename, options) = (filename.clone(), options(provider_metadata));
            UserPart::File(FilePart { filename, options, ..FilePart::new(media_type, data) })
        }
        UiUserPart::File { media_type, url, filename, provider_metadata, .. } => {
            UserPart::File(file(media_type, url, filename, provider_metadata)?)
        }
    })
}

fn file(
    media_type: &str,
    url: &str,
    filename: &Option<String>,
    metadata: &Metadata,
) -> Result<FilePart, UiConvertError> {
    let data = match url.get(..5) {
        Some(scheme) if scheme.eq_ignore_ascii_case("data:") => {
            let content =
                url.split_once(',').filter(|(head, _)| head.to_ascii_lowercase().ends_with(";base64"));
            let bytes = content
                .and_then(|(_, data)| FileData::deserialize(json!({ "type": "bytes", "data": data })).ok());
            bytes.ok_or(UiConvertError::BadDataUrl)?
        }
        _ => FileData::Url { url: url.to_owned() },
    };
    let (filename, options) = (filename.clone(), options(metadata));
    Ok(FilePart { filename, options, ..FilePart::new(media_type, data) })
}

fn options(metadata: &Metadata) -> ProviderOptions {
    metadata.as_deref().cloned().unwrap_or_default()
}

fn text(text: &str, state: Option<UiBlockState>) -> UiPart {
    UiPart::Text { text: text.to_owned(), state, citations: None, provider_metadata: None }
}

fn shown_user_part(part: &UserPart) -> Option<UiPart> {
    match part {
        UserPart::Text(part) => Some(text(&part.text, None)),
        UserPart::File(part) => shown_file(part),
        _ => None,
    }
}

fn shown_file(file: &FilePart) -> Option<UiPart> {
    let (media_type, filename) = (file.media_type.clone(), file.filename.clone());
    Some(UiPart::File { media_type, url: url(file)?, filename, provider_metadata: None })
}

fn shown_part(part: &AssistantPart, parts: &mut Vec<UiPart>) {
    let done = Some(UiBlockState::Done);
    match part {
        AssistantPart::Text(part) => parts.push(text(&part.text, done)),
        AssistantPart::Reasoning(part) => {
            let text = part.text.clone();
            parts.push(UiPart::Reasoning { id: None, text, state: done, provider_metadata: None });
        }
        AssistantPart::File(part) => parts.extend(shown_file(part)),
        AssistantPart::ReasoningFile(part) => parts.extend(url(part).map(|url| UiPart::ReasoningFile {
            media_type: part.media_type.clone(),
            url,
            provider_metadata: None,
        })),
        AssistantPart::Custom(part) => {
            parts.push(UiPart::Custom { kind: part.kind.clone(), provider_metadata: None });
        }
        AssistantPart::ToolCall(call) => {
            let mut tool = UiToolPart::new(&call.name, call.id.clone());
            tool.dynamic = call.dynamic;
            tool.provider_executed = call.provider_executed.then_some(true);
            tool.state = UiToolState::InputAvailable;
            tool.input = Some(call.input_json().unwrap_or_else(|_| Value::String(call.input.clone())));
            parts.push(UiPart::Tool(Box::new(tool)));
        }
        AssistantPart::ToolResult(result) => shown_result(result, parts),
        _ => {}
    }
}

fn shown_result(result: &ToolResult, parts: &mut [UiPart]) {
    let of_call =
        |part: &&mut UiPart| matches!(part, UiPart::Tool(tool) if tool.tool_call_id == result.tool_call_id);
    let Some(UiPart::Tool(tool)) = parts.iter_mut().rev().find(of_call) else { return };
    match &result.output {
        ToolOutput::ExecutionDenied { .. } => tool.state = UiToolState::OutputDenied,
        output if output.is_error() => {
            tool.state = UiToolState::OutputError;
            tool.error_text = Some(UiSettings::default().tool_error_text(result));
        }
        output => {
            tool.state = UiToolState::OutputAvailable;
            tool.output = Some(shown(output.clone()));
        }
    }
}

/// Why messages cannot be turned into a history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum UiConvertError {
    /// A file is a data URL, but its content is not base64.
    BadDataUrl,
}

impl fmt::Display for UiConvertError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BadDataUrl => f.write_str("a file is a data URL whose content is not base64"),
        }
    }
}

impl Error for UiConvertError {}

#[cfg(test)]
mod tests;
