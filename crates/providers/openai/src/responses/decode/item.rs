//! Items that begin and items that are done.

use ai_http::Parts;
use ai_http::halves::Joiner;
use ai_provider::{
    CustomPart, Id, JsonObject, ModelError, ProviderMetadata, ProviderOptions, StreamPart,
    ToolApprovalRequest, ToolCall, ToolResult,
};
use serde_json::Value;

use super::ResponsesDecoder;
use super::calls::{Call, ServerCall, Shape, arguments};
use super::items::{Item, Kind, Label, State};
use super::reasoning::{Form, Part, Reasoning};
use super::server::{self, Role, text};
use super::text::Text;
use crate::responses::minted::{ITEM, NAMESPACE};

/// The kind of what an item of this type makes.
fn kind_of(kind: &str, item: &JsonObject, custom_at_server: bool) -> Kind {
    match kind {
        "message" => Kind::Text,
        "reasoning" => Kind::Reasoning,
        "function_call" => Kind::Call,
        "custom_tool_call" if !custom_at_server => Kind::Call,
        "code_interpreter_call" if text(item, "arguments").is_none() => Kind::Call,
        "apply_patch_call" => Kind::Call,
        "code_interpreter_call" => Kind::Server,
        // What a shell or a search shall do is known when its item is done.
        _ if server::role(kind, item) == Role::Server && !server::has_output_item(kind) => Kind::Server,
        _ => Kind::Other,
    }
}

impl ResponsesDecoder {
    /// An item begins.
    pub(super) fn added(
        &mut self,
        item: &JsonObject,
        index: Option<i64>,
        out: &mut Parts,
    ) -> Result<(), ModelError> {
        let kind = text(item, "type").unwrap_or_default();
        let label = Label { id: text(item, "id").unwrap_or_default(), index };
        let what = kind_of(kind, item, self.dialect.custom_calls_at_server);
        if !label.id.is_empty() && self.items.is_open(label.id, what) {
            return Ok(());
        }
        let state = match what {
            Kind::Text => State::Text(Text::open(label.id, text(item, "phase"), &mut self.mint, out)),
            Kind::Reasoning => State::Reasoning(Reasoning::open(label.id, &mut self.mint, out)),
            Kind::Call => State::Call(self.call_of(kind, item, out)),
            Kind::Server => {
                let metadata = self.mint.begun(label.id, []);
                State::Server(self.server_call(kind, item, metadata, out))
            }
            Kind::Other => State::Other,
        };
        self.items.push(label, state).map(drop)
    }

    /// A call whose input streams. It is shown once it is known what it is called.
    fn call_of(&mut self, kind: &str, item: &JsonObject, out: &mut Parts) -> Call {
        let mut call = match kind {
            "function_call" => {
                let mut call = named_call(item, Shape::Json);
                if let Some(arguments) = arguments(item, "arguments") {
                    call.note_whole(arguments);
                }
                call
            }
            "custom_tool_call" => named_call(item, Shape::Text { before: "\"".to_owned(), after: "\"" }),
            _ => {
                let (before, after) = server::around(kind, item);
                let shape = match before {
                    Some(before) => Shape::Text { before, after },
                    None => Shape::Json,
                };
                let at_server = kind == "code_interpreter_call";
                let id =
                    if at_server { text(item, "id") } else { text(item, "call_id").or(text(item, "id")) };
                let mut call = Call::new(id.unwrap_or_default(), &self.tool(kind), shape);
                call.at_server = at_server;
                call
            }
        };
        if !call.name.is_empty() && !call.call_id.is_empty() && !self.asked.is_bundle(&call.name) {
            call.start(&mut self.mint, out);
        }
        call
    }

    /// The caller's name for the tool that an item of this type or name is a call of.
    fn tool(&self, item: &str) -> String {
        let tool = match self.dialect.tool_of(item) {
            same if same == item => server::tool(item),
            other => other,
        };
        self.asked.name(tool).to_owned()
    }

    /// A call the server runs, with its input.
    fn server_call(
        &mut self,
        kind: &str,
        item: &JsonObject,
        metadata: Option<Box<ProviderMetadata>>,
        out: &mut Parts,
    ) -> ServerCall {
        let item_id = text(item, "id").unwrap_or_default();
        let call_id = text(item, "call_id").unwrap_or_default();
        let wire_id =
            if kind == "shell_call" && !call_id.is_empty() || item_id.is_empty() { call_id } else { item_id };
        let id = self.mint.call(wire_id);
        let name = self.tool(kind);
        let mut call = ToolCall::new(id.clone(), &*name, server::input(kind, item));
        call.provider_executed = true;
        call.metadata = metadata;
        out.push(StreamPart::ToolInputStart {
            id: id.clone(),
            tool_name: name.clone(),
            provider_executed: true,
            dynamic: false,
            title: None,
        });
        out.push(StreamPart::ToolInputDelta { id: id.clone(), delta: call.input.clone() });
        out.push(StreamPart::ToolInputEnd { id: id.clone() });
        out.push(StreamPart::ToolCall(Box::new(call)));
        ServerCall { id, name, wire_id: wire_id.to_owned() }
    }

    /// Whether an item of the last frame is one that was never done.
    pub(super) fn awaits(&self, item: &JsonObject) -> bool {
        let kind = text(item, "type").unwrap_or_default();
        let what = kind_of(kind, item, self.dialect.custom_calls_at_server);
        let id = text(item, "id").unwrap_or_default();
        self.items.is_open(id, what)
            || text(item, "call_id").is_some_and(|id| self.items.open_call(id).is_some())
    }

    /// An item is done: what came of it in pieces is closed, what did not come in pieces comes out.
    pub(super) fn done(
        &mut self,
        item: &JsonObject,
        index: Option<i64>,
        out: &mut Parts,
    ) -> Result<(), ModelError> {
        let kind = text(item, "type").unwrap_or_default();
        let label = Label { id: text(item, "id").unwrap_or_default(), index };
        let what = kind_of(kind, item, self.dialect.custom_calls_at_server);
        let at = match text(item, "call_id").filter(|_| what == Kind::Call) {
            Some(call_id) => {
                self.items.open_call(call_id).map_or_else(|| self.items.find(label, what), |at| Ok(Some(at)))
            }
            None => self.items.find(label, what),
        }?;
        let at = match at {
            Some(at) => at,
            None if self.items.is_done(label.id, what) => return Ok(()),
            None => {
                self.added(item, index, out)?;
                match self.items.find(label, what)? {
                    Some(at) => at,
                    None => return Ok(()),
                }
            }
        };
        let Some(entry) = self.items.take(at) else { return Ok(()) };
        let Item { id, mut joiner, state, .. } = entry;
        let item_id = if id.is_empty() { label.id } else { &id };
        match state {
            State::Text(mut block) => {
                self.whole_message(item, &mut block, &mut joiner, out)?;
                block.close(true, &mut joiner, &self.mint, out);
            }
            State::Reasoning(mut block) => {
                for (part, words) in reasoning_parts(item) {
                    if !block.came(part) {
                        block.add(part, words.into(), false, &mut joiner, &mut self.mint, out);
                    }
                }
                block.close(true, text(item, "encrypted_content"), &mut joiner, &self.mint, out);
            }
            State::Call(call) => self.finish_call(kind, item, item_id, call, &mut joiner, out)?,
            State::Server(call) => {
                self.result(kind, item, call.id, &call.name, false, out)?;
            }
            State::Other => self.other(kind, item, item_id, out)?,
        }
        Ok(())
    }

    /// What of a message did not come in pieces.
    fn whole_message(
        &mut self,
        item: &JsonObject,
        block: &mut Text,
        joiner: &mut Joiner,
        out: &mut Parts,
    ) -> Result<(), ModelError> {
        let content = item.get("content").and_then(Value::as_array).into_iter().flatten();
        for (part, index) in content.filter_map(Value::as_object).zip(0..) {
            let refusal = text(part, "refusal");
            self.refused |= refusal.is_some();
            let words = part.get("text").and_then(Value::as_str).or(refusal).unwrap_or_default();
            if !words.is_empty() && !block.came(index) {
                block.add(index, words.into(), false, joiner, out);
                for token in part.get("logprobs").and_then(Value::as_array).into_iter().flatten() {
                    self.logprobs.add_token(token)?;
                }
            }
            let annotations =
                part.get("annotations").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
            for annotation in annotations {
                self.sources.add(annotation, &self.mint, out)?;
            }
            block.annotate_all(annotations);
        }
        Ok(())
    }

    fn finish_call(
        &mut self,
        kind: &str,
        item: &JsonObject,
        item_id: &str,
        mut call: Call,
        joiner: &mut Joiner,
        out: &mut Parts,
    ) -> Result<(), ModelError> {
        let unnamed = call.name.is_empty();
        if let Some(name) = text(item, "name").filter(|_| unnamed) {
            name.clone_into(&mut call.name);
        }
        if let Some(id) = text(item, "call_id").filter(|_| call.call_id.is_empty()) {
            id.clone_into(&mut call.call_id);
        }
        if text(item, "status") == Some("incomplete") {
            // It was cut: what there is of it is shown, and it never becomes a call.
            call.show(joiner, &mut self.mint, out);
            return Ok(());
        }
        let input = match kind {
            "function_call" => arguments(item, "arguments"),
            "custom_tool_call" => {
                item.get("input").and_then(Value::as_str).map(|input| Value::from(input).to_string())
            }
            _ => server::whole(kind, item),
        };
        if self.asked.is_bundle(&call.name)
            && let Some(calls) = call.unbundled(input.clone())
        {
            for mut inner in calls {
                inner.id = self.mint.call(&inner.id);
                inner.metadata = None;
                self.called = true;
                out.push(StreamPart::ToolCall(Box::new(inner)));
            }
            return Ok(());
        }
        let mut done = call.finish(input, &mut self.mint, out);
        done.metadata = match kind {
            "function_call" => {
                let namespace = text(item, "namespace").map(|namespace| (NAMESPACE, namespace.into()));
                self.mint.done(item_id, namespace)
            }
            "code_interpreter_call" => self.mint.done(item_id, []),
            _ => self.mint.done(item_id, [(ITEM, server::kept(kind, item))]),
        };
        self.called |= matches!(kind, "function_call" | "custom_tool_call");
        let (id, name) = (done.id.clone(), done.name.clone());
        out.push(StreamPart::ToolCall(Box::new(done)));
        if call.at_server {
            self.result(kind, item, id, &name, false, out)?;
        }
        Ok(())
    }

    /// What came of a call the server ran. The item goes with it, for the way back.
    fn result(
        &mut self,
        kind: &str,
        item: &JsonObject,
        id: Id,
        name: &str,
        dynamic: bool,
        out: &mut Parts,
    ) -> Result<(), ModelError> {
        let mut result = ToolResult::new(id, name, server::output(kind, item)?);
        result.provider_executed = true;
        result.dynamic = dynamic;
        let item_id = text(item, "id").unwrap_or_default();
        result.metadata = self.mint.done(item_id, [(ITEM, server::kept(kind, item))]);
        out.push(StreamPart::ToolResult(Box::new(result)));
        Ok(())
    }

    /// An item of which nothing came before it was done.
    fn other(
        &mut self,
        kind: &str,
        item: &JsonObject,
        item_id: &str,
        out: &mut Parts,
    ) -> Result<(), ModelError> {
        match server::role(kind, item) {
            _ if kind == "custom_tool_call" => {
                let name = self.tool(text(item, "name").unwrap_or("custom"));
                let input = text(item, "input").unwrap_or_default();
                let id = self.run_by_server(item_id, &name, input, false, out);
                self.result(kind, item, id, &name, false, out)
            }
            Role::Mcp => {
                let name = format!("mcp.{}", text(item, "name").unwrap_or_default());
                let approval = text(item, "approval_request_id");
                let id = match approval.and_then(|approval| self.asked.approved_call(approval)) {
                    // The call itself came in an earlier answer.
                    Some(id) => id.clone(),
                    None => self.run_by_server(item_id, &name, &server::input(kind, item), true, out),
                };
                self.result(kind, item, id, &name, true, out)
            }
            Role::Approval => {
                let name = format!("mcp.{}", text(item, "name").unwrap_or_default());
                let mut call = ToolCall::new(self.mint.call(""), name, server::input(kind, item));
                call.provider_executed = true;
                call.dynamic = true;
                call.metadata = self.mint.done(item_id, [(ITEM, server::kept(kind, item))]);
                let tool_call_id = call.id.clone();
                out.push(StreamPart::ToolCall(Box::new(call)));
                let approval_id = text(item, "approval_request_id").unwrap_or(item_id).into();
                out.push(StreamPart::ToolApprovalRequest(ToolApprovalRequest { approval_id, tool_call_id }));
                Ok(())
            }
            Role::Client => {
                let wire_id = text(item, "call_id").unwrap_or(item_id);
                let mut call =
                    ToolCall::new(self.mint.call(wire_id), self.tool(kind), server::input(kind, item));
                call.metadata = self.mint.done(item_id, [(ITEM, server::kept(kind, item))]);
                self.called |= server::is_waited_for(kind);
                out.push(StreamPart::ToolCall(Box::new(call)));
                Ok(())
            }
            Role::Output => {
                let call_id = text(item, "call_id").unwrap_or_default();
                let Some((id, name)) = self.items.remembered(call_id, &self.tool(kind)) else {
                    return Ok(());
                };
                self.result(kind, item, id, &name, false, out)
            }
            Role::Silent => Ok(()),
            Role::Server => {
                // The item of its result does not say what was asked for: the call keeps its own.
                let metadata = self.mint.done(item_id, [(ITEM, server::kept(kind, item))]);
                let call = self.server_call(kind, item, metadata, out);
                self.items.remember(call);
                Ok(())
            }
            Role::Opaque => {
                let namespace = &self.mint.origin.target.provider;
                let kind = format!("{namespace}.{kind}");
                let metadata = self.mint.done(item_id, [(ITEM, item.clone().into())]);
                out.push(StreamPart::Custom(CustomPart {
                    kind,
                    options: ProviderOptions::default(),
                    metadata,
                }));
                Ok(())
            }
        }
    }

    /// A call of the server's own, whole.
    fn run_by_server(
        &mut self,
        item_id: &str,
        name: &str,
        input: &str,
        dynamic: bool,
        out: &mut Parts,
    ) -> Id {
        let mut call = ToolCall::new(self.mint.call(item_id), name, input);
        call.provider_executed = true;
        call.dynamic = dynamic;
        call.metadata = self.mint.done(item_id, []);
        let id = call.id.clone();
        out.push(StreamPart::ToolCall(Box::new(call)));
        id
    }

    /// The answer is over: blocks are closed, calls whose input is known to be whole come out, others do not.
    pub(super) fn close(&mut self, complete: bool, out: &mut Parts) {
        for mut item in self.items.take_open() {
            match &mut item.state {
                State::Text(block) => block.close(false, &mut item.joiner, &self.mint, out),
                State::Reasoning(block) => block.close(false, None, &mut item.joiner, &self.mint, out),
                State::Call(call) if complete && call.is_whole() => {
                    let mut done = call.finish(None, &mut self.mint, out);
                    done.metadata = self.mint.done(&item.id, []);
                    self.called |= !call.at_server;
                    out.push(StreamPart::ToolCall(Box::new(done)));
                }
                State::Call(call) => call.show(&mut item.joiner, &mut self.mint, out),
                State::Server(_) | State::Other => {}
            }
        }
    }

    /// Shows what there is of calls that will never be complete.
    pub(super) fn show(&mut self, out: &mut Parts) {
        for item in self.items.open_mut() {
            if let State::Call(call) = &mut item.state {
                call.show(&mut item.joiner, &mut self.mint, out);
            }
        }
    }
}

fn named_call(item: &JsonObject, shape: Shape) -> Call {
    Call::new(text(item, "call_id").unwrap_or_default(), text(item, "name").unwrap_or_default(), shape)
}

/// The texts of a reasoning item that is done.
fn reasoning_parts(item: &JsonObject) -> impl Iterator<Item = (Part, &str)> {
    [(Form::Summary, "summary"), (Form::Content, "content")].into_iter().flat_map(move |(form, field)| {
        let parts = item.get(field).and_then(Value::as_array).into_iter().flatten();
        parts.zip(0..).filter_map(move |(part, index)| {
            let words = part.get("text")?.as_str().filter(|words| !words.is_empty())?;
            Some((Part { form, index }, words))
        })
    })
}
