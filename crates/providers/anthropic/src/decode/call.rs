use std::borrow::Cow;

use ai_http::Parts;
use ai_http::halves::Joiner;
use ai_provider::{ErrorClass, Id, ModelError, StreamPart, ToolCall};
use serde_json::value::RawValue;

use super::frame::Block;
use super::scope::Scope;
use crate::metadata::{CALLER, SERVER_NAME, WIRE_NAME, WIRE_TYPE};
use crate::server_tools;

/// A tool call as it comes.
#[derive(Debug)]
pub(super) struct Call {
    call: ToolCall,
    /// What the input says first, where a tool of a tool is folded into one name.
    fold: Option<Fold>,
    /// The input stood in the start of the block; what follows repeats it.
    given: bool,
    joiner: Joiner,
}

/// Where the field that names the inner tool has got to.
#[derive(Clone, Copy, Debug)]
enum Fold {
    /// The object has not begun.
    Before(&'static str),
    /// It has; a comma goes before the next field.
    Begun,
}

impl Call {
    /// A call of this block, and the start of its input.
    pub(super) fn start(block: &Block<'_>, id: Id, scope: &Scope, out: &mut Parts) -> Self {
        let wire_name = &*block.name;
        let (name, fold) = match server_tools::folded(wire_name) {
            Some((outer, inner)) => (outer, Some(Fold::Before(inner))),
            None => (wire_name, None),
        };
        let raw = |value: Option<&RawValue>| value.and_then(|value| serde_json::from_str(value.get()).ok());
        let server = &*block.kind != "tool_use";
        let mut metadata = Vec::new();
        if server {
            metadata.push((WIRE_TYPE, block.kind.to_string().into()));
            metadata.push((WIRE_NAME, wire_name.into()));
        }
        metadata.extend(block.server_name.said().map(|name| (SERVER_NAME, name.into())));
        metadata.extend(raw(block.caller).map(|caller| (CALLER, caller)));
        let mut call = ToolCall::new(id, scope.names.ours(name), "");
        call.input.clear();
        call.provider_executed = server;
        call.dynamic = &*block.kind == "mcp_tool_use";
        call.metadata = scope.minted(metadata);
        out.push(StreamPart::ToolInputStart {
            id: call.id.clone(),
            tool_name: call.name.clone(),
            provider_executed: call.provider_executed,
            dynamic: call.dynamic,
            title: None,
        });
        Self { call, fold, given: false, joiner: Joiner::default() }
    }

    /// Id, name and whether it is dynamic, of a call the provider runs: its result names the id alone.
    pub(super) fn server_call(&self) -> Option<(Id, String, bool)> {
        let ToolCall { id, name, dynamic, provider_executed, .. } = &self.call;
        provider_executed.then(|| (id.clone(), name.clone(), *dynamic))
    }

    /// The input that stands in the start of the block: of a whole answer, all of it.
    pub(super) fn give(&mut self, input: &str, out: &mut Parts) -> Result<(), ModelError> {
        self.add(input.into(), false, out)?;
        self.given = true;
        Ok(())
    }

    /// A piece of the input; `marked` if it may hold stand-ins for halves of characters.
    pub(super) fn add(
        &mut self,
        piece: Cow<'_, str>,
        marked: bool,
        out: &mut Parts,
    ) -> Result<(), ModelError> {
        if self.given {
            return Ok(());
        }
        let piece = match marked || self.joiner.holds() {
            false => piece,
            true => match self.joiner.join(&piece, marked) {
                // A tool would run with it.
                (_, true) => return Err(half_a_character()),
                (piece, false) => piece.into(),
            },
        };
        let piece = match self.fold {
            None => piece.into_owned(),
            Some(_) => self.folded(&piece),
        };
        if !piece.is_empty() {
            self.call.input.push_str(&piece);
            out.push(StreamPart::ToolInputDelta { id: self.call.id.clone(), delta: piece });
        }
        Ok(())
    }

    /// The piece with the name of the inner tool as the first field of the object.
    fn folded(&mut self, piece: &str) -> String {
        let mut folded = String::with_capacity(piece.len() + 40);
        let mut rest = piece;
        if let Some(Fold::Before(inner)) = self.fold {
            let Some((before, behind)) = rest.split_once('{').filter(|(before, _)| before.trim().is_empty())
            else {
                if !rest.trim().is_empty() {
                    self.fold = None;
                }
                return rest.to_owned();
            };
            folded.push_str(before);
            folded.push_str(&server_tools::inner_field(inner));
            self.fold = Some(Fold::Begun);
            rest = behind;
        }
        if let Some(next) = rest.trim_start().chars().next() {
            if next != '}' {
                folded.push(',');
            }
            self.fold = None;
        }
        folded.push_str(rest);
        folded
    }

    /// Whether what came reads as the input of a tool.
    pub(super) fn is_whole(&self) -> bool {
        self.call.input.trim().is_empty() || ai_http::is_json_object(&self.call.input)
    }

    /// The call is complete.
    pub(super) fn end(mut self, out: &mut Parts) {
        if let Some(lost) = self.joiner.end() {
            self.call.input.push(lost);
            out.push(StreamPart::ToolInputDelta { id: self.call.id.clone(), delta: lost.to_string() });
        }
        if self.call.input.trim().is_empty() {
            self.call.input = match self.fold {
                Some(Fold::Before(inner)) => server_tools::inner_field(inner) + "}",
                _ => "{}".to_owned(),
            };
        }
        out.push(StreamPart::ToolInputEnd { id: self.call.id.clone() });
        out.push(StreamPart::ToolCall(Box::new(self.call)));
    }
}

/// The input a block begins with; nothing where it is empty, as in a stream.
pub(super) fn given(input: Option<&RawValue>) -> Option<Cow<'_, str>> {
    let input = input?.get().trim();
    if input.starts_with('"') {
        // Written as a text by servers that translate from other APIs.
        return serde_json::from_str::<String>(input)
            .ok()
            .filter(|text| !text.trim().is_empty())
            .map(Cow::Owned);
    }
    let inside = input.strip_prefix('{').and_then(|input| input.strip_suffix('}'));
    let empty = input == "null" || inside.is_some_and(|inside| inside.trim().is_empty());
    (!empty).then_some(Cow::Borrowed(input))
}

fn half_a_character() -> ModelError {
    ModelError::new(ErrorClass::Protocol, "the input of a tool call holds half a character")
}
