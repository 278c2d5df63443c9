use std::borrow::Cow;
use std::collections::HashMap;

use ai_http::Parts;
use ai_provider::{ErrorClass, Id, ModelError, ProviderMetadata, StreamPart, ToolCall};
use serde_json::Value;

use super::arguments::{Arguments, Leaf};
use super::frame::{FunctionCall, PartialArg};
use super::ids::AnswerIds;
use super::path;

/// Calls of one answer. A model makes some dozens at most.
const MAX_CALLS: usize = 1_024;
/// Bytes of the inputs of all calls: what an assembler would take too.
const MAX_INPUT: usize = 64 << 20;
/// Bytes of a tool's name. The API stops at 64.
const MAX_NAME: usize = 1_024;

/// The function calls of an answer: whole ones, and those whose arguments come in pieces.
///
/// A piece without a name goes on with the open call, and where several are open its id says with which. An
/// empty piece, or one that does not announce another, is the last.
#[derive(Debug, Default)]
pub(super) struct Calls {
    open: Vec<Open>,
    count: usize,
    /// Input so far, of all calls.
    bytes: usize,
    /// The complete calls with an id of the server's: name and input.
    known: HashMap<Id, (String, String)>,
}

#[derive(Debug)]
struct Open {
    id: Id,
    /// The id as the server gave it.
    given: Option<String>,
    name: String,
    arguments: Arguments,
    signature: Option<Box<ProviderMetadata>>,
}

impl Calls {
    /// Whether a call began.
    pub(super) fn any(&self) -> bool {
        self.count > 0
    }

    pub(super) fn take(
        &mut self,
        mut call: FunctionCall<'_>,
        signature: Option<Box<ProviderMetadata>>,
        ids: &mut AnswerIds,
        out: &mut Parts,
    ) -> Result<(), ModelError> {
        let given = call.id.take_said();
        let name = call.name.take_said();
        let args = call.args.map(|args| args.get()).filter(|args| *args != "{}");
        let goes_on = call.will_continue.unwrap_or(false);
        let pieces = call.partial_args;
        self.count_bytes(args.map_or(0, str::len))?;
        if let (Some(name), false, true) = (&name, goes_on, pieces.is_empty()) {
            return self.whole(given, name, args.unwrap_or("{}"), signature, ids, out);
        }
        let begun =
            self.open.iter().position(|open| given.is_some() && open.given.as_deref() == given.as_deref());
        let at = match (begun, name) {
            (Some(at), _) => at,
            (None, Some(name)) => self.begin(given, &name, args, ids, out)?,
            (None, None) => match self.open.as_slice() {
                [_] => 0,
                // The end of a call that has ended.
                [] if pieces.is_empty() && args.is_none() => return Ok(()),
                [] => return Err(protocol("a piece of a tool call belongs to no call")),
                _ => {
                    return Err(protocol(
                        "a piece of a tool call does not say which of several calls it belongs to",
                    ));
                }
            },
        };
        for piece in pieces {
            self.piece(at, piece, out)?;
        }
        if let Some(open) = self.open.get_mut(at)
            && signature.is_some()
        {
            open.signature = signature;
        }
        if !goes_on && at < self.open.len() {
            let open = self.open.remove(at);
            self.complete(open, out);
        }
        Ok(())
    }

    /// A call in one piece.
    fn whole(
        &mut self,
        given: Option<Cow<'_, str>>,
        name: &str,
        input: &str,
        signature: Option<Box<ProviderMetadata>>,
        ids: &mut AnswerIds,
        out: &mut Parts,
    ) -> Result<(), ModelError> {
        let repeated = given.as_deref().and_then(|id| self.known.get(id));
        if repeated.is_some_and(|(known, args)| known == name && args == input) {
            return Ok(());
        }
        let at = self.begin(given, name, None, ids, out)?;
        let mut open = self.open.remove(at);
        open.signature = signature;
        out.push(StreamPart::ToolInputDelta { id: open.id.clone(), delta: input.to_owned() });
        self.ended(open, input.to_owned(), out);
        Ok(())
    }

    /// Begins a call; returns its place among the open ones.
    fn begin(
        &mut self,
        given: Option<Cow<'_, str>>,
        name: &str,
        args: Option<&str>,
        ids: &mut AnswerIds,
        out: &mut Parts,
    ) -> Result<usize, ModelError> {
        if self.count >= MAX_CALLS {
            return Err(too_large(format!("the answer has more than {MAX_CALLS} tool calls")));
        }
        if name.len() > MAX_NAME {
            return Err(too_large(format!("the name of a tool has more than {MAX_NAME} bytes")));
        }
        let given = given.map(Cow::into_owned);
        let id = ids.call(given.as_deref());
        let arguments = match args.map(serde_json::from_str::<Value>) {
            None => Arguments::default(),
            Some(Ok(args @ Value::Object(_))) => Arguments::of(args),
            Some(_) => return Err(protocol("the arguments of a tool call are no object")),
        };
        self.count += 1;
        out.push(StreamPart::ToolInputStart {
            id: id.clone(),
            tool_name: name.to_owned(),
            provider_executed: false,
            dynamic: false,
            title: None,
        });
        self.open.push(Open { id, given, name: name.to_owned(), arguments, signature: None });
        Ok(self.open.len() - 1)
    }

    fn piece(&mut self, at: usize, mut piece: PartialArg<'_>, out: &mut Parts) -> Result<(), ModelError> {
        let place = piece.json_path.take().unwrap_or_default();
        let text = piece.string_value.take();
        self.count_bytes(place.len() + text.as_deref().map_or(0, str::len))?;
        let leaf = match (&text, piece.number_value, piece.bool_value) {
            (Some(text), _, _) => Leaf::Text(text, piece.will_continue.unwrap_or(false)),
            (None, Some(number), _) => Leaf::Other(number_of(number.get())?),
            (None, None, Some(value)) => Leaf::Other(if value { "true" } else { "false" }),
            (None, None, None) if piece.null_value.0 => Leaf::Other("null"),
            (None, None, None) => return Ok(()),
        };
        let Some(open) = self.open.get_mut(at) else { return Ok(()) };
        let delta = open.arguments.take(&path::parse(&place)?, leaf)?;
        if !delta.is_empty() {
            out.push(StreamPart::ToolInputDelta { id: open.id.clone(), delta });
        }
        Ok(())
    }

    /// The answer is over. A call that is open still has come to its end if the model says that it stopped
    /// where it wanted to, and not within a text.
    ///
    /// # Errors
    /// `Incomplete` if the model `stopped` in the middle of a call.
    pub(super) fn finish(&mut self, stopped: bool, out: &mut Parts) -> Result<(), ModelError> {
        if !stopped {
            return Ok(());
        }
        if self.open.iter().any(|open| open.arguments.in_text()) {
            return Err(ModelError::new(
                ErrorClass::Incomplete,
                "the answer ended in the middle of a tool call",
            ));
        }
        for open in std::mem::take(&mut self.open) {
            self.complete(open, out);
        }
        Ok(())
    }

    fn complete(&mut self, mut open: Open, out: &mut Parts) {
        let (input, shown) = std::mem::take(&mut open.arguments).finish();
        // Of a tree nothing may have been shown in its own order, so only what is new behind a text is added.
        let rest = shown.and_then(|shown| input.get(shown..)).unwrap_or_default();
        if !rest.is_empty() {
            out.push(StreamPart::ToolInputDelta { id: open.id.clone(), delta: rest.to_owned() });
        }
        self.ended(open, input, out);
    }

    fn ended(&mut self, open: Open, input: String, out: &mut Parts) {
        out.push(StreamPart::ToolInputEnd { id: open.id.clone() });
        if open.given.is_some() {
            self.known.insert(open.id.clone(), (open.name.clone(), input.clone()));
        }
        let mut call = ToolCall::new(open.id, open.name, input);
        call.metadata = open.signature;
        out.push(StreamPart::ToolCall(Box::new(call)));
    }

    fn count_bytes(&mut self, more: usize) -> Result<(), ModelError> {
        self.bytes = self.bytes.saturating_add(more);
        if self.bytes > MAX_INPUT {
            return Err(too_large(format!("the inputs of the tool calls have more than {MAX_INPUT} bytes")));
        }
        Ok(())
    }
}

/// JSON of a number, and nothing else.
fn number_of(json: &str) -> Result<&str, ModelError> {
    match json.starts_with(|first: char| first == '-' || first.is_ascii_digit()) {
        true => Ok(json),
        false => Err(protocol("a number in the arguments of a tool call is none")),
    }
}

fn protocol(message: &str) -> ModelError {
    ModelError::new(ErrorClass::Protocol, message)
}

fn too_large(message: String) -> ModelError {
    ModelError::new(ErrorClass::TooLarge, message)
}
