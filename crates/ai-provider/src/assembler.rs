use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::error::{ErrorClass, ModelError};
use crate::finish::FinishReason;
use crate::id::Id;
use crate::message::{AssistantMessage, AssistantPart, ReasoningPart, TextPart};
use crate::metadata::ProviderMetadata;
use crate::model::{GenerateError, Generation};
use crate::part::{ResponseMetadata, StreamPart};
use crate::tool::ToolCall;
use crate::usage::Usage;
use crate::warning::Warning;

mod weight;
use weight::weight;

/// How much one answer may hold. A limit stands between a hostile server and this process's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AssemblyLimits {
    /// Bytes of the whole answer. Text, reasoning, tool input and files count as they are, everything else
    /// (ids, names, tool results, sources, metadata) as its JSON. 64 MiB: some 16 million tokens, far above
    /// any model's output, files inlined in an answer included.
    pub bytes: usize,
    /// Parts of the message, open ones included. 10,000: a thousand parallel tool calls leave room.
    pub parts: usize,
}

impl Default for AssemblyLimits {
    fn default() -> Self {
        Self { bytes: 64 << 20, parts: 10_000 }
    }
}

/// Folds stream parts into one message, by the ids of their blocks.
///
/// It checks the order rules of [`StreamPart`] on the way. What is incomplete stays incomplete: half a tool
/// call never becomes a call, whatever its text looks like. The work is linear in the bytes of the parts,
/// however they are cut.
///
/// ```
/// use ai_provider::{Assembler, StreamPart};
/// let mut assembler = Assembler::default();
/// assembler.push(&StreamPart::text_start("0"))?;
/// assembler.push(&StreamPart::text_delta("0", "Hel"))?;
/// let partial = assembler.finish();
/// assert_eq!(partial.message.text(), "Hel");
/// assert!(partial.incomplete);
/// # Ok::<(), ai_provider::ModelError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Assembler {
    limits: AssemblyLimits,
    slots: Vec<Slot>,
    blocks: HashMap<(Kind, Id), Block>,
    last: Option<(Kind, Id, usize)>,
    open: usize,
    bytes: usize,
    warnings: Vec<Warning>,
    response: ResponseMetadata,
    usage: Usage,
    finish: Option<FinishReason>,
    finish_metadata: Option<Box<ProviderMetadata>>,
    begun: bool,
    broken: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Kind {
    Text,
    Reasoning,
    ToolInput,
}

#[derive(Clone, Copy, Debug)]
struct Block {
    slot: usize,
    open: bool,
}

/// A place of the message: a part, or the input of a call that has not come yet.
#[derive(Clone, Debug)]
enum Slot {
    Part(AssistantPart),
    Input(IncompleteCall),
}

/// A tool call whose input began and whose call never came.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IncompleteCall {
    /// The id the call would have had.
    pub id: Id,
    /// Which tool.
    pub name: String,
    /// The text so far. Never run it, even if it reads like JSON.
    pub input: String,
}

/// What came of a stream.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Assembled {
    /// The message. If [`incomplete`](Self::incomplete), its last text or reasoning may be cut.
    pub message: AssistantMessage,
    /// Calls whose input began and which never came.
    pub incomplete_calls: Vec<IncompleteCall>,
    /// Whether the stream ended without a finish, blocks were open at the end, or a call whose input began
    /// never came. A finish may come first: a model that meets its limit of tokens stops in mid-call.
    pub incomplete: bool,
    /// Why the model stopped, if it said so.
    pub finish: Option<FinishReason>,
    /// What it took; all unknown without a finish.
    pub usage: Usage,
    /// Who answered.
    pub response: ResponseMetadata,
    /// What could not be done as asked.
    pub warnings: Vec<Warning>,
    /// What the provider attached to the finish.
    pub metadata: Option<Box<ProviderMetadata>>,
}

impl Assembled {
    /// Whether nothing of substance came: no visible message (see [`AssistantMessage::is_empty`]) and no call
    /// begun.
    pub fn is_empty(&self) -> bool {
        self.message.is_empty() && self.incomplete_calls.is_empty()
    }

    /// The answer, if it came to a finish. What the finish itself cut off is in
    /// [`Generation::incomplete_calls`].
    ///
    /// # Errors
    /// `Incomplete` if the stream ended without a finish.
    pub fn into_generation(self) -> Result<Generation, GenerateError> {
        match self.finish.clone() {
            Some(finish) => Ok(Generation::new(self, finish)),
            None => Err(GenerateError {
                error: ModelError::new(ErrorClass::Incomplete, "the stream ended without a finish"),
                partial: Box::new(self),
            }),
        }
    }
}

impl Assembler {
    /// An assembler with its own limits.
    pub fn new(limits: AssemblyLimits) -> Self {
        Self { limits, ..Self::default() }
    }

    /// Takes one part. After an error the parts so far are still there, and no further one is taken: what
    /// came after a gap would read as if nothing were missing.
    ///
    /// # Errors
    /// `Protocol` if the part breaks an order rule or follows an error, `TooLarge` if the answer passes a
    /// limit. Neither is worth trying again at the same target.
    pub fn push(&mut self, part: &StreamPart) -> Result<(), ModelError> {
        if self.broken {
            return Err(protocol("a part came after an error"));
        }
        let taken = self.take(part);
        self.begun = true;
        self.broken = taken.is_err();
        taken
    }

    fn take(&mut self, part: &StreamPart) -> Result<(), ModelError> {
        if self.finish.is_some() {
            return Err(protocol("a part came after the finish"));
        }
        self.count(weight(part))?;
        match part {
            StreamPart::StreamStart { .. } if self.begun => {
                return Err(protocol("the start of the stream was not its first part"));
            }
            StreamPart::StreamStart { warnings } => self.warnings.clone_from(warnings),
            StreamPart::ResponseMetadata(metadata) => self.describe(metadata),
            StreamPart::TextStart { id, metadata } => {
                let part = TextPart { metadata: metadata.clone(), ..TextPart::default() };
                self.start(Kind::Text, id, Slot::Part(AssistantPart::Text(part)))?;
            }
            StreamPart::ReasoningStart { id, metadata } => {
                let part = ReasoningPart { metadata: metadata.clone(), ..ReasoningPart::default() };
                self.start(Kind::Reasoning, id, Slot::Part(AssistantPart::Reasoning(part)))?;
            }
            StreamPart::ToolInputStart { id, tool_name, .. } => {
                let call = IncompleteCall { id: id.clone(), name: tool_name.clone(), input: String::new() };
                self.start(Kind::ToolInput, id, Slot::Input(call))?;
            }
            StreamPart::TextDelta { id, delta, metadata } => self.delta(Kind::Text, id, delta, metadata)?,
            StreamPart::ReasoningDelta { id, delta, metadata } => {
                self.delta(Kind::Reasoning, id, delta, metadata)?;
            }
            StreamPart::ToolInputDelta { id, delta } => self.delta(Kind::ToolInput, id, delta, &None)?,
            StreamPart::TextEnd { id, metadata } => self.end(Kind::Text, id, metadata)?,
            StreamPart::ReasoningEnd { id, metadata } => self.end(Kind::Reasoning, id, metadata)?,
            StreamPart::ToolInputEnd { id } => self.end(Kind::ToolInput, id, &None)?,
            StreamPart::ToolCall(call) => self.call(call)?,
            StreamPart::ToolResult(result) if result.preliminary => {}
            StreamPart::ToolResult(result) => self.add(AssistantPart::ToolResult((**result).clone()))?,
            StreamPart::ToolApprovalRequest(request) => {
                self.add(AssistantPart::ToolApprovalRequest(request.clone()))?;
            }
            StreamPart::Source(source) => self.add(AssistantPart::Source((**source).clone()))?,
            StreamPart::File(file) => self.add(AssistantPart::File((**file).clone()))?,
            StreamPart::ReasoningFile(file) => self.add(AssistantPart::ReasoningFile((**file).clone()))?,
            StreamPart::Custom(custom) => self.add(AssistantPart::Custom(custom.clone()))?,
            StreamPart::Finish(finish) => {
                self.finish = Some(finish.reason.clone());
                self.usage = finish.usage.clone();
                self.finish_metadata.clone_from(&finish.metadata);
            }
            StreamPart::Raw { .. } => {}
        }
        Ok(())
    }

    /// What came so far, without ending. A copy of all of it, so not for every delta.
    pub fn snapshot(&self) -> Assembled {
        self.clone().finish()
    }

    /// What came.
    pub fn finish(self) -> Assembled {
        let mut message = AssistantMessage::default();
        let mut incomplete_calls = Vec::new();
        for slot in self.slots {
            match slot {
                Slot::Part(part) => message.parts.push(part),
                Slot::Input(call) => incomplete_calls.push(call),
            }
        }
        Assembled {
            incomplete: self.finish.is_none() || self.open > 0 || !incomplete_calls.is_empty(),
            message,
            incomplete_calls,
            finish: self.finish,
            usage: self.usage,
            response: self.response,
            warnings: self.warnings,
            metadata: self.finish_metadata,
        }
    }

    fn describe(&mut self, metadata: &ResponseMetadata) {
        let ours = &mut self.response;
        for (field, value) in [
            (&mut ours.id, &metadata.id),
            (&mut ours.asked_model, &metadata.asked_model),
            (&mut ours.model, &metadata.model),
        ] {
            if value.is_some() {
                field.clone_from(value);
            }
        }
        ours.timestamp = metadata.timestamp.or(ours.timestamp);
    }

    fn start(&mut self, kind: Kind, id: &Id, slot: Slot) -> Result<(), ModelError> {
        if self.blocks.contains_key(&(kind, id.clone())) {
            return Err(protocol(format!("block `{id}` was started twice")));
        }
        let at = self.place(slot)?;
        self.blocks.insert((kind, id.clone()), Block { slot: at, open: true });
        self.last = Some((kind, id.clone(), at));
        self.open += 1;
        Ok(())
    }

    fn delta(
        &mut self,
        kind: Kind,
        id: &Id,
        delta: &str,
        metadata: &Option<Box<ProviderMetadata>>,
    ) -> Result<(), ModelError> {
        let at = self.slot_of(kind, id)?;
        let Some(slot) = self.slots.get_mut(at) else { return Err(never_opened(id)) };
        match slot {
            Slot::Part(AssistantPart::Text(part)) => {
                part.text.push_str(delta);
                attach(&mut part.metadata, metadata);
            }
            Slot::Part(AssistantPart::Reasoning(part)) => {
                part.text.push_str(delta);
                attach(&mut part.metadata, metadata);
            }
            Slot::Input(call) => call.input.push_str(delta),
            Slot::Part(_) => return Err(never_opened(id)),
        }
        Ok(())
    }

    fn end(
        &mut self,
        kind: Kind,
        id: &Id,
        metadata: &Option<Box<ProviderMetadata>>,
    ) -> Result<(), ModelError> {
        let at = self.slot_of(kind, id)?;
        match self.slots.get_mut(at) {
            Some(Slot::Part(AssistantPart::Text(part))) => attach(&mut part.metadata, metadata),
            Some(Slot::Part(AssistantPart::Reasoning(part))) => attach(&mut part.metadata, metadata),
            _ => {}
        }
        if let Some(block) = self.blocks.get_mut(&(kind, id.clone())) {
            block.open = false;
        }
        self.last = None;
        self.open -= 1;
        Ok(())
    }

    /// The place of an open block. The block of the last delta is remembered, since deltas come in runs.
    fn slot_of(&mut self, kind: Kind, id: &Id) -> Result<usize, ModelError> {
        if let Some((last_kind, last_id, at)) = &self.last
            && *last_kind == kind
            && last_id == id
        {
            return Ok(*at);
        }
        let block = self.blocks.get(&(kind, id.clone())).copied().ok_or_else(|| never_opened(id))?;
        if !block.open {
            return Err(protocol(format!("block `{id}` goes on after its end")));
        }
        self.last = Some((kind, id.clone(), block.slot));
        Ok(block.slot)
    }

    /// The call has come: it takes the place of its streamed input, if there was one.
    fn call(&mut self, call: &ToolCall) -> Result<(), ModelError> {
        let block = (Kind::ToolInput, call.id.clone());
        let part = Slot::Part(AssistantPart::ToolCall(call.clone()));
        let Some(Block { slot, open }) = self.blocks.get(&block).copied() else {
            self.count(call.input.len())?;
            let slot = self.place(part)?;
            self.blocks.insert(block, Block { slot, open: false });
            return Ok(());
        };
        if open {
            return Err(protocol(format!("call `{}` came before the end of its input", call.id)));
        }
        let Some(Slot::Input(streamed)) = self.slots.get(slot) else {
            return Err(protocol(format!("call `{}` came twice", call.id)));
        };
        // The streamed text is already counted, and makes way.
        self.count(call.input.len().saturating_sub(streamed.input.len()))?;
        if let Some(slot) = self.slots.get_mut(slot) {
            *slot = part;
        }
        Ok(())
    }

    fn add(&mut self, part: AssistantPart) -> Result<(), ModelError> {
        self.place(Slot::Part(part)).map(drop)
    }

    fn place(&mut self, slot: Slot) -> Result<usize, ModelError> {
        let at = self.slots.len();
        if at >= self.limits.parts {
            return Err(too_large(format!("the answer has more than {} parts", self.limits.parts)));
        }
        self.slots.push(slot);
        Ok(at)
    }

    fn count(&mut self, bytes: usize) -> Result<(), ModelError> {
        let bytes = self.bytes.saturating_add(bytes);
        if bytes > self.limits.bytes {
            return Err(too_large(format!("the answer has more than {} bytes", self.limits.bytes)));
        }
        self.bytes = bytes;
        Ok(())
    }
}

fn attach(ours: &mut Option<Box<ProviderMetadata>>, theirs: &Option<Box<ProviderMetadata>>) {
    match (ours, theirs) {
        (Some(ours), Some(theirs)) => ours.merge(theirs),
        (ours @ None, Some(_)) => ours.clone_from(theirs),
        (_, None) => {}
    }
}

fn protocol(message: impl Into<String>) -> ModelError {
    ModelError::new(ErrorClass::Protocol, message)
}

fn never_opened(id: &Id) -> ModelError {
    protocol(format!("block `{id}` was never started"))
}

fn too_large(message: String) -> ModelError {
    ModelError::new(ErrorClass::TooLarge, message)
}
