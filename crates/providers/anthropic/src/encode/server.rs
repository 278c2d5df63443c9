//! Calls that ran at the provider, on their way back to it.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use ai_http::is_json_object;
use ai_provider::{
    AssistantPart, CustomPart, JsonObject, Message, ProviderMetadata, ToolCall, ToolOutput, ToolResult,
};
use serde_json::Value;
use serde_json::value::RawValue;

use super::Scope;
use super::betas::FALLBACKS;
use super::history::Writer;
use super::wire::{Block, Content};
use crate::metadata::{BLOCK, CALLER, FALLBACK, REDACTED, SERVER_NAME, SIGNATURE, WIRE_NAME, WIRE_TYPE};
use crate::server_tools;

/// Which calls have a result, and which were sent: the API wants both or none.
#[derive(Debug)]
pub(super) struct Server<'a> {
    answered: HashSet<&'a str>,
    sent: HashSet<&'a str>,
}

impl<'a> Server<'a> {
    pub(super) fn of(history: &'a [Arc<Message>]) -> Self {
        let parts = history.iter().filter_map(|message| match &**message {
            Message::Assistant(message) => Some(&message.parts),
            _ => None,
        });
        let answered = parts.flatten().filter_map(|part| match part {
            AssistantPart::ToolResult(result) => Some(result.tool_call_id.as_str()),
            _ => None,
        });
        Self { answered: answered.collect(), sent: HashSet::new() }
    }

    /// The call as it was made, if this target made it and there is a result of it, or may still be one: the turn
    /// was paused in it.
    pub(super) fn call(
        &mut self,
        scope: Scope<'a>,
        values: Option<&'a JsonObject>,
        call: &'a ToolCall,
        is_last: bool,
    ) -> Option<Block<'a>> {
        let values = values?;
        let kind = values.get(WIRE_TYPE)?.as_str()?;
        if !is_last && !self.answered.contains(call.id.as_str()) || !self.sent.insert(&call.id) {
            return None;
        }
        let name = values.get(WIRE_NAME).and_then(Value::as_str);
        let name = name.unwrap_or_else(|| scope.names.wire(&call.name));
        Some(Block::from(Content::Call {
            kind,
            id: Cow::Borrowed(&call.id),
            name: Cow::Borrowed(name),
            server_name: values.get(SERVER_NAME),
            input: unfolded(&call.input, name),
            caller: values.get(CALLER),
        }))
    }

    pub(super) fn result(&self, values: Option<&'a JsonObject>, result: &'a ToolResult) -> Option<Block<'a>> {
        let kind = values?.get(WIRE_TYPE)?.as_str()?;
        if !self.sent.contains(result.tool_call_id.as_str()) {
            return None;
        }
        let (content, failed) = match &result.output {
            ToolOutput::Json(content) => (content, false),
            ToolOutput::ErrorJson(content) => (content, true),
            _ => return None,
        };
        // Only results of MCP say by a field that they are errors.
        let is_error = failed && kind == "mcp_tool_result";
        Some(Block::from(Content::ServerResult { kind, id: &result.tool_call_id, content, is_error }))
    }
}

/// The input as it was on the wire, without the name of the inner tool.
fn unfolded<'a>(input: &'a str, wire_name: &str) -> Cow<'a, RawValue> {
    let Some((_, inner)) = server_tools::folded(wire_name) else { return raw(input) };
    let rest = input.trim_start().strip_prefix(&server_tools::inner_field(inner));
    let fields = rest.map(|rest| format!("{{{}", rest.strip_prefix(',').unwrap_or(rest)));
    match fields.map(RawValue::from_string) {
        Some(Ok(input)) => Cow::Owned(input),
        _ => raw(input),
    }
}

/// The input byte for byte, if it is an object, which is all the API takes back.
pub(super) fn raw(input: &str) -> Cow<'_, RawValue> {
    let object = is_json_object(input).then(|| serde_json::from_str::<&RawValue>(input).ok()).flatten();
    match object {
        Some(input) => Cow::Borrowed(input),
        None => Cow::Owned(serde_json::value::to_raw_value(&JsonObject::new()).unwrap_or_default()),
    }
}

impl<'a> Writer<'a, '_> {
    /// Thinking goes back to who signed it, and to no one else.
    pub(super) fn thought(
        &mut self,
        thinking: &'a str,
        metadata: Option<&'a ProviderMetadata>,
    ) -> Option<Block<'a>> {
        let values = metadata.and_then(|metadata| metadata.get(self.scope.provider()));
        let text = |name: &str| values?.get(name)?.as_str().filter(|text| !text.is_empty());
        let content = match (text(SIGNATURE), text(REDACTED)) {
            (Some(signature), _) => Content::Thinking { thinking, signature },
            (None, Some(data)) => Content::RedactedThinking(data),
            (None, None) => {
                self.notes.unsupported("reasoning", "reasoning without a signature of this API was left out");
                return None;
            }
        };
        if !metadata.is_some_and(|metadata| self.is_ours(metadata)) {
            self.notes.unsupported("reasoning", "reasoning of another model was left out of the history");
            return None;
        }
        Some(content.into())
    }

    /// What only this API understands.
    pub(super) fn custom(&mut self, part: &'a CustomPart, blocks: &mut Vec<Block<'a>>) {
        let block = self.ours(&part.metadata).and_then(|values| values.get(BLOCK));
        let Some(block) = block.filter(|block| block.is_object()) else {
            return self.notes.unsupported("messages", "parts of another provider were left out");
        };
        if block.get("type").is_some_and(|kind| kind == FALLBACK) {
            // What the model before thought is of no use to the one that took over.
            blocks.retain(|block| !block.is_thinking());
            self.scope.beta(FALLBACKS);
        }
        blocks.push(Content::Raw(block).into());
    }
}
