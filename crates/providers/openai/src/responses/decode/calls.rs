use std::borrow::Cow;

use ai_http::Parts;
use ai_http::halves::Joiner;
use ai_provider::{ErrorClass, Id, JsonObject, ModelError, StreamPart, ToolCall};
use serde_json::Value;

use super::mint::Mint;
use crate::decode::escaped;

/// A call whose input streams.
#[derive(Debug, Default)]
pub(super) struct Call {
    /// As the server names it; empty as long as it does not.
    pub(super) call_id: String,
    /// Empty as long as it is not known.
    pub(super) name: String,
    pub(super) at_server: bool,
    shape: Shape,
    /// As far as it was shown, or would be.
    input: String,
    /// The id it was started under.
    started: Option<Id>,
    /// The whole input, as an event said it that was not the item's last.
    whole: Option<String>,
}

/// How the streamed text makes an input.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Shape {
    /// It is JSON.
    #[default]
    Json,
    /// It is a text, put between these as a JSON string.
    Text { before: String, after: &'static str },
}

/// A call of the server's own that came out before it was done.
#[derive(Debug)]
pub(super) struct ServerCall {
    pub(super) id: Id,
    pub(super) name: String,
    /// The id under which the server speaks of it.
    pub(super) wire_id: String,
}

impl Call {
    pub(super) fn new(call_id: &str, name: &str, shape: Shape) -> Self {
        Self { call_id: call_id.to_owned(), name: name.to_owned(), shape, ..Self::default() }
    }

    /// Shows the call, under the id it has to keep.
    pub(super) fn start(&mut self, mint: &mut Mint, out: &mut Parts) -> Id {
        if let Some(id) = &self.started {
            return id.clone();
        }
        let id = mint.call(&self.call_id);
        self.started = Some(id.clone());
        if let Shape::Text { before, .. } = &self.shape {
            self.input.insert_str(0, before);
        }
        out.push(StreamPart::ToolInputStart {
            id: id.clone(),
            tool_name: self.name.clone(),
            provider_executed: self.at_server,
            dynamic: false,
            title: None,
        });
        if !self.input.is_empty() {
            out.push(StreamPart::ToolInputDelta { id: id.clone(), delta: self.input.clone() });
        }
        id
    }

    /// More of the input.
    pub(super) fn add(
        &mut self,
        text: Cow<'_, str>,
        marked: bool,
        joiner: &mut Joiner,
        out: &mut Parts,
    ) -> Result<(), ModelError> {
        let mut text = text;
        if marked || joiner.holds() {
            let (joined, alone) = joiner.join(&text, marked);
            if alone {
                let message = "the input of a tool call holds half a character";
                return Err(ModelError::new(ErrorClass::Protocol, message));
            }
            text = joined.into();
        }
        let delta = match self.shape {
            Shape::Json => text.into_owned(),
            Shape::Text { .. } => escaped(&text),
        };
        self.input.push_str(&delta);
        if let Some(id) = self.started.clone().filter(|_| !delta.is_empty()) {
            out.push(StreamPart::ToolInputDelta { id, delta });
        }
        Ok(())
    }

    /// Notes the whole input, in case that the item's end does not say it.
    pub(super) fn note_whole(&mut self, input: String) {
        if !input.trim().is_empty() {
            self.whole = Some(input);
        }
    }

    /// Whether its input is known to be whole, though its item was never done.
    pub(super) fn is_whole(&self) -> bool {
        !self.name.is_empty() && self.whole.is_some()
    }

    /// The whole input: as its item says it, or as far as it came.
    fn whole(&mut self, input: Option<String>) -> String {
        input.or(self.whole.take()).unwrap_or_else(|| match &self.shape {
            Shape::Json => self.input.clone(),
            Shape::Text { after, .. } => format!("{}{after}", self.input),
        })
    }

    /// The call is complete; its input, where its item says it.
    pub(super) fn finish(&mut self, input: Option<String>, mint: &mut Mint, out: &mut Parts) -> ToolCall {
        let id = self.start(mint, out);
        let input = self.whole(input);
        if let Some(rest) = input.strip_prefix(&*self.input).filter(|rest| !rest.is_empty()) {
            out.push(StreamPart::ToolInputDelta { id: id.clone(), delta: rest.to_owned() });
        }
        out.push(StreamPart::ToolInputEnd { id: id.clone() });
        let mut call = ToolCall::new(id, std::mem::take(&mut self.name), input);
        call.provider_executed = self.at_server;
        call
    }

    /// The calls that a model put into this one, under the ids `<id>_<n>`; none if its input is no list of calls.
    pub(super) fn unbundled(&mut self, input: Option<String>) -> Option<Vec<ToolCall>> {
        let input = self.whole(input);
        let calls = unbundled(&self.call_id, &input);
        self.whole = Some(input);
        calls
    }

    /// Shows what there is of a call that will never be complete.
    pub(super) fn show(&mut self, joiner: &mut Joiner, mint: &mut Mint, out: &mut Parts) {
        if self.started.is_none() && self.name.is_empty() && self.input.is_empty() {
            return;
        }
        let id = self.start(mint, out);
        if let Some(lost) = joiner.end() {
            out.push(StreamPart::ToolInputDelta { id, delta: lost.to_string() });
        }
    }
}

/// The arguments of an item: a text of JSON, or the JSON itself.
pub(super) fn arguments(item: &JsonObject, field: &str) -> Option<String> {
    match item.get(field)? {
        Value::Null => None,
        Value::String(text) => Some(text.clone()).filter(|text| !text.trim().is_empty()),
        other => Some(other.to_string()),
    }
}

fn unbundled(id: &str, input: &str) -> Option<Vec<ToolCall>> {
    let input: Value = serde_json::from_str(input).ok()?;
    let list = match &input {
        Value::Array(list) => list,
        Value::Object(fields) => {
            let names = ["tool_uses", "tool_calls", "calls", "tools"];
            names.iter().find_map(|name| fields.get(*name)?.as_array())?
        }
        _ => return None,
    };
    let calls: Option<Vec<_>> = list.iter().enumerate().map(|(nth, call)| inner(id, nth, call)).collect();
    calls.filter(|calls| !calls.is_empty())
}

fn inner(id: &str, nth: usize, call: &Value) -> Option<ToolCall> {
    let call = call.as_object()?;
    let names = ["recipient_name", "name", "tool_name"];
    let name = names.iter().find_map(|name| call.get(*name)?.as_str())?;
    let name = name.strip_prefix("functions.").unwrap_or(name).trim();
    let input = ["parameters", "arguments", "input"].iter().find_map(|name| arguments(call, name));
    let input = input.unwrap_or_default();
    let whole = input.is_empty() || matches!(serde_json::from_str(&input), Ok(Value::Object(_)));
    (!name.is_empty() && whole).then(|| ToolCall::new(format!("{id}_{nth}"), name, input))
}
