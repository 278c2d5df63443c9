use std::borrow::Cow;
use std::sync::Arc;

use ai_http::{CallIds, Notes, Paired, Pairing, is_json_object, legal_tool_name};
use ai_provider::{
    AssistantMessage, AssistantPart, CustomPart, FilePart, Message, ModelError, ProviderMetadata,
    ReasoningPart, SystemMessage, TextPart, ToolCall, ToolOutput, ToolResult, UserMessage, UserPart,
};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::wire::{Content, Data, FunctionCall, Part, Role};
use super::{Scope, invalid, media};
use crate::decode::{KIND, MADE_ID, PART, SERVER, SIGNATURE, UNKNOWN_PART};

/// What stands in for the signature of a call that has none, so that a model of the third generation takes the
/// history: the word Google's documentation gives for calls of other models.
const NO_SIGNATURE: &str = "skip_thought_signature_validator";

/// What comes before a history that begins with the model.
const BEGUN_BEFORE: &str = "(The beginning of this conversation is not here.)";

/// Instructions, where this model has them.
#[derive(Debug, Default)]
pub(super) struct System<'a> {
    /// As the field of the body.
    pub(super) field: Option<Value>,
    /// At the beginning of the first turn of the user.
    pub(super) in_turn: Vec<Part<'a>>,
}

/// The system messages that begin the history, and what is to be said beside them.
pub(super) fn system<'a>(scope: Scope<'a>, instruction: Option<String>) -> System<'a> {
    let texts = leading(&scope.request.messages).map(|message| Cow::Borrowed(message.text.as_str()));
    let texts = texts.filter(|text| !text.trim().is_empty()).chain(instruction.map(Cow::Owned));
    if !scope.model.instructed {
        return System { field: None, in_turn: texts.map(Part::text).collect() };
    }
    let parts: Vec<_> = texts.map(|text| json!({ "text": text })).collect();
    System { field: (!parts.is_empty()).then(|| json!({ "parts": parts })), in_turn: Vec::new() }
}

fn leading(messages: &[Arc<Message>]) -> impl Iterator<Item = &SystemMessage> {
    messages.iter().map_while(|message| match &**message {
        Message::System(message) => Some(message),
        _ => None,
    })
}

/// The history, valid for this API whatever happened to it. `first` begins the first turn of the user.
pub(super) fn contents<'a>(
    scope: Scope<'a>,
    first: Vec<Part<'a>>,
    notes: &mut Notes,
) -> Result<Vec<Content<'a>>, ModelError> {
    let messages = &scope.request.messages;
    let pairing = Pairing::of(messages, CallIds::Any, notes);
    let mut writer = Writer { scope, out: Vec::with_capacity(messages.len()), notes };
    let begun = leading(messages).count();
    for (at, message) in messages.iter().enumerate() {
        writer.check_options(message);
        if at < begun {
            continue;
        }
        match &**message {
            Message::System(message) => writer.late_system(message),
            Message::User(message) => writer.user(message)?,
            Message::Assistant(message) => writer.assistant(message, pairing.of_message(at)),
            // Results stand behind their calls already; approvals are no business of the model's.
            Message::Tool(_) => {}
            _ => writer.notes.unsupported("messages", "a message of an unknown role was left out"),
        }
    }
    let mut out = writer.out;
    if out.first().is_some_and(|content| content.role == Role::Model) && first.is_empty() {
        notes.compatibility(
            "messages",
            "the history begins with the model: a word of the user was put before it",
        );
        out.insert(0, Content { role: Role::User, parts: vec![Part::text(BEGUN_BEFORE)] });
    }
    if !first.is_empty() {
        match out.first_mut().filter(|content| content.role == Role::User) {
            Some(content) => drop(content.parts.splice(0..0, first)),
            None => out.insert(0, Content { role: Role::User, parts: first }),
        }
    }
    match out.is_empty() {
        true => Err(invalid("the request has no message that says anything")),
        false => Ok(out),
    }
}

/// Writes message after message.
pub(super) struct Writer<'a, 'n> {
    pub(super) scope: Scope<'a>,
    pub(super) out: Vec<Content<'a>>,
    pub(super) notes: &'n mut Notes,
}

impl<'a> Writer<'a, '_> {
    /// Adds a turn. Two turns of the model in a row are one: the API wants its calls right behind the user's.
    fn push(&mut self, role: Role, mut parts: Vec<Part<'a>>) {
        if parts.is_empty() {
            return;
        }
        match self.out.last_mut() {
            Some(last) if role == Role::Model && last.role == Role::Model => last.parts.append(&mut parts),
            _ => self.out.push(Content { role, parts }),
        }
    }

    pub(super) fn push_user(&mut self, parts: Vec<Part<'a>>) {
        self.push(Role::User, parts);
    }

    /// A turn has no fields of its own on the wire, and instructions neither.
    fn check_options(&mut self, message: &Message) {
        let options = match message {
            Message::System(message) => &message.options,
            Message::User(message) => &message.options,
            Message::Assistant(message) => &message.options,
            Message::Tool(message) => &message.options,
            _ => return,
        };
        if !self.scope.options(options).is_empty() {
            self.notes.unsupported("providerOptions", "this API takes options of parts, not of messages");
        }
    }

    fn late_system(&mut self, message: &'a SystemMessage) {
        if message.text.trim().is_empty() {
            return;
        }
        self.notes.compatibility(
            "messages",
            "instructions within the history are said by the user: this API has one place for them",
        );
        self.push(Role::User, vec![Part::text(message.text.as_str())]);
    }

    fn user(&mut self, message: &'a UserMessage) -> Result<(), ModelError> {
        let scope = self.scope;
        let mut parts = Vec::with_capacity(message.parts.len());
        for part in &message.parts {
            match part {
                UserPart::Text(text) if text.text.trim().is_empty() => {}
                UserPart::Text(text) => {
                    parts.push(Part { extra: scope.options(&text.options), ..Part::text(text.text.as_str()) })
                }
                UserPart::File(file) => parts.push(media::part(scope, file, scope.capabilities.input)?),
                _ => self.notes.unsupported("messages", "a user's part of an unknown kind was left out"),
            }
        }
        self.push(Role::User, parts);
        Ok(())
    }

    fn assistant(&mut self, message: &'a AssistantMessage, calls: &[Paired<'a>]) {
        let mut parts = Vec::with_capacity(message.parts.len());
        let mut paired = calls.iter();
        let mut first_call = true;
        for part in &message.parts {
            let part = match part {
                AssistantPart::Text(part) => self.text(part),
                AssistantPart::Reasoning(part) => self.reasoning(part),
                AssistantPart::ToolCall(call) if call.provider_executed => self.server_call(call),
                AssistantPart::ToolCall(_) => {
                    let call = paired.next().map(|paired| self.call(paired, std::mem::take(&mut first_call)));
                    call.flatten()
                }
                AssistantPart::ToolResult(result) => self.server_result(result),
                AssistantPart::File(file) => self.file(file, false),
                AssistantPart::ReasoningFile(file) => self.file(file, true),
                AssistantPart::Custom(part) => self.custom(part),
                // What they are about stands in the text and in the calls.
                AssistantPart::Source(_) | AssistantPart::ToolApprovalRequest(_) => None,
                _ => self.left_out("an assistant's part of an unknown kind was left out"),
            };
            parts.extend(part);
        }
        self.push(Role::Model, parts);
        self.results(calls);
    }

    fn text(&mut self, part: &'a TextPart) -> Option<Part<'a>> {
        let signature = self.signature(part.metadata.as_deref());
        // The API itself signs with an empty text.
        let says = !part.text.trim().is_empty() || signature.is_some();
        says.then(|| Part {
            signature,
            extra: self.scope.options(&part.options),
            ..Part::text(part.text.as_str())
        })
    }

    /// Thoughts go back to the model that had them, and as nothing else.
    fn reasoning(&mut self, part: &'a ReasoningPart) -> Option<Part<'a>> {
        let metadata = part.metadata.as_deref();
        if !metadata.is_some_and(|metadata| metadata.origin.is_some() && self.is_ours(metadata)) {
            self.notes.unsupported("reasoning", "reasoning of another model was left out of the history");
            return None;
        }
        let signature = self.signature(metadata);
        let says = !part.text.trim().is_empty() || signature.is_some();
        says.then(|| Part { signature, thought: true, ..Part::text(part.text.as_str()) })
    }

    fn call(&mut self, paired: &Paired<'a>, first: bool) -> Option<Part<'a>> {
        let call = paired.call;
        let input = if is_json_object(&call.input) { call.input.as_str() } else { "{}" };
        let args: &RawValue = serde_json::from_str(input).ok()?;
        let mut signature = self.signature(call.metadata.as_deref());
        if signature.is_none() && first && self.scope.model.third {
            self.notes.compatibility(
                "messages",
                "a call without a signature of this model goes with a word in its place",
            );
            signature = Some(NO_SIGNATURE.into());
        }
        let name = self.name(call);
        let data = Data::FunctionCall(FunctionCall { id: wire_id(paired), name, args });
        Some(Part { signature, ..Part::from(data) })
    }

    /// The name of a called tool; one that is offered is the caller's own affair.
    pub(super) fn name(&mut self, call: &'a ToolCall) -> Cow<'a, str> {
        if self.scope.request.tools.iter().any(|tool| tool.name() == call.name) {
            return Cow::Borrowed(&call.name);
        }
        let name = legal_tool_name(&call.name);
        if *name != *call.name {
            self.notes.compatibility("messages", "the name of a call was replaced: this API refuses it");
        }
        name
    }

    fn server_call(&mut self, call: &'a ToolCall) -> Option<Part<'a>> {
        let kind = self.kind(call.metadata.as_deref(), &["executableCode", "toolCall"])?;
        let input = call.input_json().unwrap_or_else(|_| json!({}));
        let value = match kind {
            "executableCode" => input,
            _ => json!({ "toolType": tool_type(&call.name), "args": input }),
        };
        Some(self.server_part(kind, value, &call.id, call.metadata.as_deref()))
    }

    fn server_result(&mut self, result: &'a ToolResult) -> Option<Part<'a>> {
        let kind = self.kind(result.metadata.as_deref(), &["codeExecutionResult", "toolResponse"])?;
        let (ToolOutput::Json(output) | ToolOutput::ErrorJson(output)) = &result.output else {
            return self.left_out("the result of a call the server ran is not as it gave it");
        };
        let value = match kind {
            "codeExecutionResult" => output.clone(),
            _ => json!({ "toolType": tool_type(&result.tool_name), "response": output }),
        };
        Some(self.server_part(kind, value, &result.tool_call_id, result.metadata.as_deref()))
    }

    fn server_part(
        &mut self,
        kind: &'static str,
        mut value: Value,
        id: &str,
        metadata: Option<&'a ProviderMetadata>,
    ) -> Part<'a> {
        if let Value::Object(fields) = &mut value
            && !id.starts_with(MADE_ID)
        {
            fields.insert("id".into(), id.into());
        }
        Part { signature: self.signature(metadata), ..Part::from(Data::Server(kind, value)) }
    }

    /// The kind of part that a call or result of the server came as, if it came from here.
    fn kind(&mut self, metadata: Option<&ProviderMetadata>, known: &[&'static str]) -> Option<&'static str> {
        let target = &self.scope.info.target;
        let here = metadata.filter(|metadata| {
            metadata.origin.as_ref().is_none_or(|origin| {
                (&origin.target.provider, &origin.target.endpoint) == (&target.provider, &target.endpoint)
            })
        });
        let kind = self.scope.value(here, KIND).and_then(Value::as_str);
        let kind = kind.and_then(|kind| known.iter().find(|known| **known == kind).copied());
        if kind.is_none() {
            self.notes.unsupported("messages", "calls another provider ran itself were left out");
        }
        kind
    }

    fn file(&mut self, file: &'a FilePart, thought: bool) -> Option<Part<'a>> {
        let metadata = file.metadata.as_deref();
        if thought && !metadata.is_some_and(|metadata| self.is_ours(metadata)) {
            return self.left_out("files of another model's reasoning were left out");
        }
        match media::data(self.scope, file) {
            Ok(data) => Some(Part { signature: self.signature(metadata), thought, ..Part::from(data) }),
            Err(error) => self.left_out(error.message()),
        }
    }

    fn custom(&mut self, part: &'a CustomPart) -> Option<Part<'a>> {
        let metadata = part.metadata.as_deref().filter(|metadata| self.is_ours(metadata));
        let kept = self.scope.value(metadata, PART).and_then(Value::as_object);
        match kept.filter(|_| part.kind == UNKNOWN_PART) {
            Some(kept) => Some(Part::from(Data::Kept(kept))),
            None => self.left_out("parts of another provider were left out"),
        }
    }

    /// The signature of a part, if this model made it with this account.
    fn signature(&mut self, metadata: Option<&'a ProviderMetadata>) -> Option<Cow<'a, str>> {
        let signature = self.scope.value(metadata, SIGNATURE)?.as_str()?;
        if !metadata.is_some_and(|metadata| self.is_ours(metadata)) {
            self.notes.unsupported("messages", "a signature made for another model was left out");
            return None;
        }
        Some(signature.into())
    }

    /// Whether metadata is of this target and account, or of none.
    fn is_ours(&self, metadata: &ProviderMetadata) -> bool {
        metadata.origin.as_ref().is_none_or(|origin| *origin == self.scope.info.origin())
    }

    fn left_out<T>(&mut self, why: &str) -> Option<T> {
        self.notes.unsupported("messages", why);
        None
    }
}

/// The id of a call as the API knows it: ids this adapter made are not known to it.
pub(super) fn wire_id<'a>(paired: &Paired<'a>) -> Option<Cow<'a, str>> {
    let made = paired.call.id.is_empty() || paired.call.id.starts_with(MADE_ID);
    (!made).then(|| paired.wire_id.clone())
}

fn tool_type(name: &str) -> &str {
    name.strip_prefix(SERVER).unwrap_or(name)
}
