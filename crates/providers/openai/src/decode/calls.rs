use std::borrow::Cow;

use ai_http::halves::Joiner;
use ai_http::{IdSeed, Parts};
use ai_provider::{
    ErrorClass, Id, ModelError, Origin, ProviderMetadata, ProviderOptions, StreamPart, ToolCall,
};
use serde::de::IgnoredAny;

use super::SIGNATURE;
use super::object::ObjectEnd;

/// Calls of one answer. A model makes some dozens at most.
const MAX_CALLS: usize = 1_024;
/// Bytes of the inputs of all calls: what an assembler would take too.
const MAX_INPUT: usize = 64 << 20;
/// Bytes of a tool's name. APIs stop at 64.
const MAX_NAME: usize = 1_024;

/// Puts the fragments of tool calls together.
///
/// No field of a fragment can be relied on: ids, indexes and names are missing, empty, repeated or shared.
/// So a fragment is given to a call by the first label that says something: its id, then its index, then that
/// there is only one call. Where nothing says it, it is an error: a guess would run a tool with the arguments
/// of another.
#[derive(Debug, Default)]
pub(super) struct Calls {
    calls: Vec<Call>,
    /// The call of the last fragment: if the answer was cut, it is the one that is cut.
    last: usize,
    /// The input so far, of all calls.
    bytes: usize,
}

/// A piece of a call. An empty field says nothing.
#[derive(Debug, Default)]
pub(super) struct Fragment<'a> {
    pub(super) id: Cow<'a, str>,
    /// A label alone: it may start anywhere and have holes.
    pub(super) index: Option<i64>,
    pub(super) name: Cow<'a, str>,
    pub(super) input: Cow<'a, str>,
    /// The input is a text, and no JSON: it becomes a JSON string.
    pub(super) is_text: bool,
    /// The input has stand-ins for halves of characters.
    pub(super) marked: bool,
    pub(super) signature: Option<String>,
}

impl Fragment<'_> {
    fn is_empty(&self) -> bool {
        self.is_signature() && self.signature.is_none()
    }

    /// Whether nothing of the call itself is in it.
    fn is_signature(&self) -> bool {
        self.id.is_empty() && self.name.is_empty() && self.input.is_empty()
    }
}

#[derive(Debug, Default)]
struct Call {
    id: Option<Id>,
    /// The id the server gave is another call's already.
    id_taken: bool,
    index: Option<i64>,
    name: String,
    input: String,
    is_text: bool,
    joiner: Joiner,
    object: ObjectEnd,
    signature: Option<String>,
    /// Its start is sent, with the input so far. Before that its id or name may still change.
    started: bool,
}

impl Calls {
    pub(super) fn is_empty(&self) -> bool {
        self.calls.iter().all(Call::is_empty)
    }

    /// Takes a piece of a stream.
    pub(super) fn fragment(&mut self, fragment: Fragment<'_>, out: &mut Parts) -> Result<(), ModelError> {
        if fragment.is_empty() {
            return Ok(());
        }
        let at = match self.find(&fragment)? {
            Some(at) => at,
            None => self.open(&fragment)?,
        };
        self.give(at, fragment, out)
    }

    /// Takes a call of an answer in one body: each entry is a call of its own.
    pub(super) fn whole(&mut self, fragment: Fragment<'_>, out: &mut Parts) -> Result<(), ModelError> {
        let at = self.open(&fragment)?;
        self.give(at, fragment, out)
    }

    fn give(&mut self, at: usize, fragment: Fragment<'_>, out: &mut Parts) -> Result<(), ModelError> {
        if !fragment.is_signature() {
            self.last = at;
        }
        self.bytes = self.bytes.saturating_add(fragment.input.len());
        if self.bytes > MAX_INPUT {
            return Err(too_large(format!("the inputs of the tool calls have more than {MAX_INPUT} bytes")));
        }
        let Some((earlier, rest)) = self.calls.split_at_mut_checked(at) else { return Ok(()) };
        // Calls start in the order in which they began: that is the order of their results too. One that waits for
        // more of its name has it once another call goes on.
        for call in earlier.iter_mut().filter(|call| call.is_named()) {
            call.start(out);
        }
        let first = earlier.iter().all(|call| call.started || call.is_empty());
        match rest.first_mut() {
            Some(call) => call.take(fragment, first, out),
            None => Ok(()),
        }
    }

    /// Which call the fragment goes on with; none if it begins one.
    fn find(&self, fragment: &Fragment<'_>) -> Result<Option<usize>, ModelError> {
        if let [call] = self.calls.as_slice()
            && call.is_empty()
            && call.index.is_none()
        {
            // A signature in front of everything else of its call.
            return Ok(Some(0));
        }
        let same_id = |call: &Call| !fragment.id.is_empty() && call.id.as_deref() == Some(&*fragment.id);
        let same_index = |call: &Call| fragment.index.is_some() && call.index == fragment.index;
        let by_id = self.calls.iter().rposition(same_id);
        let by_index = self.calls.iter().rposition(same_index);
        let only = (self.calls.len() == 1).then_some(0);
        let goes_on = |at: &usize| self.calls.get(*at).is_some_and(|call| !call.is_followed_by(fragment));

        if let Some(at) = by_id {
            // One id for several calls, told apart by their index.
            let other = fragment.index.is_some() && by_index.is_none();
            return Ok(Some(at).filter(|at| !other || goes_on(at)));
        }
        if !fragment.id.is_empty() {
            let nameless = by_index.or(only.filter(|_| fragment.index.is_none()));
            return Ok(nameless
                .filter(|at| self.calls.get(*at).is_some_and(|call| call.id.is_none()) && goes_on(at)));
        }
        if let Some(at) = by_index {
            return Ok(Some(at).filter(goes_on));
        }
        match (fragment.name.is_empty(), self.calls.as_slice()) {
            (_, []) => Ok(None),
            (false, _) if fragment.index.is_some() => Ok(None),
            (true, [_]) => Ok(only),
            (false, [.., last]) if last.is_followed_by(fragment) => Ok(None),
            (false, [_]) => Ok(only),
            _ => Err(ModelError::new(
                ErrorClass::Protocol,
                "a piece of a tool call does not say which of several calls it belongs to",
            )),
        }
    }

    fn open(&mut self, fragment: &Fragment<'_>) -> Result<usize, ModelError> {
        let at = self.calls.len();
        if at >= MAX_CALLS {
            return Err(too_large(format!("the answer has more than {MAX_CALLS} tool calls")));
        }
        let id_taken = !fragment.id.is_empty()
            && self.calls.iter().any(|call| call.id.as_deref() == Some(&*fragment.id));
        self.calls.push(Call { id_taken, ..Call::default() });
        Ok(at)
    }

    /// The answer is over: the calls come out, in the order in which they began.
    ///
    /// If it was cut, the last call was, however its text reads, and any other counts only if its text is a
    /// whole object: the rest stays begun and never becomes a call.
    pub(super) fn finish(&mut self, cut: bool, ids: &IdSeed, origin: &Origin, out: &mut Parts) {
        self.show(ids, out);
        let last = self.last;
        for (at, call) in std::mem::take(&mut self.calls).into_iter().enumerate() {
            let Some(id) = call.id.filter(|_| call.started) else { continue };
            if cut && (at == last || !is_object(&call.input)) {
                continue;
            }
            let mut input = call.input;
            if call.is_text {
                input.push('"');
                out.push(StreamPart::ToolInputDelta { id: id.clone(), delta: "\"".to_owned() });
            }
            out.push(StreamPart::ToolInputEnd { id: id.clone() });
            let mut done = ToolCall::new(id, call.name, input);
            done.metadata = call.signature.map(|signature| {
                let values = ProviderOptions::default().with(
                    origin.target.provider.as_str(),
                    SIGNATURE,
                    signature.into(),
                );
                Box::new(ProviderMetadata::minted(origin.clone(), values))
            });
            out.push(StreamPart::ToolCall(Box::new(done)));
        }
    }

    /// Sends what was held back because the id or the name might still have come.
    pub(super) fn show(&mut self, ids: &IdSeed, out: &mut Parts) {
        for (at, call) in self.calls.iter_mut().enumerate().filter(|(_, call)| !call.is_empty()) {
            if call.id.is_none() || call.id_taken {
                call.id = Some(ids.id("call", at));
                call.id_taken = false;
            }
            if let Some(lost) = call.joiner.end() {
                // What ends like this is not JSON: no tool runs with it.
                call.add(lost.to_string().into(), true, out);
            }
            call.start(out);
        }
    }
}

impl Call {
    /// Whether only a signature came, which is no call.
    fn is_empty(&self) -> bool {
        self.id.is_none() && self.name.is_empty() && self.input.is_empty() && !self.joiner.holds()
    }

    /// Whether the fragment begins another call: it has a name, and this call has both a name and all of its
    /// input. It is asked only where no label tells.
    fn is_followed_by(&self, fragment: &Fragment<'_>) -> bool {
        !fragment.name.is_empty()
            && !self.name.is_empty()
            && self.object.is_over()
            && (fragment.name != self.name || !fragment.input.trim().is_empty())
    }

    /// Whether it has all that its start says.
    fn is_named(&self) -> bool {
        self.id.is_some() && !self.id_taken && !self.name.is_empty()
    }

    /// Takes a piece. It may start if all calls before it have.
    fn take(&mut self, fragment: Fragment<'_>, first: bool, out: &mut Parts) -> Result<(), ModelError> {
        if self.id.is_none() && !fragment.id.is_empty() {
            self.id = Some(Id::from(&*fragment.id));
        }
        self.index = self.index.or(fragment.index);
        // Some servers repeat the name, some send it in pieces.
        let grows = !fragment.name.is_empty() && fragment.name != self.name;
        if grows {
            self.name.push_str(&fragment.name);
        }
        let opens = fragment.is_text && !self.is_text;
        self.is_text |= fragment.is_text;
        if self.name.len() > MAX_NAME {
            return Err(too_large(format!("the name of a tool has more than {MAX_NAME} bytes")));
        }
        if fragment.signature.is_some() {
            self.signature = fragment.signature;
        }
        if fragment.input.is_empty() && !opens {
            return Ok(());
        }
        let mut input = fragment.input;
        if fragment.marked || self.joiner.holds() {
            let (joined, alone) = self.joiner.join(&input, fragment.marked);
            if alone {
                let message = "the arguments of a tool call hold half a character";
                return Err(ModelError::new(ErrorClass::Protocol, message));
            }
            input = joined.into();
        }
        if fragment.is_text {
            let opening = if opens { "\"" } else { "" };
            input = format!("{opening}{}", escaped(&input)).into();
        }
        // Where a piece of the name comes, the next may bring more of it.
        self.object.feed(&input);
        let starts = first && (!grows || self.object.is_over());
        self.add(input, starts, out);
        Ok(())
    }

    fn add(&mut self, input: Cow<'_, str>, starts: bool, out: &mut Parts) {
        self.input.push_str(&input);
        if !self.started {
            if starts && self.is_named() {
                self.start(out);
            }
        } else if let Some(id) = self.id.clone().filter(|_| !input.is_empty()) {
            out.push(StreamPart::ToolInputDelta { id, delta: input.into_owned() });
        }
    }

    fn start(&mut self, out: &mut Parts) {
        let Some(id) = self.id.clone().filter(|_| !self.started) else { return };
        self.started = true;
        out.push(StreamPart::ToolInputStart {
            id: id.clone(),
            tool_name: self.name.clone(),
            provider_executed: false,
            dynamic: false,
            title: None,
        });
        if !self.input.is_empty() {
            out.push(StreamPart::ToolInputDelta { id, delta: self.input.clone() });
        }
    }
}

/// A text as the inside of a JSON string.
pub(crate) fn escaped(text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    quoted.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or_default().to_owned()
}

fn is_object(input: &str) -> bool {
    input.trim_start().starts_with('{') && serde_json::from_str::<IgnoredAny>(input).is_ok()
}

fn too_large(message: String) -> ModelError {
    ModelError::new(ErrorClass::TooLarge, message)
}
