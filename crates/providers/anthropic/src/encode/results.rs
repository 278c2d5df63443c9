use std::borrow::Cow;

use ai_http::{Notes, Paired, legal_tool_name};
use ai_provider::{CustomPart, FileData, FilePart, ProviderOptions, ToolContent, ToolOutput, ToolResult};
use serde_json::Value;

use super::history::Writer;
use super::server::raw;
use super::wire::{Block, Content, ResultContent};
use super::{NAMESPACE, Scope, media};
use crate::metadata::CALLER;

/// The text of a result that has none: an empty one is refused.
const NO_OUTPUT: &str = "(no output)";
const NO_RESULT: &str = "Error: the call was interrupted and has no result.";
const DENIED: &str = "The user did not allow this call.";

impl<'a> Writer<'a, '_> {
    pub(super) fn call(&mut self, paired: &Paired<'a>) -> Block<'a> {
        let call = paired.call;
        let name = self.scope.names.wire(&call.name);
        let offered = self.scope.request.tools.iter().any(|tool| tool.name() == call.name);
        let name = if offered { Cow::Borrowed(name) } else { legal_tool_name(name) };
        if !offered && *name != *call.name {
            self.notes.compatibility("messages", "the name of a call was replaced: this API refuses it");
        }
        Block::from(Content::Call {
            kind: "tool_use",
            id: paired.wire_id.clone(),
            name,
            server_name: None,
            input: raw(&call.input),
            caller: self.ours(&call.metadata).and_then(|values| values.get(CALLER)),
        })
    }

    /// The results of all calls of a message, in the order of the calls and in one message, before anything else.
    pub(super) fn results(&mut self, calls: &[Paired<'a>]) {
        let mut blocks = Vec::with_capacity(calls.len());
        for paired in calls {
            let (content, is_error) = match paired.result {
                None => (ResultContent::Text(NO_RESULT.into()), true),
                Some(result) => (self.output(&result.output), result.output.is_error()),
            };
            let id = paired.wire_id.clone();
            let block = Block::from(Content::ToolResult { id, content, is_error });
            blocks.push(match paired.result {
                Some(ToolResult { options, .. }) => with_options(self.scope, block, options, self.notes),
                None => block,
            });
        }
        self.push("user", blocks);
    }

    fn output(&mut self, output: &'a ToolOutput) -> ResultContent<'a> {
        let text = match output {
            ToolOutput::Text(text) | ToolOutput::ErrorText(text) => Cow::Borrowed(text.as_str()),
            ToolOutput::Json(value) | ToolOutput::ErrorJson(value) => Cow::Owned(value.to_string()),
            ToolOutput::ExecutionDenied { reason } => Cow::Borrowed(reason.as_deref().unwrap_or(DENIED)),
            ToolOutput::Content(items) => {
                let blocks: Vec<_> = items.iter().filter_map(|item| self.item(item)).collect();
                if !blocks.is_empty() {
                    return ResultContent::Blocks(blocks);
                }
                Cow::Borrowed("")
            }
            _ => {
                self.notes.unsupported("messages", "a result of an unknown kind was left out");
                Cow::Borrowed("")
            }
        };
        ResultContent::Text(if text.trim().is_empty() { NO_OUTPUT.into() } else { text })
    }

    fn item(&mut self, item: &'a ToolContent) -> Option<Block<'a>> {
        let scope = self.scope;
        match item {
            ToolContent::Text(part) => (!part.text.trim().is_empty())
                .then(|| with_options(scope, Block::text(part.text.as_str()), &part.options, self.notes)),
            ToolContent::File(FilePart { data: FileData::Text { text }, options, .. }) => {
                (!text.trim().is_empty())
                    .then(|| with_options(scope, Block::text(text.as_str()), options, self.notes))
            }
            ToolContent::File(file) => {
                match media::block(scope, file, scope.capabilities.tool_result, self.notes) {
                    Ok(block) => Some(block),
                    // A tool does not know which model reads its result, so its file is no demand.
                    Err(error) => {
                        self.notes.unsupported("messages", error.message());
                        let (kind, why) = (&file.media_type, error.message());
                        Some(Block::text(format!("(a file of type {kind} was left out: {why})")))
                    }
                }
            }
            ToolContent::Custom(part) => self.own_item(part),
            _ => {
                self.notes.unsupported("messages", "a result's part of an unknown kind was left out");
                None
            }
        }
    }

    /// A block of this API that has no neutral form, such as a reference to a tool: its fields are the options.
    fn own_item(&mut self, part: &'a CustomPart) -> Option<Block<'a>> {
        let kind = part.kind.strip_prefix(NAMESPACE).and_then(|kind| kind.strip_prefix('.'));
        let Some(kind) = kind.filter(|kind| !kind.is_empty()) else {
            self.notes.unsupported("messages", "a result's part of another provider was left out");
            return None;
        };
        let mut fields = self.scope.options(&part.options);
        let cache_control = self.scope.cache_control(&mut fields, self.notes);
        Some(Block { content: Content::Own(kind), cache_control, extra: fields })
    }
}

fn with_options<'a>(
    scope: Scope<'a>,
    block: Block<'a>,
    options: &ProviderOptions,
    notes: &mut Notes,
) -> Block<'a> {
    let mut extra = scope.options(options);
    let cache_control: Option<Value> = scope.cache_control(&mut extra, notes);
    Block { cache_control, extra, ..block }
}
