//! Spans by the OpenTelemetry conventions for generative AI, through `tracing` alone.
//!
//! | span | around | child of |
//! |---|---|---|
//! | `invoke_agent` | a run | the span that is current where the run is first polled |
//! | `chat` | a model call | `invoke_agent` |
//! | `execute_tool` | a call of a tool | `invoke_agent` |

use ai_provider::{
    Assembled, AssistantMessage, AssistantPart, Message, ModelError, Request, ResponseFormat, TargetId,
    ToolCall, ToolOutput, ToolPart, Usage, UserPart,
};
use serde_json::{Value, json};
use tracing::field::Empty;
use tracing::{Span, info_span};

use crate::run::{Outcome, ToolRecord, ToolStatus, brief};
use crate::tool_loop::RunEnd;

/// Whether what models and tools said goes into the spans.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Traced {
    pub(crate) content: bool,
}

/// Characters of content in one field. Exporters cut or refuse what is much longer.
const CONTENT_LENGTH: usize = 64 << 10;

impl Traced {
    pub(crate) fn agent(self, name: Option<&str>, target: &TargetId) -> Span {
        let span = info_span!(
            "invoke_agent",
            otel.name = Empty,
            otel.kind = "internal",
            otel.status_code = Empty,
            otel.status_description = Empty,
            gen_ai.operation.name = "invoke_agent",
            gen_ai.provider.name = target.provider,
            gen_ai.request.model = target.model,
            gen_ai.agent.name = name,
            gen_ai.usage.input_tokens = Empty,
            gen_ai.usage.output_tokens = Empty,
            gen_ai.output.messages = Empty,
            error.type = Empty,
            outcome = Empty,
        );
        if !span.is_disabled() {
            let name = name.map(|name| format!("invoke_agent {name}"));
            span.record("otel.name", name.as_deref().unwrap_or("invoke_agent"));
        }
        span
    }

    pub(crate) fn agent_ended(self, span: &Span, end: &RunEnd) {
        if span.is_disabled() {
            return;
        }
        usage(span, &end.usage);
        span.record("outcome", end.outcome.as_str());
        if let Outcome::Failed { error, .. } = &end.outcome {
            failed(span, error.class.as_str(), &error.to_string());
        }
        if self.content {
            content(span, "gen_ai.output.messages", end.new_messages.last().map(|message| of(message)));
        }
    }

    pub(crate) fn chat(self, target: &TargetId, request: &Request) -> Span {
        let settings = &request.settings;
        let span = info_span!(
            "chat",
            otel.name = Empty,
            otel.kind = "client",
            otel.status_code = Empty,
            otel.status_description = Empty,
            gen_ai.operation.name = "chat",
            gen_ai.provider.name = target.provider,
            gen_ai.request.model = target.model,
            gen_ai.request.max_tokens = settings.max_output_tokens,
            gen_ai.request.temperature = settings.temperature,
            gen_ai.request.top_p = settings.top_p,
            gen_ai.request.top_k = settings.top_k,
            gen_ai.request.presence_penalty = settings.presence_penalty,
            gen_ai.request.frequency_penalty = settings.frequency_penalty,
            gen_ai.request.seed = settings.seed,
            gen_ai.output.type = Empty,
            gen_ai.response.id = Empty,
            gen_ai.response.model = Empty,
            gen_ai.response.finish_reasons = Empty,
            gen_ai.usage.input_tokens = Empty,
            gen_ai.usage.output_tokens = Empty,
            gen_ai.usage.cache_read.input_tokens = Empty,
            gen_ai.usage.cache_creation.input_tokens = Empty,
            gen_ai.input.messages = Empty,
            gen_ai.output.messages = Empty,
            server.address = Empty,
            error.type = Empty,
        );
        if span.is_disabled() {
            return span;
        }
        span.record("otel.name", format!("chat {}", target.model));
        let text = request.response_format == ResponseFormat::Text;
        span.record("gen_ai.output.type", if text { "text" } else { "json" });
        if let Some(host) = host(&target.endpoint) {
            span.record("server.address", host);
        }
        if self.content {
            content(&span, "gen_ai.input.messages", request.messages.iter().map(|message| of(message)));
        }
        span
    }

    pub(crate) fn chat_ended(self, span: &Span, answer: &Assembled) {
        if span.is_disabled() {
            return;
        }
        for (field, value) in
            [("gen_ai.response.id", &answer.response.id), ("gen_ai.response.model", &answer.response.model)]
        {
            if let Some(value) = value {
                span.record(field, value);
            }
        }
        if let Some(finish) = &answer.finish {
            span.record("gen_ai.response.finish_reasons", format!("[\"{}\"]", finish.unified.as_str()));
        }
        usage(span, &answer.usage);
        for (field, count) in [
            ("gen_ai.usage.cache_read.input_tokens", answer.usage.input.cache_read),
            ("gen_ai.usage.cache_creation.input_tokens", answer.usage.input.cache_write),
        ] {
            if let Some(count) = count {
                span.record(field, count);
            }
        }
        if self.content {
            content(span, "gen_ai.output.messages", [assistant(&answer.message)]);
        }
    }

    pub(crate) fn chat_failed(self, span: &Span, error: &ModelError) {
        if !span.is_disabled() {
            failed(span, error.class().as_str(), &error.to_string());
        }
    }

    pub(crate) fn tool(self, call: &ToolCall) -> Span {
        let span = info_span!(
            "execute_tool",
            otel.name = Empty,
            otel.kind = "internal",
            otel.status_code = Empty,
            otel.status_description = Empty,
            gen_ai.operation.name = "execute_tool",
            gen_ai.tool.name = call.name,
            gen_ai.tool.call.id = call.id.as_str(),
            gen_ai.tool.type = "function",
            gen_ai.tool.call.arguments = Empty,
            gen_ai.tool.call.result = Empty,
            error.type = Empty,
        );
        if !span.is_disabled() {
            span.record("otel.name", format!("execute_tool {}", call.name));
            if self.content {
                span.record("gen_ai.tool.call.arguments", brief(&call.input, CONTENT_LENGTH));
            }
        }
        span
    }

    pub(crate) fn tool_ended(self, span: &Span, record: &ToolRecord) {
        if span.is_disabled() {
            return;
        }
        if record.status != ToolStatus::Ok {
            failed(span, record.status.as_str(), record.status.as_str());
        }
        if self.content {
            let text = output(&record.result.output).to_string();
            span.record("gen_ai.tool.call.result", brief(&text, CONTENT_LENGTH));
        }
    }
}

fn usage(span: &Span, usage: &Usage) {
    for (field, count) in
        [("gen_ai.usage.input_tokens", usage.input.total), ("gen_ai.usage.output_tokens", usage.output.total)]
    {
        if let Some(count) = count {
            span.record(field, count);
        }
    }
}

fn failed(span: &Span, class: &str, message: &str) {
    span.record("error.type", class);
    span.record("otel.status_code", "ERROR");
    span.record("otel.status_description", message);
}

/// The host of a URL.
fn host(endpoint: &str) -> Option<&str> {
    let (_, rest) = endpoint.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let host = authority.rsplit('@').next()?;
    let host = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next()?,
        None => host.split(':').next()?,
    };
    (!host.is_empty()).then_some(host)
}

fn content(span: &Span, field: &'static str, messages: impl IntoIterator<Item = Value>) {
    let text = Value::Array(messages.into_iter().collect()).to_string();
    span.record(field, brief(&text, CONTENT_LENGTH));
}

fn of(message: &Message) -> Value {
    match message {
        Message::System(message) => {
            json!({"role": "system", "parts": [{"type": "text", "content": message.text}]})
        }
        Message::User(message) => {
            let parts: Vec<_> = message
                .parts
                .iter()
                .map(|part| match part {
                    UserPart::Text(part) => json!({"type": "text", "content": part.text}),
                    UserPart::File(file) => json!({"type": "file", "mime_type": file.media_type}),
                    _ => json!({"type": "other"}),
                })
                .collect();
            json!({"role": "user", "parts": parts})
        }
        Message::Assistant(message) => assistant(message),
        Message::Tool(message) => {
            let results = message.parts.iter().filter_map(|part| match part {
                ToolPart::ToolResult(result) => Some(json!({
                    "type": "tool_call_response",
                    "id": result.tool_call_id,
                    "response": output(&result.output),
                })),
                _ => None,
            });
            json!({"role": "tool", "parts": results.collect::<Vec<_>>()})
        }
        _ => json!({"role": "other", "parts": []}),
    }
}

fn assistant(message: &AssistantMessage) -> Value {
    let parts = message.parts.iter().filter_map(|part| match part {
        AssistantPart::Text(part) => Some(json!({"type": "text", "content": part.text})),
        AssistantPart::Reasoning(part) => Some(json!({"type": "reasoning", "content": part.text})),
        AssistantPart::ToolCall(call) => Some(json!({
            "type": "tool_call",
            "id": call.id,
            "name": call.name,
            "arguments": call.input_json().unwrap_or_else(|_| Value::String(call.input.clone())),
        })),
        _ => None,
    });
    json!({"role": "assistant", "parts": parts.collect::<Vec<_>>()})
}

fn output(output: &ToolOutput) -> Value {
    match output {
        ToolOutput::Text(text) | ToolOutput::ErrorText(text) => Value::String(text.clone()),
        ToolOutput::Json(value) | ToolOutput::ErrorJson(value) => value.clone(),
        ToolOutput::ExecutionDenied { reason } => json!({"denied": reason}),
        _ => json!({"type": "content"}),
    }
}

#[cfg(test)]
mod tests;
