//! How blocks begin.

use ai_http::Parts;
use ai_provider::{ErrorClass, Id, ModelError, StreamPart, ToolOutput, ToolResult};
use serde_json::Value;
use serde_json::value::RawValue;

use super::blocks::{Blocks, value};
use super::call::{self, Call};
use super::frame::Block;
use super::kind::{Kind, Open, Run, text_delta};
use super::loose::Index;
use super::protocol;
use super::scope::Scope;
use crate::json_tool;
use crate::metadata::{COMPACTION, FALLBACK, REDACTED, WIRE_TYPE};

/// Bytes of a name or an id. The API's own have some dozens.
const MAX_NAME: usize = 1_024;

impl Blocks {
    /// A block begins, so the one before it was not cut.
    pub(super) fn start(
        &mut self,
        index: Index,
        raw: &RawValue,
        block: Block<'_>,
        scope: &Scope,
        out: &mut Parts,
    ) -> Result<(), ModelError> {
        if &*block.kind == FALLBACK {
            // Another model takes over: a call of the one before it is not to be made.
            self.held = None;
            self.open.retain(|open| !matches!(open.kind, Kind::Call(_)));
        }
        self.settle(out);
        if self.open.iter().any(|open| open.index == index) {
            self.stop(index, scope, out);
            self.settle(out);
        }
        let kind = match &*block.kind {
            "text" if scope.json => Kind::Silent,
            "text" => self.text_run(index, out)?,
            "thinking" => self.reasoning_run(index, None, scope, out)?,
            "redacted_thinking" => self.reasoning_run(index, Some(block.data.to_string()), scope, out)?,
            "tool_use" if scope.json && &*block.name == json_tool::NAME => {
                self.json = true;
                self.came = true;
                match self.text_run(index, out)? {
                    Kind::Text(run) => Kind::Json(run),
                    other => other,
                }
            }
            "tool_use" | "server_tool_use" | "mcp_tool_use" => self.call(&block, scope, out)?,
            COMPACTION => self.compaction(index, block.encrypted_content, scope, out)?,
            result if result.ends_with("_tool_result") => {
                self.result(&block, scope, out)?;
                Kind::Silent
            }
            "" => return Err(protocol("a content block has no type")),
            unknown => {
                Kind::Unknown(serde_json::from_str(raw.get()).ok().map(|value| (unknown.to_owned(), value)))
            }
        };
        let shown = !matches!(kind, Kind::Silent);
        self.open.push(Open { index, kind });
        if shown { self.fill(index, block, scope, out) } else { Ok(()) }
    }

    /// What stands in the block already: in a stream nothing, of a whole answer everything.
    fn fill(
        &mut self,
        index: Index,
        block: Block<'_>,
        scope: &Scope,
        out: &mut Parts,
    ) -> Result<(), ModelError> {
        match &*block.kind {
            "text" => self.text(index, block.text.into_cow(), scope, out),
            "thinking" => {
                self.thinking(index, block.thinking.into_cow(), scope, out)?;
                self.signature(index, &block.signature, scope, out)
            }
            COMPACTION => {
                let content = block.content.and_then(|content| serde_json::from_str(content.get()).ok());
                self.compacted(index, content.unwrap_or_default(), None, out)
            }
            "tool_use" | "server_tool_use" | "mcp_tool_use" => {
                let Some(input) = call::given(block.input) else { return Ok(()) };
                self.count_input(input.len())?;
                match self.open.last_mut().map(|open| &mut open.kind) {
                    Some(Kind::Call(call)) => call.give(&input, out),
                    Some(Kind::Json(run)) => {
                        out.push(text_delta((run.id.clone(), input.into_owned())));
                        run.empty = false;
                        Ok(())
                    }
                    _ => Ok(()),
                }
            }
            _ => Ok(()),
        }
    }

    pub(super) fn text_run(&mut self, index: Index, out: &mut Parts) -> Result<Kind, ModelError> {
        let id = self.new_id(index)?;
        out.push(StreamPart::TextStart { id: id.clone(), metadata: None });
        Ok(Kind::Text(Run::new(id)))
    }

    pub(super) fn reasoning_run(
        &mut self,
        index: Index,
        redacted: Option<String>,
        scope: &Scope,
        out: &mut Parts,
    ) -> Result<Kind, ModelError> {
        let id = self.new_id(index)?;
        self.came = true;
        let metadata = scope.minted(redacted.map(|data| (REDACTED, data.into())));
        out.push(StreamPart::ReasoningStart { id: id.clone(), metadata });
        Ok(Kind::Reasoning(Run::new(id)))
    }

    fn compaction(
        &mut self,
        index: Index,
        encrypted: Option<&RawValue>,
        scope: &Scope,
        out: &mut Parts,
    ) -> Result<Kind, ModelError> {
        let id = self.new_id(index)?;
        self.came = true;
        let metadata = scope.minted([(WIRE_TYPE, COMPACTION.into())]);
        out.push(StreamPart::TextStart { id: id.clone(), metadata });
        Ok(Kind::Compaction(Run::new(id), value(encrypted)))
    }

    fn call(&mut self, block: &Block<'_>, scope: &Scope, out: &mut Parts) -> Result<Kind, ModelError> {
        if self.repeatable.remove(&*block.id) {
            return Ok(Kind::Silent);
        }
        if block.id.len().max(block.name.len()).max(block.server_name.len()) > MAX_NAME {
            let message = format!("the name or id of a tool call has more than {MAX_NAME} bytes");
            return Err(ModelError::new(ErrorClass::TooLarge, message));
        }
        self.count()?;
        self.came = true;
        let mut id = Id::from(&*block.id);
        if block.id.trim().is_empty() || self.calls.contains(&id) {
            id = scope.ids.id("toolu", self.calls.len());
        }
        self.calls.insert(id.clone());
        let call = Call::start(block, id, scope, out);
        if let Some(named) = call.server_call() {
            self.server_calls.insert(block.id.to_string(), named);
        }
        Ok(Kind::Call(Box::new(call)))
    }

    /// What came of a call that ran at the provider. It may have been made in an earlier answer.
    fn result(&mut self, block: &Block<'_>, scope: &Scope, out: &mut Parts) -> Result<(), ModelError> {
        self.count()?;
        self.came = true;
        let content = value(block.content).unwrap_or_default();
        let failed = block.is_error == Some(true)
            || content.get("type").and_then(Value::as_str).is_some_and(|kind| kind.ends_with("_error"));
        let wire_id = &*block.tool_use_id;
        let known = self.server_calls.get(wire_id).cloned();
        let (id, name, dynamic) = known.unwrap_or_else(|| {
            let kind = block.kind.trim_end_matches("_tool_result");
            let name = crate::server_tools::folded(kind).map_or(kind, |(outer, _)| outer);
            (wire_id.into(), scope.names.ours(name).to_owned(), kind == "mcp")
        });
        let output = if failed { ToolOutput::ErrorJson(content) } else { ToolOutput::Json(content) };
        let mut result = ToolResult::new(id, name, output);
        result.provider_executed = true;
        result.dynamic = dynamic;
        result.metadata = scope.minted([(WIRE_TYPE, block.kind.to_string().into())]);
        out.push(StreamPart::ToolResult(Box::new(result)));
        Ok(())
    }
}
