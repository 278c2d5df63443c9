//! Whether a model can take a request at all.

use ai_provider::{
    AssistantPart, Capabilities, FileData, FilePart, MediaSupport, Message, ReasoningEffort, Request,
    ResponseFormat, StructuredOutput, ToolChoice, ToolContent, ToolOutput, ToolPart, UserPart,
};

/// Why not, if it cannot.
pub(crate) fn refusal(request: &Request, model: &Capabilities) -> Option<String> {
    if let Some(kind) = missing_media(request, model) {
        return Some(format!("it takes no {kind}"));
    }
    let wants_tools = !request.tools.is_empty() && request.tool_choice != ToolChoice::None;
    if wants_tools && !model.tools {
        return Some("it calls no tools".to_owned());
    }
    let wants_schema = matches!(&request.response_format, ResponseFormat::Json { schema: Some(_), .. });
    if wants_schema && model.structured_output == StructuredOutput::None {
        return Some("it holds to no schema".to_owned());
    }
    let effort = request.settings.reasoning;
    if !matches!(effort, ReasoningEffort::ProviderDefault | ReasoningEffort::None) && !model.reasoning {
        return Some("it does not reason".to_owned());
    }
    let (window, tokens) = (model.context_window?, estimated_tokens(request));
    (tokens > window).then(|| format!("its window of {window} tokens is too small for about {tokens}"))
}

fn missing_media(request: &Request, model: &Capabilities) -> Option<&'static str> {
    request.messages.iter().find_map(|message| match &**message {
        Message::User(message) => message.parts.iter().find_map(|part| match part {
            UserPart::File(file) => lacks(file, model.input),
            _ => None,
        }),
        Message::Tool(message) => message.parts.iter().find_map(|part| match part {
            ToolPart::ToolResult(result) => match &result.output {
                ToolOutput::Content(items) => items.iter().find_map(|item| match item {
                    ToolContent::File(file) => lacks(file, model.tool_result),
                    _ => None,
                }),
                _ => None,
            },
            _ => None,
        }),
        _ => None,
    })
}

/// The kind of file that is not accepted.
fn lacks(file: &FilePart, accepted: MediaSupport) -> Option<&'static str> {
    if matches!(file.data, FileData::Text { .. }) || accepted.accepts(&file.media_type) {
        return None;
    }
    Some(match file.media_type.split('/').next().unwrap_or_default().trim() {
        "image" => "images",
        "audio" => "sound",
        "video" => "video",
        _ if file.media_type.starts_with("application/pdf") => "PDF",
        _ => "files of this type",
    })
}

/// A low estimate, at four bytes of text a token: it keeps back only what surely does not fit. Files are not counted.
pub(crate) fn estimated_tokens(request: &Request) -> u64 {
    let bytes: usize = request.messages.iter().map(|message| text_bytes(message)).sum();
    u64::try_from(bytes / 4).unwrap_or(u64::MAX)
}

fn text_bytes(message: &Message) -> usize {
    match message {
        Message::System(message) => message.text.len(),
        Message::User(message) => message
            .parts
            .iter()
            .map(|part| match part {
                UserPart::Text(part) => part.text.len(),
                UserPart::File(FilePart { data: FileData::Text { text }, .. }) => text.len(),
                _ => 0,
            })
            .sum(),
        Message::Assistant(message) => message
            .parts
            .iter()
            .map(|part| match part {
                AssistantPart::Text(part) => part.text.len(),
                AssistantPart::ToolCall(call) => call.name.len() + call.input.len(),
                _ => 0,
            })
            .sum(),
        Message::Tool(message) => message
            .parts
            .iter()
            .map(|part| match part {
                ToolPart::ToolResult(result) => output_bytes(&result.output),
                _ => 0,
            })
            .sum(),
        _ => 0,
    }
}

fn output_bytes(output: &ToolOutput) -> usize {
    match output {
        ToolOutput::Text(text) | ToolOutput::ErrorText(text) => text.len(),
        ToolOutput::Content(items) => items
            .iter()
            .map(|item| match item {
                ToolContent::Text(part) => part.text.len(),
                _ => 0,
            })
            .sum(),
        _ => 0,
    }
}
