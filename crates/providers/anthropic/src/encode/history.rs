use std::sync::Arc;

use ai_http::{CallIds, Notes, Paired, Pairing};
use ai_provider::{
    AssistantMessage, AssistantPart, JsonObject, Message as Ours, ModelError, Origin, ProviderMetadata,
    ProviderOptions, SystemMessage, TextPart, UserMessage, UserPart,
};

use super::betas::LATE_SYSTEM;
use super::server::Server;
use super::wire::{Block, Content, Message};
use super::{Scope, invalid, media};
use crate::metadata::{COMPACTION, ENCRYPTED, WIRE_TYPE};

/// What stands where a history begins with the model's words: the API wants a user's first.
const NO_BEGINNING: &str = "(the beginning of the conversation was left out)";

/// The instructions the history begins with, and where it goes on.
pub(super) fn system<'a>(
    scope: Scope<'a>,
    instruction: Option<&'static str>,
    notes: &mut Notes,
) -> (Vec<Block<'a>>, usize) {
    let mut blocks = Vec::new();
    let mut first = 0;
    for message in &scope.request.messages {
        let Ours::System(message) = &**message else { break };
        first += 1;
        if !message.text.trim().is_empty() {
            blocks.push(text(scope, &message.text, &message.options, notes));
        }
    }
    blocks.extend(instruction.map(Block::text));
    (blocks, first)
}

/// The rest of the history, valid for this API whatever happened to it.
pub(super) fn messages<'a>(
    scope: Scope<'a>,
    first: usize,
    notes: &mut Notes,
) -> Result<Vec<Message<'a>>, ModelError> {
    let history: &'a [Arc<Ours>] = &scope.request.messages;
    let pairing = Pairing::of(history, CallIds::Word(256), notes);
    let origin = scope.info.origin();
    let server = Server::of(history);
    let mut writer = Writer { scope, origin, server, out: Vec::with_capacity(history.len()), notes };
    for (at, message) in history.iter().enumerate().skip(first) {
        match &**message {
            Ours::System(message) => writer.system(message),
            Ours::User(message) => writer.user(message)?,
            Ours::Assistant(message) => {
                let is_last = at + 1 == history.len();
                writer.assistant(message, pairing.of_message(at), is_last);
            }
            // Results stand behind their calls already; approvals are no business of the model's.
            Ours::Tool(message) => writer.mark_last(&message.options),
            _ => writer.notes.unsupported("messages", "a message of an unknown role was left out"),
        }
    }
    writer.trim_end();
    match writer.out.is_empty() {
        true => Err(invalid("the request has no message that says anything")),
        false => Ok(writer.out),
    }
}

/// A text with the caller's options for it.
fn text<'a>(scope: Scope<'a>, text: &'a str, options: &ProviderOptions, notes: &mut Notes) -> Block<'a> {
    let mut extra = scope.options(options);
    let cache_control = scope.cache_control(&mut extra, notes);
    Block { cache_control, extra, ..Block::text(text) }
}

/// Writes message after message.
pub(super) struct Writer<'a, 'n> {
    pub(super) scope: Scope<'a>,
    origin: Origin,
    server: Server<'a>,
    out: Vec<Message<'a>>,
    pub(super) notes: &'n mut Notes,
}

impl<'a> Writer<'a, '_> {
    /// Messages of one role in a row are one turn.
    pub(super) fn push(&mut self, role: &'static str, mut blocks: Vec<Block<'a>>) {
        if blocks.is_empty() {
            return;
        }
        if self.out.is_empty() && role == "assistant" {
            self.notes.compatibility(
                "messages",
                "the history begins with the model: a line of the user's was put before it",
            );
            self.out.push(Message { role: "user", content: vec![Block::text(NO_BEGINNING)] });
        }
        match self.out.last_mut() {
            Some(last) if last.role == role => last.content.append(&mut blocks),
            _ => self.out.push(Message { role, content: blocks }),
        }
    }

    /// Instructions behind the beginning: among the messages where the model takes them there and one of the
    /// user's stands before, else in the user's words. They never move up: the prompt's beginning stays.
    fn system(&mut self, message: &'a SystemMessage) {
        if message.text.trim().is_empty() {
            return;
        }
        let mut block = text(self.scope, &message.text, &message.options, self.notes);
        let behind_user = self.out.last().is_some_and(|last| last.role != "assistant");
        if self.scope.model.late_system && behind_user {
            self.scope.beta(LATE_SYSTEM);
            return self.push("system", vec![block]);
        }
        self.notes
            .compatibility("messages", "instructions behind the beginning are sent in the user's words");
        block.content = Content::Text(format!("<system>\n{}\n</system>", message.text).into());
        self.push("user", vec![block]);
    }

    fn user(&mut self, message: &'a UserMessage) -> Result<(), ModelError> {
        let scope = self.scope;
        let mut blocks = Vec::with_capacity(message.parts.len());
        for part in &message.parts {
            match part {
                UserPart::Text(part) if part.text.trim().is_empty() => {}
                UserPart::Text(part) => blocks.push(text(scope, &part.text, &part.options, self.notes)),
                UserPart::File(file) => {
                    blocks.push(media::block(scope, file, scope.capabilities.input, self.notes)?);
                }
                _ => self.notes.unsupported("messages", "a user's part of an unknown kind was left out"),
            }
        }
        self.mark(&message.options, &mut blocks);
        self.push("user", blocks);
        Ok(())
    }

    /// A cache marker of a whole message stands on its last block.
    pub(super) fn mark(&mut self, options: &ProviderOptions, blocks: &mut [Block<'a>]) {
        let mut options = self.scope.options(options);
        let last = blocks.iter_mut().rev().find(|block| !block.is_thinking());
        if let Some(last) = last.filter(|last| last.cache_control.is_none()) {
            last.cache_control = self.scope.cache_control(&mut options, self.notes);
        }
        for name in options.keys().filter(|name| !matches!(name.as_str(), "cache_control" | "cacheControl")) {
            self.notes.unsupported("providerOptions", format!("a message has no option `{name}`"));
        }
    }

    /// A marker of a message of results stands on the last of those that were written.
    fn mark_last(&mut self, options: &ProviderOptions) {
        if let Some(mut last) = self.out.pop() {
            if last.role == "user" {
                self.mark(options, &mut last.content);
            }
            self.out.push(last);
        }
    }

    fn assistant(&mut self, message: &'a AssistantMessage, calls: &[Paired<'a>], is_last: bool) {
        let mut blocks = Vec::with_capacity(message.parts.len());
        let mut paired = calls.iter();
        for part in &message.parts {
            match part {
                AssistantPart::Text(part) => blocks.extend(self.said(part)),
                AssistantPart::Reasoning(part) => {
                    let marked = ["cache_control", "cacheControl"];
                    if self.scope.options(&part.options).keys().any(|name| marked.contains(&name.as_str())) {
                        self.notes.unsupported("cache_control", "thinking cannot be cached by itself");
                    }
                    blocks.extend(self.thought(&part.text, part.metadata.as_deref()));
                }
                AssistantPart::ToolCall(call) if call.provider_executed => {
                    let block = self.server.call(self.scope, self.ours(&call.metadata), call, is_last);
                    if block.is_none() {
                        self.notes.unsupported(
                            "messages",
                            "calls another provider ran itself, or that have no result, were left out",
                        );
                    }
                    blocks.extend(block);
                }
                AssistantPart::ToolCall(_) => {
                    blocks.extend(paired.next().map(|paired| self.call(paired)));
                }
                AssistantPart::ToolResult(result) => {
                    let block = self.server.result(self.ours(&result.metadata), result);
                    if block.is_none() {
                        self.notes
                            .unsupported("messages", "results of another provider's own calls were left out");
                    }
                    blocks.extend(block);
                }
                AssistantPart::Custom(part) => self.custom(part, &mut blocks),
                // What they are about stands in the text and in the calls.
                AssistantPart::Source(_) | AssistantPart::ToolApprovalRequest(_) => {}
                AssistantPart::File(_) | AssistantPart::ReasoningFile(_) => {
                    self.notes.unsupported("messages", "files a model made cannot go back to this API");
                }
                _ => {
                    self.notes.unsupported("messages", "an assistant's part of an unknown kind was left out")
                }
            }
        }
        // Thinking is about what follows it: alone, or at the end of what broke off, it is refused.
        while blocks.last().is_some_and(Block::is_thinking) {
            blocks.pop();
        }
        self.mark(&message.options, &mut blocks);
        self.push("assistant", blocks);
        self.results(calls);
    }

    /// The values of metadata that this target made for itself.
    pub(super) fn ours(&self, metadata: &'a Option<Box<ProviderMetadata>>) -> Option<&'a JsonObject> {
        metadata.as_deref().filter(|metadata| self.is_ours(metadata))?.get(self.scope.provider())
    }

    pub(super) fn is_ours(&self, metadata: &ProviderMetadata) -> bool {
        metadata.origin.as_ref() == Some(&self.origin)
    }

    fn said(&mut self, part: &'a TextPart) -> Option<Block<'a>> {
        let values = self.ours(&part.metadata);
        if let Some(values) = values.filter(|values| values.get(WIRE_TYPE).is_some_and(|is| is == COMPACTION))
        {
            let encrypted = values.get(ENCRYPTED);
            self.scope.beta("compact-2026-01-12");
            let block = Block::from(Content::Compaction { content: &part.text, encrypted });
            let mut extra = self.scope.options(&part.options);
            let cache_control = self.scope.cache_control(&mut extra, self.notes);
            return Some(Block { cache_control, extra, ..block });
        }
        (!part.text.trim().is_empty()).then(|| text(self.scope, &part.text, &part.options, self.notes))
    }

    /// The answer goes on behind a last message of the model's, which must not end with white space.
    fn trim_end(&mut self) {
        let last = self.out.last_mut().filter(|last| last.role == "assistant");
        if let Some(Block { content: Content::Text(text), .. }) =
            last.and_then(|last| last.content.last_mut())
        {
            let length = text.trim_end().len();
            if length < text.len() {
                text.to_mut().truncate(length);
            }
        }
    }
}
