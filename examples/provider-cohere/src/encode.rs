use ai_http::{CallIds, CallInfo, Notes, Paired, Pairing, data_url, is_json_object, legal_tool_name};
use ai_http::{merge_field, options_of};
use ai_provider::{
    AssistantMessage, AssistantPart, Delivery, ErrorClass, FileData, FilePart, JsonObject, Message,
    ModelError, ReasoningEffort, Request, ResponseFormat, ToolChoice, ToolContent, ToolDefinition,
    ToolOutput, UserPart, Warning,
};
use serde::Serialize;
use serde_json::{Value, json};

/// The most a model thinks and says: what the share of a reasoning effort is taken of.
const MOST_TOKENS: u64 = 32_000;

/// The body of a call. The history stands last, so that each step begins with the bytes of the one before.
#[derive(Serialize)]
pub(crate) struct Body {
    #[serde(flatten)]
    head: JsonObject,
    messages: Value,
}

pub(crate) fn body(request: &Request, info: &CallInfo<'_>) -> Result<(Body, Vec<Warning>), ModelError> {
    let mut notes = Notes::default();
    let mut head = head(request, info)?;
    tools(request, &mut head, &mut notes)?;
    for (key, value) in options_of(&request.options, &["cohere"]).iter().chain(&request.extra_body) {
        merge_field(&mut head, key, value);
    }
    let messages = match head.remove("messages") {
        Some(given) => given,
        None => messages(request, info, &mut notes)?.into(),
    };
    Ok((Body { head, messages }, notes.into_warnings()))
}

fn head(request: &Request, info: &CallInfo<'_>) -> Result<JsonObject, ModelError> {
    let settings = &request.settings;
    let most = settings.max_output_tokens.unwrap_or(MOST_TOKENS);
    let budget = settings.reasoning.budget(most, 1_024, MOST_TOKENS);
    let thinking = match settings.reasoning {
        ReasoningEffort::None => Some(json!({"type": "disabled"})),
        _ => budget.map(|budget| json!({"type": "enabled", "token_budget": budget})),
    };
    let format = match &request.response_format {
        ResponseFormat::Text => None,
        ResponseFormat::Json { schema: None, .. } => Some(json!({"type": "json_object"})),
        ResponseFormat::Json { schema, .. } => Some(json!({"type": "json_object", "json_schema": schema})),
        other => return Err(unsupported(format!("Cohere has no response format like {other:?}"))),
    };
    let fields = [
        ("model", json!(info.target.model)),
        ("stream", json!(info.delivery == Delivery::Stream)),
        ("max_tokens", json!(settings.max_output_tokens)),
        ("temperature", json!(settings.temperature)),
        ("p", json!(settings.top_p)),
        ("k", json!(settings.top_k)),
        ("presence_penalty", json!(settings.presence_penalty)),
        ("frequency_penalty", json!(settings.frequency_penalty)),
        ("stop_sequences", json!(Some(&settings.stop_sequences).filter(|stop| !stop.is_empty()))),
        ("seed", json!(settings.seed)),
        ("thinking", json!(thinking)),
        ("response_format", json!(format)),
    ];
    Ok(fields
        .into_iter()
        .filter(|it| !it.1.is_null())
        .map(|(name, value)| (name.to_owned(), value))
        .collect())
}

/// The tools, and which are to be called. Cohere cannot name one: it is then the only one offered.
fn tools(request: &Request, head: &mut JsonObject, notes: &mut Notes) -> Result<(), ModelError> {
    let (word, only) = match &request.tool_choice {
        ToolChoice::Auto => (None, None),
        ToolChoice::None => (Some("NONE"), None),
        ToolChoice::Required => (Some("REQUIRED"), None),
        ToolChoice::Tool { name } => (Some("REQUIRED"), Some(name)),
        other => return Err(unsupported(format!("Cohere has no tool choice like {other:?}"))),
    };
    let mut tools = Vec::new();
    for tool in request.tools.iter().filter(|tool| only.is_none_or(|only| only == tool.name())) {
        let ToolDefinition::Function(tool) = tool else {
            notes.unsupported("tools", format!("Cohere runs no tool like `{}`", tool.name()));
            continue;
        };
        if tool.strict == Some(true) {
            head.insert("strict_tools".to_owned(), true.into());
        }
        let (name, description) = (&tool.name, &tool.description);
        let function = json!({"name": name, "description": description, "parameters": tool.input_schema});
        tools.push(json!({"type": "function", "function": function}));
    }
    if !tools.is_empty() {
        head.insert("tools".to_owned(), tools.into());
        head.extend(word.map(|word| ("tool_choice".to_owned(), word.into())));
    } else if word == Some("REQUIRED") {
        return Err(unsupported("a tool must be called, but none is there"));
    }
    Ok(())
}

fn messages(request: &Request, info: &CallInfo<'_>, notes: &mut Notes) -> Result<Vec<Value>, ModelError> {
    let pairing = Pairing::of(&request.messages, CallIds::Any, notes);
    let mut out = Vec::new();
    for (at, message) in request.messages.iter().enumerate() {
        match &**message {
            Message::System(said) => {
                out.extend(text(&said.text).map(|text| json!({"role": "system", "content": [text]})));
            }
            Message::User(user) => {
                let content = user.parts.iter().filter_map(|part| content(part).transpose());
                let content = content.collect::<Result<Vec<_>, _>>()?;
                out.extend((!content.is_empty()).then(|| json!({"role": "user", "content": content})));
            }
            Message::Assistant(said) => {
                let calls = pairing.of_message(at);
                out.extend(assistant(said, calls, info, notes));
                out.extend(calls.iter().map(|call| {
                    json!({"role": "tool", "tool_call_id": call.wire_id, "content": result(call, notes)})
                }));
            }
            // The results stand behind their calls.
            _ => {}
        }
    }
    Ok(out)
}

fn content(part: &UserPart) -> Result<Option<Value>, ModelError> {
    match part {
        UserPart::Text(part) => Ok(text(&part.text)),
        UserPart::File(FilePart { data: FileData::Text { text: file }, .. }) => Ok(text(file)),
        UserPart::File(FilePart { data: data @ FileData::Bytes { .. }, media_type, .. })
            if media_type.starts_with("image/") =>
        {
            Ok(Some(json!({"type": "image_url", "image_url": {"url": data_url(media_type, data)}})))
        }
        _ => Err(unsupported("Cohere takes text, and images whose bytes are at hand")),
    }
}

fn assistant(
    said: &AssistantMessage,
    calls: &[Paired<'_>],
    info: &CallInfo<'_>,
    notes: &mut Notes,
) -> Option<Value> {
    let origin = info.origin();
    let (mut message, mut content) = (JsonObject::new(), Vec::new());
    for part in &said.parts {
        match part {
            AssistantPart::Text(part) => content.extend(text(&part.text)),
            AssistantPart::Reasoning(part)
                if part.metadata.as_ref().is_some_and(|it| it.origin.as_ref() == Some(&origin)) =>
            {
                content.push(json!({"type": "thinking", "thinking": part.text}));
            }
            AssistantPart::ToolCall(call) if !call.provider_executed => {}
            _ => notes.unsupported("messages", "what Cohere did not say, or cannot hear again, was left out"),
        }
    }
    let calls = calls.iter().map(|paired| {
        let arguments = if is_json_object(&paired.call.input) { &paired.call.input } else { "{}" };
        let function = json!({"name": legal_tool_name(&paired.call.name), "arguments": arguments});
        json!({"id": paired.wire_id, "type": "function", "function": function})
    });
    for (name, items) in [("content", content), ("tool_calls", calls.collect())] {
        message.extend((!items.is_empty()).then(|| (name.to_owned(), items.into())));
    }
    let something = !message.is_empty();
    message.insert("role".to_owned(), "assistant".into());
    something.then_some(message.into())
}

fn result(paired: &Paired<'_>, notes: &mut Notes) -> String {
    let text = match paired.result.map(|result| &result.output) {
        None => "Error: the call was interrupted and has no result.".to_owned(),
        Some(ToolOutput::Text(text) | ToolOutput::ErrorText(text)) => text.clone(),
        Some(ToolOutput::Json(value) | ToolOutput::ErrorJson(value)) => value.to_string(),
        Some(ToolOutput::ExecutionDenied { reason }) => reason.as_deref().unwrap_or("not allowed").to_owned(),
        Some(ToolOutput::Content(items)) => {
            let texts = items.iter().map(|item| match item {
                ToolContent::Text(part) => part.text.as_str(),
                _ => "(a file was left out)",
            });
            notes.compatibility("messages", "Cohere takes a result in parts as one text, without files");
            texts.collect::<Vec<_>>().join("\n")
        }
        Some(_) => String::new(),
    };
    if text.trim().is_empty() { "(no output)".to_owned() } else { text }
}

/// A block of text, unless it is blank: servers refuse those.
fn text(text: &str) -> Option<Value> {
    (!text.trim().is_empty()).then(|| json!({"type": "text", "text": text}))
}

fn unsupported(message: impl Into<String>) -> ModelError {
    ModelError::new(ErrorClass::Unsupported, message)
}
