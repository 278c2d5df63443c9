use std::borrow::Cow;
use std::sync::Arc;

use ai_http::{Notes, Paired, Pairing, is_json_object, legal_tool_name};
use ai_provider::{
    AssistantMessage, AssistantPart, JsonObject, Message as Ours, ModelError, ProviderMetadata,
    SystemMessage, ToolCall, UserMessage, UserPart, Warning,
};
use serde_json::{Value, json};

use super::wire::{Call, CalledFunction, Content, Media, Message, Part};
use super::{Scope, invalid, media};
use crate::decode::{REASONING_DETAILS, REASONING_FIELD, REASONING_FIELDS, SIGNATURE};
use crate::dialect::SystemRole;

/// The history, valid for this server whatever happened to it.
pub(super) fn messages<'a>(
    scope: Scope<'a>,
    instruction: Option<String>,
    notes: &mut Notes,
) -> Result<Vec<Message<'a>>, ModelError> {
    let request = scope.request;
    let pairing = Pairing::of(&request.messages, scope.dialect.call_ids, notes);
    let mut writer = Writer { scope, out: Vec::with_capacity(request.messages.len() + 1), notes };
    writer.instruction(instruction, &request.messages);
    let told_already = usize::from(!writer.out.is_empty() && starts_with_system(&request.messages));
    for (at, message) in request.messages.iter().enumerate().skip(told_already) {
        match &**message {
            Ours::System(message) => writer.system(message),
            Ours::User(message) => writer.user(message)?,
            Ours::Assistant(message) => writer.assistant(message, pairing.of_message(at)),
            // Results stand behind their calls already; approvals are no business of the model's.
            Ours::Tool(_) => {}
            _ => writer.notes.unsupported("messages", "a message of an unknown role was left out"),
        }
    }
    if scope.dialect.mark_prefill
        && let Some(last) = writer.out.last_mut()
        && last.role == "assistant"
    {
        last.prefix = true;
    }
    let unused = writer.out.iter().flat_map(|message| {
        message.extra.keys().filter(|key| message.writes(key)).map(|key| (message.role, key.clone()))
    });
    for (role, key) in unused.collect::<Vec<_>>() {
        writer.notes.add(Warning::other(format!("the option `{key}` of a message ({role}) is not used")));
    }
    match writer.out.is_empty() {
        true => Err(invalid("the request has no message that says anything")),
        false => Ok(writer.out),
    }
}

fn starts_with_system(messages: &[Arc<Ours>]) -> bool {
    matches!(messages.first().map(|message| &**message), Some(Ours::System(_)))
}

/// Writes message after message.
pub(super) struct Writer<'a, 'n> {
    pub(super) scope: Scope<'a>,
    pub(super) out: Vec<Message<'a>>,
    pub(super) notes: &'n mut Notes,
}

impl<'a> Writer<'a, '_> {
    fn system_role(&mut self) -> Option<&'static str> {
        let reasons = || self.scope.dialect.models.is_reasoning(self.scope.model());
        match self.scope.dialect.system {
            SystemRole::ByModel if reasons() => Some("developer"),
            SystemRole::ByModel | SystemRole::System => Some("system"),
            SystemRole::Developer => Some("developer"),
            SystemRole::User => Some("user"),
            SystemRole::Absent => {
                self.notes.unsupported("messages", "this model takes no instructions: they were left out");
                None
            }
        }
    }

    /// What the API has no field for is said first, in the caller's own system message if that is first.
    fn instruction(&mut self, instruction: Option<String>, messages: &'a [Arc<Ours>]) {
        let Some(instruction) = instruction else { return };
        let Some(role) = self.system_role() else { return };
        let (content, extra) = match messages.first().map(|message| &**message) {
            Some(Ours::System(first)) if !first.text.trim().is_empty() => {
                (format!("{}\n\n{instruction}", first.text), self.scope.extra(&first.options, &[]))
            }
            _ => (instruction, Default::default()),
        };
        let content = Content::Text(content.into());
        self.out.push(Message { role, content, extra, ..Message::default() });
    }

    fn system(&mut self, message: &'a SystemMessage) {
        if message.text.trim().is_empty() {
            return;
        }
        let Some(role) = self.system_role() else { return };
        self.out.push(Message {
            role,
            content: Content::Text(message.text.as_str().into()),
            extra: self.scope.extra(&message.options, &[]),
            ..Message::default()
        });
    }

    fn user(&mut self, message: &'a UserMessage) -> Result<(), ModelError> {
        let scope = self.scope;
        let mut parts = Vec::with_capacity(message.parts.len());
        for part in &message.parts {
            match part {
                UserPart::Text(text) if text.text.trim().is_empty() => {}
                UserPart::Text(text) => parts.push(Part {
                    extra: scope.extra(&text.options, &["type", "text"]),
                    ..Part::text(text.text.as_str())
                }),
                UserPart::File(file) => parts.push(media::part(scope, file, scope.capabilities.input)?),
                _ => self.notes.unsupported("messages", "a user's part of an unknown kind was left out"),
            }
        }
        self.push_user(parts, scope.extra(&message.options, &[]));
        Ok(())
    }

    pub(super) fn push_user(&mut self, parts: Vec<Part<'a>>, extra: JsonObject) {
        if parts.is_empty() {
            return;
        }
        if self.scope.dialect.alternating
            && let Some(last) = self.out.last_mut()
            && last.role == "user"
        {
            let before = std::mem::take(&mut last.content);
            last.content = Content::joined(before, parts);
            last.extra.extend(extra);
            return;
        }
        let content = Content::of(parts);
        self.out.push(Message { role: "user", content, extra, ..Message::default() });
    }

    fn assistant(&mut self, message: &'a AssistantMessage, calls: &[Paired<'a>]) {
        let scope = self.scope;
        let mut texts = Vec::new();
        let mut reasoning: Option<(Cow<'a, str>, Cow<'a, str>)> = None;
        let mut details = Vec::new();
        for part in &message.parts {
            match part {
                AssistantPart::Text(part) => texts.push(part.text.as_str()),
                AssistantPart::Reasoning(part) => {
                    let metadata = part.metadata.as_deref();
                    details.extend(self.reasoning_details(metadata));
                    let Some(field) = self.reasoning_field(metadata) else { continue };
                    match &mut reasoning {
                        Some((_, text)) => text.to_mut().push_str(&part.text),
                        None if part.text.is_empty() => {}
                        None => reasoning = Some((field, part.text.as_str().into())),
                    }
                }
                AssistantPart::ToolCall(call) if !call.provider_executed => {}
                AssistantPart::ToolCall(_) | AssistantPart::ToolResult(_) => {
                    self.notes.unsupported("messages", "calls another provider ran itself were left out");
                }
                // What they are about stands in the text and in the calls.
                AssistantPart::Source(_) | AssistantPart::ToolApprovalRequest(_) => {}
                AssistantPart::File(_) | AssistantPart::ReasoningFile(_) => {
                    self.notes.unsupported("messages", "files a model made cannot go back to this API");
                }
                AssistantPart::Custom(_) => {
                    self.notes.unsupported("messages", "parts of another provider were left out");
                }
                _ => {
                    self.notes.unsupported("messages", "an assistant's part of an unknown kind was left out")
                }
            }
        }
        let content = text_of(&texts);
        if matches!(content, Content::Null) && calls.is_empty() {
            return;
        }
        if reasoning.is_none() && scope.dialect.models.always_has_reasoning(scope.model()) {
            reasoning = Some(((*scope.dialect.reasoning_field).into(), "".into()));
        }
        let tool_calls = calls.iter().map(|paired| self.call(paired)).collect();
        let extra = scope.extra(&message.options, &[]);
        self.out.push(Message {
            role: "assistant",
            content,
            reasoning: reasoning.filter(|_| details.is_empty()),
            details,
            tool_calls,
            extra,
            ..Message::default()
        });
        self.results(calls);
    }

    /// Under which name the reasoning goes back; nothing if it does not.
    fn reasoning_field(&mut self, metadata: Option<&'a ProviderMetadata>) -> Option<Cow<'a, str>> {
        let Scope { dialect, info, .. } = self.scope;
        let Some(made) = metadata.filter(|metadata| made_here(metadata, &info.target.endpoint)) else {
            self.notes.unsupported("reasoning", "reasoning of another model was left out of the history");
            return None;
        };
        if !dialect.replay_reasoning {
            return None;
        }
        let field = made.get(&info.target.provider).and_then(|values| values.get(REASONING_FIELD)?.as_str());
        let known = field.filter(|field| REASONING_FIELDS.contains(field));
        Some(known.unwrap_or(&dialect.reasoning_field).into())
    }

    /// The entries of reasoning in its maker's own form: to that maker alone.
    fn reasoning_details(&mut self, metadata: Option<&'a ProviderMetadata>) -> &'a [Value] {
        let Scope { dialect, info, .. } = self.scope;
        let details = metadata.filter(|_| dialect.reasoning_details).and_then(|metadata| {
            let entries = metadata.get(&info.target.provider)?.get(REASONING_DETAILS)?.as_array()?;
            Some((metadata.origin.as_ref(), entries.as_slice()))
        });
        match details {
            None => &[],
            Some((origin, entries)) if origin == Some(&info.origin()) => entries,
            Some(_) => {
                self.notes
                    .unsupported("reasoning", "sealed reasoning of another model or account was left out");
                &[]
            }
        }
    }

    fn call(&mut self, paired: &Paired<'a>) -> Call<'a> {
        let Scope { info, .. } = self.scope;
        let call = paired.call;
        let signature = call.metadata.as_deref().and_then(|metadata| {
            let signature = metadata.get(&info.target.provider)?.get(SIGNATURE)?;
            let ours = metadata.origin.as_ref().is_none_or(|origin| *origin == info.origin());
            if !ours {
                self.notes.unsupported("messages", "a signature made for another model was left out");
            }
            ours.then(|| json!({ "google": { "thought_signature": signature } }))
        });
        let name = self.name(call);
        let arguments = if is_json_object(&call.input) { &call.input } else { "{}" };
        Call {
            id: paired.wire_id.clone(),
            r#type: "function",
            function: CalledFunction { name, arguments },
            extra_content: signature,
        }
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
}

impl<'a> Content<'a> {
    /// One text without options is written as a plain string.
    fn of(mut parts: Vec<Part<'a>>) -> Self {
        if let [only] = &mut *parts
            && let Some(text) = only.take_plain_text()
        {
            return Self::Text(text);
        }
        Self::Parts(parts)
    }

    fn joined(before: Self, mut after: Vec<Part<'a>>) -> Self {
        let mut parts = match before {
            Self::Parts(parts) => parts,
            Self::Text(text) => vec![Part::text(text)],
            Self::Null => Vec::new(),
        };
        parts.append(&mut after);
        Self::of(parts)
    }
}

fn text_of<'a>(texts: &[&'a str]) -> Content<'a> {
    if texts.iter().all(|text| text.trim().is_empty()) {
        return Content::Null;
    }
    match texts {
        [only] => Content::Text(Cow::Borrowed(only)),
        several => Content::Text(Cow::Owned(several.concat())),
    }
}

fn made_here(metadata: &ProviderMetadata, endpoint: &str) -> bool {
    metadata.origin.as_ref().is_some_and(|origin| origin.target.endpoint == endpoint)
}

impl<'a> Part<'a> {
    fn take_plain_text(&mut self) -> Option<Cow<'a, str>> {
        match &mut self.media {
            Media::Text { text } if self.extra.is_empty() => Some(std::mem::take(text)),
            _ => None,
        }
    }
}
