use std::collections::HashSet;
use std::sync::Arc;

use ai_http::{CallIds, Notes, Pairing};
use ai_provider::{
    AssistantMessage, AssistantPart, JsonObject, Message, ModelError, SystemMessage, ToolApprovalResponse,
    ToolPart, UserMessage, UserPart,
};
use serde_json::{Value, json};

use super::wire::{Content, Item, Part};
use super::{Scope, invalid, media};
use crate::responses::minted::{self, RESPONSE_ID};

/// The longest id of a call that the API takes.
const CALL_ID: CallIds = CallIds::UpTo(64);

/// The history as items, and what goes out as instructions.
#[derive(Debug)]
pub(super) struct Items<'a> {
    pub(super) items: Vec<Item<'a>>,
    pub(super) instructions: Option<String>,
}

/// What becomes of items that the server keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kept {
    /// They are sent in full like all others.
    Sent,
    /// They are referred to.
    Referred,
    /// They are left out: the server adds them itself.
    LeftOut,
}

/// The history, valid for this server whatever happened to it.
pub(super) fn items<'a>(
    scope: Scope<'a>,
    head: &JsonObject,
    instruction: Option<String>,
    notes: &mut Notes,
) -> Result<Items<'a>, ModelError> {
    let messages = &scope.request.messages;
    let pairing = Pairing::of(messages, CALL_ID, notes);
    let given = |name: &str| head.get(name).filter(|value| !value.is_null());
    let kept = match head.get("store").and_then(Value::as_bool) {
        _ if !scope.dialect.stores => Kept::Sent,
        _ if given("conversation").is_some() => Kept::LeftOut,
        Some(false) => Kept::Sent,
        _ => Kept::Referred,
    };
    let mut writer = Writer {
        scope,
        kept,
        items: Vec::with_capacity(messages.len() + 1),
        approvals: approvals(scope, messages),
        files: Vec::new(),
        notes,
    };
    let known = given("previous_response_id").and_then(Value::as_str).and_then(|id| known_until(scope, id));
    let (instructions, mut skip) = match scope.dialect.instructions {
        true => leading(messages, instruction),
        false => {
            writer.instruction(instruction);
            (None, 0)
        }
    };
    skip = skip.max(known.map_or(0, |last| last + 1));
    if let Some(last) = known {
        // The server knows all of it but the results of its last calls.
        writer.results(pairing.of_message(last));
    }
    for (at, message) in messages.iter().enumerate().skip(skip) {
        match &**message {
            Message::System(message) => writer.system(message),
            Message::User(message) => writer.user(message)?,
            Message::Assistant(message) => writer.assistant(message, pairing.of_message(at)),
            // Results stand behind their calls already.
            Message::Tool(message) => writer.approval_responses(&message.parts),
            _ => writer.notes.unsupported("messages", "a message of an unknown role was left out"),
        }
    }
    let nothing =
        writer.items.is_empty() && known.is_none() && kept != Kept::LeftOut && given("prompt").is_none();
    match nothing && (instructions.is_none() || messages.iter().any(|message| !is_system(message))) {
        true => Err(invalid("the request has no message that says anything")),
        false => Ok(Items { items: writer.items, instructions }),
    }
}

fn is_system(message: &Message) -> bool {
    matches!(message, Message::System(_))
}

/// The system messages that the history begins with, as one text, and how many they are.
fn leading(messages: &[Arc<Message>], instruction: Option<String>) -> (Option<String>, usize) {
    let mut texts = Vec::new();
    let mut count = 0;
    for message in messages {
        let Message::System(message) = &**message else { break };
        count += 1;
        texts.push(message.text.as_str());
    }
    texts.extend(instruction.as_deref());
    texts.retain(|text| !text.trim().is_empty());
    ((!texts.is_empty()).then(|| texts.join("\n\n")), count)
}

/// The last message of the history that is of this response.
fn known_until(scope: Scope<'_>, response: &str) -> Option<usize> {
    scope.request.messages.iter().rposition(|message| match &**message {
        Message::Assistant(message) => message.parts.iter().any(|part| {
            let values = minted::own(metadata_of(part), scope.origin);
            values.and_then(|values| values.get(RESPONSE_ID)?.as_str()) == Some(response)
        }),
        _ => false,
    })
}

/// The requests for consent in the history that this server made.
fn approvals<'a>(scope: Scope<'a>, messages: &'a [Arc<Message>]) -> HashSet<&'a str> {
    let mut own = HashSet::new();
    for message in messages {
        let Message::Assistant(AssistantMessage { parts, .. }) = &**message else { continue };
        let mut calls = HashSet::new();
        for part in parts {
            match part {
                AssistantPart::ToolCall(call)
                    if minted::own(call.metadata.as_deref(), scope.origin).is_some() =>
                {
                    calls.insert(&*call.id);
                }
                AssistantPart::ToolApprovalRequest(request) if calls.contains(&*request.tool_call_id) => {
                    own.insert(&*request.approval_id);
                }
                _ => {}
            }
        }
    }
    own
}

pub(super) fn metadata_of(part: &AssistantPart) -> Option<&ai_provider::ProviderMetadata> {
    match part {
        AssistantPart::Text(part) => part.metadata.as_deref(),
        AssistantPart::Reasoning(part) => part.metadata.as_deref(),
        AssistantPart::Custom(part) => part.metadata.as_deref(),
        AssistantPart::ToolCall(call) => call.metadata.as_deref(),
        AssistantPart::ToolResult(result) => result.metadata.as_deref(),
        _ => None,
    }
}

/// Writes message after message.
pub(super) struct Writer<'a, 'n> {
    pub(super) scope: Scope<'a>,
    pub(super) kept: Kept,
    pub(super) items: Vec<Item<'a>>,
    approvals: HashSet<&'a str>,
    /// Files of results that the server takes in a user message alone.
    pub(super) files: Vec<Part<'a>>,
    pub(super) notes: &'n mut Notes,
}

impl<'a> Writer<'a, '_> {
    fn system_role(&self) -> &'static str {
        let dialect = self.scope.dialect;
        match dialect.developer && dialect.models.is_reasoning(self.scope.model()) {
            true => "developer",
            false => "system",
        }
    }

    /// What the API has no field for is said first.
    fn instruction(&mut self, instruction: Option<String>) {
        let Some(instruction) = instruction else { return };
        let content = Content::Text(instruction.into());
        self.items.push(Item::Message { role: self.system_role(), content, extra: JsonObject::new() });
    }

    fn system(&mut self, message: &'a SystemMessage) {
        if message.text.trim().is_empty() {
            return;
        }
        self.items.push(Item::Message {
            role: self.system_role(),
            content: Content::Text(message.text.as_str().into()),
            extra: self.scope.extra(&message.options, &["role", "content"], self.notes),
        });
    }

    fn user(&mut self, message: &'a UserMessage) -> Result<(), ModelError> {
        let scope = self.scope;
        let mut parts = Vec::with_capacity(message.parts.len());
        for part in &message.parts {
            match part {
                UserPart::Text(text) if text.text.trim().is_empty() => {}
                UserPart::Text(text) => parts.push(Part {
                    extra: scope.extra(&text.options, &["type", "text"], self.notes),
                    ..Part::text(text.text.as_str())
                }),
                UserPart::File(file) => {
                    parts.push(media::part(scope, file, scope.capabilities.input, self.notes)?);
                }
                _ => self.notes.unsupported("messages", "a user's part of an unknown kind was left out"),
            }
        }
        let extra = scope.extra(&message.options, &["role", "content"], self.notes);
        self.push_user(parts, extra);
        Ok(())
    }

    pub(super) fn push_user(&mut self, parts: Vec<Part<'a>>, extra: JsonObject) {
        if !parts.is_empty() {
            self.items.push(Item::Message { role: "user", content: Content::Parts(parts), extra });
        }
    }

    /// Answers to the server's own requests for consent; those of this side are no business of the model's.
    fn approval_responses(&mut self, parts: &'a [ToolPart]) {
        for part in parts {
            let ToolPart::ToolApprovalResponse(ToolApprovalResponse { approval_id, approved, reason }) = part
            else {
                continue;
            };
            if self.approvals.contains(&**approval_id) {
                let mut answer = json!({
                    "type": "mcp_approval_response", "approval_request_id": approval_id, "approve": approved,
                });
                if let (Some(reason), Some(answer)) = (reason, answer.as_object_mut()) {
                    answer.insert("reason".into(), reason.as_str().into());
                }
                self.items.push(Item::Raw(std::borrow::Cow::Owned(answer)));
            }
        }
    }
}
