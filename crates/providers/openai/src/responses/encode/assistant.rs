//! What the model said, as the items it was.

use std::borrow::Cow;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

use ai_http::{Paired, is_json_object, legal_tool_name};
use ai_provider::{
    AssistantMessage, AssistantPart, JsonObject, ProviderMetadata, ReasoningPart, TextPart, ToolCall,
    ToolOutput, ToolResult,
};
use serde_json::Value;

use super::input::{Kept, Writer, metadata_of};
use super::wire::{Item, ReasoningText, Said};
use crate::responses::minted::{self, CONTENT, ENCRYPTED, FORM, ITEM, ITEM_ID, NAMESPACE, PHASE, STORED};

/// One message on its way out.
#[derive(Debug, Default)]
struct Message<'a> {
    /// Reasoning that waits for the item it belongs to: the API refuses it alone.
    reasoning: Vec<Thought<'a>>,
    /// Items that are referred to already, and what they are: several parts may be of one.
    referred: HashMap<&'a str, What>,
    /// Reasoning was left out: what follows it can no longer be referred to.
    broken: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Reasoning,
    Text,
    Call,
    Other,
}

/// A reasoning item, put together from its parts.
#[derive(Debug)]
struct Thought<'a> {
    id: &'a str,
    stored: bool,
    encrypted: Option<&'a str>,
    summary: Vec<&'a str>,
    content: Vec<&'a str>,
}

impl<'a> Writer<'a, '_> {
    pub(super) fn assistant(&mut self, message: &'a AssistantMessage, calls: &[Paired<'a>]) {
        let mut state = Message::default();
        let mut nth = 0;
        for part in &message.parts {
            match part {
                AssistantPart::Reasoning(part) => self.note_reasoning(part, &mut state),
                AssistantPart::Text(part) => self.said(part, message, &mut state),
                AssistantPart::ToolCall(call) if !call.provider_executed => {
                    if let Some(paired) = calls.get(nth) {
                        self.call(paired, &mut state);
                    }
                    nth += 1;
                }
                AssistantPart::ToolCall(call) => {
                    self.server_item(part, None, has_result(message, call), &mut state)
                }
                AssistantPart::ToolResult(result) => self.server_item(part, Some(result), false, &mut state),
                AssistantPart::Custom(_) => self.server_item(part, None, false, &mut state),
                // What they are about stands in the text and in the calls.
                AssistantPart::Source(_) | AssistantPart::ToolApprovalRequest(_) => {}
                AssistantPart::File(_) | AssistantPart::ReasoningFile(_) => {
                    self.notes.unsupported("messages", "files a model made cannot go back to this API");
                }
                _ => {
                    self.notes.unsupported("messages", "an assistant's part of an unknown kind was left out");
                }
            }
        }
        if !state.reasoning.is_empty() {
            self.notes.unsupported("reasoning", "reasoning that nothing follows was left out of the history");
        }
        self.results(calls);
    }

    /// Keeps reasoning for the item that follows it.
    fn note_reasoning(&mut self, part: &'a ReasoningPart, state: &mut Message<'a>) {
        let metadata = part.metadata.as_deref();
        let own = minted::own(metadata, self.scope.origin);
        let Some((values, id)) = own.and_then(|values| Some((values, text(values, ITEM_ID)?))) else {
            if !part.text.trim().is_empty() || minted::is_foreign(metadata, self.scope.origin) {
                self.notes.unsupported("reasoning", "reasoning of another model was left out of the history");
            }
            state.broken = true;
            return;
        };
        let last = state.reasoning.last().is_some_and(|thought| thought.id == id);
        if !last {
            let (summary, content) = (Vec::new(), Vec::new());
            state.reasoning.push(Thought { id, stored: false, encrypted: None, summary, content });
        }
        let Some(thought) = state.reasoning.last_mut() else { return };
        thought.stored |= is_stored(values);
        thought.encrypted = text(values, ENCRYPTED).or(thought.encrypted);
        if !part.text.is_empty() {
            match text(values, FORM) {
                Some(CONTENT) => thought.content.push(&part.text),
                _ => thought.summary.push(&part.text),
            }
        }
    }

    /// Writes the reasoning that waits, now that something follows it.
    fn flush_reasoning(&mut self, state: &mut Message<'a>) {
        for thought in std::mem::take(&mut state.reasoning) {
            let Thought { id, stored, encrypted, summary, content } = thought;
            let refers = stored && self.kept != Kept::Sent && !state.broken;
            if refers && self.refer(id, What::Reasoning, state) {
                continue;
            }
            // Without its content an item is a bare id, which means something only to a server that keeps it.
            if encrypted.is_none() && (self.scope.dialect.stores || content.is_empty()) {
                self.notes.unsupported(
                    "reasoning",
                    "reasoning that is neither kept by the server nor encrypted was left out of the history",
                );
                state.broken = true;
                continue;
            }
            let texts = |texts: Vec<&'a str>, r#type| {
                texts.into_iter().map(|text| ReasoningText { r#type, text }).collect()
            };
            self.items.push(Item::Reasoning {
                r#type: "reasoning",
                id,
                summary: texts(summary, "summary_text"),
                content: texts(content, "reasoning_text"),
                encrypted_content: encrypted,
            });
        }
    }

    /// Refers to an item that the server keeps, once; where the server adds such items itself, not at all. Says
    /// whether that stands for the part: not if another one is referred to by this id.
    fn refer(&mut self, id: &'a str, what: What, state: &mut Message<'a>) -> bool {
        match state.referred.entry(id) {
            Entry::Occupied(known) => *known.get() == what && what != What::Call,
            Entry::Vacant(free) => {
                free.insert(what);
                if self.kept == Kept::Referred {
                    self.items.push(Item::Reference { r#type: "item_reference", id });
                }
                true
            }
        }
    }

    /// The id of the item a part was made of, if it can be referred to.
    fn kept_item(&self, metadata: Option<&'a ProviderMetadata>, state: &Message<'a>) -> Option<&'a str> {
        let values = minted::own(metadata, self.scope.origin)?;
        let refers = self.kept != Kept::Sent && !state.broken && is_stored(values);
        refers.then(|| text(values, ITEM_ID)).flatten()
    }

    /// Whether the item of the part is referred to already, so that nothing more is to be written for it.
    fn is_referred(&self, metadata: Option<&ProviderMetadata>, what: What, state: &Message<'a>) -> bool {
        let id = minted::own(metadata, self.scope.origin).and_then(|values| text(values, ITEM_ID));
        id.is_some_and(|id| state.referred.get(id) == Some(&what))
    }

    fn said(&mut self, part: &'a TextPart, message: &'a AssistantMessage, state: &mut Message<'a>) {
        if part.text.trim().is_empty() || self.is_referred(part.metadata.as_deref(), What::Text, state) {
            return;
        }
        self.flush_reasoning(state);
        if let Some(id) = self.kept_item(part.metadata.as_deref(), state)
            && self.refer(id, What::Text, state)
        {
            return;
        }
        let own = minted::own(part.metadata.as_deref(), self.scope.origin);
        let taken = ["type", "role", "content", "phase", "id", "text"];
        let mut extra = self.scope.extra(&message.options, &taken, self.notes);
        extra.extend(self.scope.extra(&part.options, &taken, self.notes));
        self.items.push(Item::Said {
            r#type: "message",
            role: "assistant",
            content: [Said { r#type: "output_text", text: &part.text }],
            phase: own.and_then(|values| text(values, PHASE)),
            extra,
        });
    }

    fn call(&mut self, paired: &Paired<'a>, state: &mut Message<'a>) {
        self.flush_reasoning(state);
        let call = paired.call;
        let own = minted::own(call.metadata.as_deref(), self.scope.origin);
        let raw = raw_item(call, own);
        // Where the result has not the form of such a call, both go out as those of a function.
        let special = match raw {
            Some(_) => self.special(paired).is_some(),
            None => own.is_none_or(|values| !values.contains_key(ITEM)),
        };
        // Its result names the call by the id it has on the wire.
        if special
            && *paired.wire_id == *call.id
            && let Some(id) = self.kept_item(call.metadata.as_deref(), state)
            && self.refer(id, What::Call, state)
        {
            return;
        }
        if let Some(item) = raw.filter(|_| special) {
            self.items.push(Item::Raw(Cow::Borrowed(item)));
            return;
        }
        let name = self.name(call);
        if let Some(input) = self.custom_input(call) {
            let call_id = paired.wire_id.clone();
            self.items.push(Item::CustomCall { r#type: "custom_tool_call", call_id, name, input });
            return;
        }
        self.items.push(Item::Call {
            r#type: "function_call",
            call_id: paired.wire_id.clone(),
            name,
            arguments: if is_json_object(&call.input) { &call.input } else { "{}" },
            namespace: own.and_then(|values| text(values, NAMESPACE)),
        });
    }

    /// The text that went into a call of a custom tool that is offered still.
    pub(super) fn custom_input(&self, call: &ToolCall) -> Option<String> {
        let offered = self.scope.request.tools.iter().find(|tool| tool.name() == call.name)?;
        let ai_provider::ToolDefinition::Provider(tool) = offered else { return None };
        if super::tools::server_tool(self.scope, tool) != Some("custom") {
            return None;
        }
        Some(match call.input_json() {
            Ok(Value::String(text)) => text,
            _ => call.input.clone(),
        })
    }

    /// The name of a called tool; one that is offered is the caller's own affair.
    fn name(&mut self, call: &'a ToolCall) -> Cow<'a, str> {
        if self.scope.request.tools.iter().any(|tool| tool.name() == call.name) {
            return Cow::Borrowed(&call.name);
        }
        let name = legal_tool_name(&call.name);
        if *name != *call.name {
            self.notes.compatibility("messages", "the name of a call was replaced: this API refuses it");
        }
        name
    }

    /// An item of the server's own: as it came, or by its id. The result of a call has the whole item, unless the
    /// call has one too.
    fn server_item(
        &mut self,
        part: &'a AssistantPart,
        result: Option<&'a ToolResult>,
        told_by_result: bool,
        state: &mut Message<'a>,
    ) {
        let metadata = metadata_of(part);
        let item = minted::own(metadata, self.scope.origin).and_then(|values| values.get(ITEM));
        if told_by_result && item.is_none() {
            return;
        }
        // Such a call is answered by an item of its own, and the API refuses it without.
        let unanswered = |item: &&Value| result.is_none() && !told_by_result && awaits_output(item);
        let Some(item) = item.filter(|item| !unanswered(item)) else {
            self.notes.unsupported(
                "messages",
                "calls and parts of another provider, and calls it never answered, were left out",
            );
            return;
        };
        if self.is_referred(metadata, What::Other, state) {
            return;
        }
        self.flush_reasoning(state);
        if let Some(id) = self.kept_item(metadata, state)
            && self.refer(id, What::Other, state)
        {
            return;
        }
        self.items.push(Item::Raw(picture(item, result).map_or(Cow::Borrowed(item), Cow::Owned)));
    }
}

/// Whether what came of a call of the server's own stands in the message too.
fn has_result(message: &AssistantMessage, call: &ToolCall) -> bool {
    message.parts.iter().any(|part| match part {
        AssistantPart::ToolResult(result) => result.tool_call_id == call.id,
        _ => false,
    })
}

/// Whether what comes of this item of the server's is another one.
fn awaits_output(item: &Value) -> bool {
    matches!(item.get("type").and_then(Value::as_str), Some("shell_call" | "tool_search_call"))
}

/// The item of an image, with the image in it again.
fn picture(item: &Value, result: Option<&ToolResult>) -> Option<Value> {
    if item.get("type")? != "image_generation_call" {
        return None;
    }
    let ToolOutput::Content(content) = &result?.output else { return None };
    let image = content.iter().find_map(|content| match content {
        ai_provider::ToolContent::File(file) => file.data.to_base64(),
        _ => None,
    })?;
    let mut item = item.clone();
    item.as_object_mut()?.insert("result".into(), image.into());
    Some(item)
}

/// The item of a call that is none of a function.
pub(super) fn raw_item<'a>(call: &ToolCall, own: Option<&'a JsonObject>) -> Option<&'a Value> {
    let item = own?.get(ITEM)?;
    (item.get("call_id").and_then(Value::as_str) == Some(&*call.id)).then_some(item)
}

fn is_stored(values: &JsonObject) -> bool {
    values.get(STORED).and_then(Value::as_bool) == Some(true)
}

fn text<'a>(values: &'a JsonObject, name: &str) -> Option<&'a str> {
    values.get(name)?.as_str().filter(|text| !text.is_empty())
}
