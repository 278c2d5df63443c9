//! The request each target gets.

use std::sync::Arc;

use ai_provider::{
    AssistantMessage, AssistantPart, Message, ReasoningEffort, Request, RequestId, Settings, ToolPart,
};

use crate::fallback::Fallback;

/// The caller's request as a fallback gets it.
pub(crate) fn for_fallback(request: &Request, fallback: &Fallback) -> Request {
    let mut request = request.clone();
    request.settings = over(&request.settings, &fallback.settings);
    request.options.merge(&fallback.options);
    request.extra_body.clone_from(&fallback.extra_body);
    request.extra_headers.clone_from(&fallback.extra_headers);
    request
}

/// The settings of a target over those of the caller, as far as it states its own.
fn over(callers: &Settings, own: &Settings) -> Settings {
    let mut settings = callers.clone();
    settings.max_output_tokens = own.max_output_tokens.or(settings.max_output_tokens);
    settings.temperature = own.temperature.or(settings.temperature);
    settings.top_p = own.top_p.or(settings.top_p);
    settings.top_k = own.top_k.or(settings.top_k);
    settings.presence_penalty = own.presence_penalty.or(settings.presence_penalty);
    settings.frequency_penalty = own.frequency_penalty.or(settings.frequency_penalty);
    settings.seed = own.seed.or(settings.seed);
    // How often the caller has the primary tried again is not said of this target.
    settings.max_retries = own.max_retries;
    if !own.stop_sequences.is_empty() {
        settings.stop_sequences.clone_from(&own.stop_sequences);
    }
    if own.reasoning != ReasoningEffort::ProviderDefault {
        settings.reasoning = own.reasoning;
    }
    settings
}

/// The request without anything opaque a provider minted: signatures, encrypted reasoning, ids of stored items. For a
/// server that refuses a history because of them.
pub(crate) fn without_opaque(request: &Request) -> Request {
    let mut request = request.clone();
    for message in &mut request.messages {
        let cleaned = match &**message {
            Message::Assistant(assistant) => Message::Assistant(AssistantMessage {
                parts: assistant.parts.iter().filter_map(cleaned).collect(),
                options: assistant.options.clone(),
            }),
            Message::Tool(tool) if tool.parts.iter().any(has_metadata) => {
                let mut tool = tool.clone();
                for part in &mut tool.parts {
                    if let ToolPart::ToolResult(result) = part {
                        result.metadata = None;
                    }
                }
                Message::Tool(tool)
            }
            _ => continue,
        };
        *message = Arc::new(cleaned);
    }
    request
}

fn has_metadata(part: &ToolPart) -> bool {
    matches!(part, ToolPart::ToolResult(result) if result.metadata.is_some())
}

fn cleaned(part: &AssistantPart) -> Option<AssistantPart> {
    let mut part = part.clone();
    match &mut part {
        // Reasoning is replayed by its signature alone, and the other two are opaque altogether.
        AssistantPart::Reasoning(_) | AssistantPart::ReasoningFile(_) | AssistantPart::Custom(_) => {
            return None;
        }
        AssistantPart::Text(text) => text.metadata = None,
        AssistantPart::File(file) => file.metadata = None,
        AssistantPart::ToolCall(call) => call.metadata = None,
        AssistantPart::ToolResult(result) => result.metadata = None,
        _ => {}
    }
    Some(part)
}

/// The id of a request: the caller's for the primary with its first key, and one of its own for each other body. The
/// same on every attempt with that body, since it may be an idempotency key.
pub(crate) fn id(base: &RequestId, target: usize, key: usize, first_key: usize, cleaned: bool) -> RequestId {
    let clean = if cleaned { "-clean" } else { "" };
    match (target, key) {
        (0, key) if key == first_key && !cleaned => base.clone(),
        (0, key) => format!("{base}-k{key}{clean}").into(),
        (target, key) => format!("{base}-t{target}k{key}{clean}").into(),
    }
}
