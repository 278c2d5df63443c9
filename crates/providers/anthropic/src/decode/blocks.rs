use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use ai_http::Parts;
use ai_provider::{CustomPart, ErrorClass, Id, ModelError, ProviderOptions, StreamPart};
use serde_json::Value;
use serde_json::value::RawValue;

use super::call::Call;
use super::frame::Block;
use super::kind::{Kind, Open, reasoning_delta, text_delta};
use super::loose::Index;
use super::protocol;
use super::scope::Scope;
use crate::metadata::{BLOCK, ENCRYPTED, SIGNATURE};

/// Blocks of one answer: as many as a message may have parts.
const MAX_BLOCKS: usize = 10_000;

/// Bytes of the inputs of all calls: as many as a message may have.
const MAX_INPUTS: usize = 64 << 20;

/// The content blocks of an answer.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    pub(super) open: Vec<Open>,
    /// The last call, whole as far as is known. Only what follows shows whether the answer was cut in it.
    pub(super) held: Option<Call>,
    numbers: HashSet<i64>,
    pub(super) calls: HashSet<Id>,
    /// Calls that stood in the start of the message; the stream may repeat them.
    pub(super) repeatable: HashSet<String>,
    /// Calls the provider runs: id on the wire → our id, our name, dynamic.
    pub(super) server_calls: HashMap<String, (Id, String, bool)>,
    count: usize,
    inputs: usize,
    /// Something of substance came.
    pub(super) came: bool,
    /// The tool that stands for the answer's format was called.
    pub(super) json: bool,
    /// The event that is being read has stand-ins for halves of characters.
    pub(super) marked: bool,
}

impl Blocks {
    /// Some servers leave the start of a block of text out, or change between kinds within one.
    pub(super) fn text(
        &mut self,
        index: Index,
        text: Cow<'_, str>,
        scope: &Scope,
        out: &mut Parts,
    ) -> Result<(), ModelError> {
        let at = match self.place(index)? {
            Some(at) => at,
            None if text.is_empty() => return Ok(()),
            None => {
                let kind = if scope.json { Kind::Silent } else { self.text_run(index, out)? };
                self.begin(index, kind, out)
            }
        };
        let marked = self.marked;
        match self.open.get_mut(at).map(|open| &mut open.kind) {
            Some(Kind::Text(run)) => {
                let delta = run.add(text, marked);
                self.came |= delta.is_some();
                delta.into_iter().for_each(|delta| out.push(text_delta(delta)));
                Ok(())
            }
            Some(Kind::Reasoning(_)) => {
                self.stop(index, scope, out);
                self.text(index, text, scope, out)
            }
            Some(Kind::Silent) => Ok(()),
            _ => Err(protocol("text came in a block of another kind")),
        }
    }

    pub(super) fn thinking(
        &mut self,
        index: Index,
        text: Cow<'_, str>,
        scope: &Scope,
        out: &mut Parts,
    ) -> Result<(), ModelError> {
        let at = match self.place(index)? {
            Some(at) => at,
            None if text.is_empty() => return Ok(()),
            None => {
                let kind = self.reasoning_run(index, None, scope, out)?;
                self.begin(index, kind, out)
            }
        };
        let marked = self.marked;
        match self.open.get_mut(at).map(|open| &mut open.kind) {
            Some(Kind::Reasoning(run)) => {
                run.add(text, marked).into_iter().for_each(|delta| out.push(reasoning_delta(delta)));
                Ok(())
            }
            Some(Kind::Text(_)) => {
                self.stop(index, scope, out);
                self.thinking(index, text, scope, out)
            }
            _ => Err(protocol("thinking came in a block of another kind")),
        }
    }

    /// The signature the thinking must go back with. An empty one, as servers without signatures send it, is none.
    pub(super) fn signature(
        &mut self,
        index: Index,
        signature: &str,
        scope: &Scope,
        out: &mut Parts,
    ) -> Result<(), ModelError> {
        if signature.is_empty() {
            return Ok(());
        }
        if let Some(at) = self.place(index)?
            && let Some(Open { kind: Kind::Reasoning(run), .. }) = self.open.get_mut(at)
        {
            let metadata = scope.minted([(SIGNATURE, signature.into())]);
            out.push(StreamPart::ReasoningDelta { id: run.id.clone(), delta: String::new(), metadata });
            return Ok(());
        }
        Err(protocol("a signature came without its thinking"))
    }

    pub(super) fn input(
        &mut self,
        index: Index,
        piece: Cow<'_, str>,
        out: &mut Parts,
    ) -> Result<(), ModelError> {
        self.count_input(piece.len())?;
        let marked = self.marked;
        let Some(at) = self.place(index)? else {
            return match piece.is_empty() {
                true => Ok(()),
                false => Err(protocol("a piece of input belongs to no tool call")),
            };
        };
        match self.open.get_mut(at).map(|open| &mut open.kind) {
            Some(Kind::Call(call)) => call.add(piece, marked, out),
            Some(Kind::Json(run)) => {
                run.add(piece, marked).into_iter().for_each(|delta| out.push(text_delta(delta)));
                Ok(())
            }
            Some(Kind::Silent) => Ok(()),
            _ => Err(protocol("a piece of input came in a block of another kind")),
        }
    }

    pub(super) fn compacted(
        &mut self,
        index: Index,
        text: Cow<'_, str>,
        encrypted: Option<&RawValue>,
        out: &mut Parts,
    ) -> Result<(), ModelError> {
        let marked = self.marked;
        let Some(at) = self.place(index)? else { return Ok(()) };
        if let Some(Open { kind: Kind::Compaction(run, kept), .. }) = self.open.get_mut(at) {
            run.add(text, marked).into_iter().for_each(|delta| out.push(text_delta(delta)));
            if let Some(encrypted) = value(encrypted) {
                *kept = Some(encrypted);
            }
        }
        Ok(())
    }

    /// A delta of an unknown kind: what it changed is not known as a whole.
    pub(super) fn unknown(&mut self, index: Index) -> Result<(), ModelError> {
        if let Some(at) = self.place(index)?
            && let Some(Open { kind: Kind::Unknown(block), .. }) = self.open.get_mut(at)
        {
            *block = None;
        }
        Ok(())
    }

    /// A block is complete. The end of one that never began says nothing.
    pub(super) fn stop(&mut self, index: Index, scope: &Scope, out: &mut Parts) {
        if let Ok(Some(at)) = self.place(index) {
            let open = self.open.remove(at);
            self.close(open.kind, scope, out);
        }
    }

    fn close(&mut self, kind: Kind, scope: &Scope, out: &mut Parts) {
        match kind {
            Kind::Text(mut run) => {
                run.lost().into_iter().for_each(|lost| out.push(text_delta(lost)));
                out.push(StreamPart::text_end(run.id));
            }
            Kind::Reasoning(mut run) => {
                run.lost().into_iter().for_each(|lost| out.push(reasoning_delta(lost)));
                out.push(StreamPart::reasoning_end(run.id));
            }
            Kind::Compaction(mut run, encrypted) => {
                run.lost().into_iter().for_each(|lost| out.push(text_delta(lost)));
                let metadata = scope.minted(encrypted.map(|encrypted| (ENCRYPTED, encrypted)));
                out.push(StreamPart::TextEnd { id: run.id, metadata });
            }
            Kind::Json(mut run) => {
                let nothing = run.empty.then(|| (run.id.clone(), "{}".to_owned()));
                run.lost().into_iter().chain(nothing).for_each(|delta| out.push(text_delta(delta)));
                out.push(StreamPart::text_end(run.id));
            }
            Kind::Call(call) => {
                self.settle(out);
                self.held = Some(*call);
            }
            Kind::Unknown(Some((kind, block))) => {
                self.came = true;
                let metadata = scope.minted([(BLOCK, block)]);
                let kind = format!("anthropic.{kind}");
                out.push(StreamPart::Custom(CustomPart {
                    kind,
                    options: ProviderOptions::default(),
                    metadata,
                }));
            }
            Kind::Unknown(None) | Kind::Silent => {}
        }
    }

    /// The answer is over; `cut` if it is over too early. A call that was not ended then is only complete if the
    /// answer was not cut and its input is whole.
    pub(super) fn finish(&mut self, cut: bool, scope: &Scope, out: &mut Parts) {
        if !cut {
            self.settle(out);
        }
        for open in std::mem::take(&mut self.open) {
            match open.kind {
                Kind::Call(call) if !cut && call.is_whole() => call.end(out),
                Kind::Call(_) => {}
                Kind::Json(run) if cut && run.empty => out.push(StreamPart::text_end(run.id)),
                kind => self.close(kind, scope, out),
            }
        }
    }

    /// The calls of a message's start may come again in the stream, and are to be made once.
    pub(super) fn expect_repeated(&mut self, block: &Block<'_>) {
        let named = block.kind.ends_with("tool_use") && !block.id.is_empty();
        if named && self.repeatable.len() < MAX_BLOCKS {
            self.repeatable.insert(block.id.to_string());
        }
    }

    pub(super) fn settle(&mut self, out: &mut Parts) {
        if let Some(call) = self.held.take() {
            call.end(out);
        }
    }

    fn begin(&mut self, index: Index, kind: Kind, out: &mut Parts) -> usize {
        self.settle(out);
        self.open.push(Open { index, kind });
        self.open.len() - 1
    }

    /// Where the block of this number stands; without a number it is the only one.
    fn place(&self, index: Index) -> Result<Option<usize>, ModelError> {
        if index.0.is_none() && self.open.len() > 1 {
            return Err(protocol("an event does not say which of several blocks it is about"));
        }
        let mine = |open: &Open| index.0.is_none() || open.index.0.is_none() || open.index == index;
        Ok(self.open.iter().rposition(mine))
    }

    /// The number of a block is its id, unless another one had it: a message begun anew, or a server that numbers
    /// all blocks alike.
    pub(super) fn new_id(&mut self, index: Index) -> Result<Id, ModelError> {
        self.count()?;
        let number = index.0.unwrap_or_default();
        Ok(match self.numbers.insert(number) {
            true => number.to_string().into(),
            false => format!("{number}-{}", self.count).into(),
        })
    }

    pub(super) fn count(&mut self) -> Result<(), ModelError> {
        self.count += 1;
        if self.count > MAX_BLOCKS {
            let message = format!("the answer has more than {MAX_BLOCKS} blocks");
            return Err(ModelError::new(ErrorClass::TooLarge, message));
        }
        Ok(())
    }

    pub(super) fn count_input(&mut self, bytes: usize) -> Result<(), ModelError> {
        self.inputs = self.inputs.saturating_add(bytes);
        if self.inputs > MAX_INPUTS {
            let message = format!("the inputs of the tool calls have more than {MAX_INPUTS} bytes");
            return Err(ModelError::new(ErrorClass::TooLarge, message));
        }
        Ok(())
    }
}

pub(super) fn value(raw: Option<&RawValue>) -> Option<Value> {
    serde_json::from_str(raw?.get()).ok()
}
