use std::collections::HashMap;

use ai_core::output::partial_json;
use ai_provider::{Id, ProviderOptions, merge_json};
use serde_json::Value;

use super::chunk::UiChunk;
use super::message::{UiBlockState, UiMessage, UiPart, UiRole, UiToolState};
use super::reduce_error::UiReduceError;
use super::word::{UiFinishReason, UiInputEncoding};

mod replay;
mod tools;

/// The text, in bytes, that one message may be made of. A message is held whole; without a limit a server that never
/// ends it would fill the memory. Files come inside of it, as data URLs.
pub(super) const MESSAGE_LIMIT: usize = 64 * 1024 * 1024;

/// Folds chunks into the message they tell of, as `useChat` of the latest level does.
///
/// ```
/// use agent_loop::{UiPart, UiProtocol, UiReducer};
/// let mut reducer = UiReducer::new("m1");
/// for line in [
///     r#"{"type":"start"}"#,
///     r#"{"type":"text-start","id":"1"}"#,
///     r#"{"type":"text-delta","id":"1","delta":"Hi"}"#,
/// ] {
///     reducer.push(UiProtocol::V7.decode(line)?)?;
/// }
/// assert!(matches!(&reducer.message().parts[0], UiPart::Text { text, .. } if text == "Hi"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct UiReducer {
    message: UiMessage,
    /// Open blocks: where their parts are.
    texts: HashMap<Id, usize>,
    reasonings: HashMap<Id, usize>,
    inputs: HashMap<Id, Input>,
    taken: usize,
    finished: bool,
    finish_reason: Option<UiFinishReason>,
    errors: Vec<String>,
    aborted: bool,
    abort_reason: Option<String>,
}

/// An input under way.
#[derive(Debug)]
struct Input {
    at: usize,
    text: String,
    /// Whether the part shows less than the text. What half an input says is looked for only when somebody looks:
    /// doing so at each delta would cost the square of its length.
    behind: bool,
}

impl Input {
    /// Shows what the text says so far.
    fn catch_up(&mut self, parts: &mut [UiPart]) {
        if !self.behind {
            return;
        }
        self.behind = false;
        if let Some(UiPart::Tool(tool)) = parts.get_mut(self.at) {
            tool.input = match tool.input_encoding {
                Some(UiInputEncoding::Text) => Some(Value::String(self.text.clone())),
                _ => partial_json(&self.text),
            };
            tool.raw_input = Some(Value::String(self.text.clone()));
        }
    }
}

impl UiReducer {
    /// Begins a new message of the assistant; `start` may give it another id.
    pub fn new(id: impl Into<String>) -> Self {
        Self::continuing(UiMessage::new(id, UiRole::Assistant))
    }

    /// Goes on with a message: the answer to an approval, or to results of the client's own tools.
    pub fn continuing(message: UiMessage) -> Self {
        let mut inputs = HashMap::new();
        for (at, part) in message.parts.iter().enumerate().skip(step_start(&message.parts)) {
            if let UiPart::Tool(tool) = part
                && tool.state == UiToolState::InputStreaming
            {
                let text = tool.raw_input.as_ref().and_then(Value::as_str).unwrap_or_default().to_owned();
                inputs.insert(tool.tool_call_id.clone(), Input { at, text, behind: false });
            }
        }
        Self {
            message,
            texts: HashMap::new(),
            reasonings: HashMap::new(),
            inputs,
            taken: 0,
            finished: false,
            finish_reason: None,
            errors: Vec::new(),
            aborted: false,
            abort_reason: None,
        }
    }

    /// The message as it stands.
    pub fn message(&mut self) -> &UiMessage {
        for input in self.inputs.values_mut() {
            input.catch_up(&mut self.message.parts);
        }
        &self.message
    }

    /// The message without what half an input says.
    pub(crate) fn as_shown(&self) -> &UiMessage {
        &self.message
    }

    /// The message, to keep it.
    pub fn into_message(mut self) -> UiMessage {
        self.message();
        self.message
    }

    /// Why the model stopped, once the message is complete and says so.
    pub fn finish_reason(&self) -> Option<UiFinishReason> {
        self.finish_reason
    }

    /// The errors that came, for the user.
    pub fn errors(&self) -> &[String] {
        &self.errors
    }

    /// Whether the run was cancelled.
    pub fn is_aborted(&self) -> bool {
        self.aborted
    }

    /// Takes the next chunk.
    ///
    /// # Errors
    /// If it is about a block, call or question that is not there, or the message becomes too large. The message
    /// stays as it was.
    pub fn push(&mut self, chunk: UiChunk) -> Result<(), UiReduceError> {
        let weight = self.admit(&chunk)?;
        self.fold(chunk)?;
        self.taken += weight;
        Ok(())
    }

    /// Takes the next chunk, for a caller who keeps it. Deltas are not copied on their way into the message.
    ///
    /// # Errors
    /// As for [`push`](Self::push).
    pub fn push_ref(&mut self, chunk: &UiChunk) -> Result<(), UiReduceError> {
        let weight = self.admit(chunk)?;
        match chunk {
            UiChunk::TextDelta { id, delta, provider_metadata: None } => {
                self.extend(self.texts.get(id).copied(), id, delta, None)?;
            }
            UiChunk::ReasoningDelta { id, delta, provider_metadata: None } => {
                self.extend(self.reasonings.get(id).copied(), id, delta, None)?;
            }
            UiChunk::ToolInputDelta { tool_call_id, input_text_delta } => {
                self.extend_input(tool_call_id, input_text_delta)?;
            }
            chunk => self.fold(chunk.clone())?,
        }
        self.taken += weight;
        Ok(())
    }

    /// What it will weigh, if there is room.
    fn admit(&self, chunk: &UiChunk) -> Result<usize, UiReduceError> {
        let weight = weight(chunk);
        if self.taken.saturating_add(weight) > MESSAGE_LIMIT {
            return Err(UiReduceError::TooLarge { limit: MESSAGE_LIMIT });
        }
        Ok(weight)
    }

    fn fold(&mut self, chunk: UiChunk) -> Result<(), UiReduceError> {
        match chunk {
            UiChunk::Start { message_id, message_metadata } => {
                if let Some(id) = message_id {
                    self.message.id = id;
                }
                self.merge(message_metadata);
            }
            UiChunk::StartStep => self.message.parts.push(UiPart::StepStart),
            UiChunk::FinishStep => {}
            UiChunk::ResetStep => {
                self.message();
                self.message.parts.truncate(step_start(&self.message.parts));
                self.texts.clear();
                self.reasonings.clear();
                self.inputs.clear();
            }
            UiChunk::Finish { finish_reason, message_metadata } => {
                self.finished = true;
                self.finish_reason = finish_reason.or(self.finish_reason);
                self.merge(message_metadata);
            }
            UiChunk::Abort { reason } => {
                self.aborted = true;
                self.abort_reason = reason.or(self.abort_reason.take());
            }
            UiChunk::Error { error_text } => self.errors.push(error_text),
            UiChunk::MessageMetadata { message_metadata } => self.merge(Some(message_metadata)),
            UiChunk::TextStart { id, provider_metadata } => {
                let state = Some(UiBlockState::Streaming);
                self.texts.insert(id, self.message.parts.len());
                let text = String::new();
                self.message.parts.push(UiPart::Text { text, state, citations: None, provider_metadata });
            }
            UiChunk::ReasoningStart { id, provider_metadata } => {
                self.reasonings.insert(id.clone(), self.message.parts.len());
                self.message.parts.push(UiPart::Reasoning {
                    id: Some(id),
                    text: String::new(),
                    state: Some(UiBlockState::Streaming),
                    provider_metadata,
                });
            }
            UiChunk::TextDelta { id, delta, provider_metadata } => {
                let at = self.texts.get(&id).copied();
                self.extend(at, &id, &delta, provider_metadata)?;
            }
            UiChunk::ReasoningDelta { id, delta, provider_metadata } => {
                let at = self.reasonings.get(&id).copied();
                self.extend(at, &id, &delta, provider_metadata)?;
            }
            UiChunk::TextEnd { id, citations, provider_metadata } => {
                let at = self.texts.remove(&id);
                if let UiPart::Text { citations: ours, .. } = self.extend(at, &id, "", provider_metadata)? {
                    *ours = citations;
                }
                self.close(at);
            }
            UiChunk::ReasoningEnd { id, provider_metadata } => {
                let at = self.reasonings.remove(&id);
                self.extend(at, &id, "", provider_metadata)?;
                self.close(at);
            }
            UiChunk::Data(data) if data.transient == Some(true) => {}
            UiChunk::Data(data) => {
                let same = self.message.parts.iter_mut().find_map(|part| match part {
                    UiPart::Data(old) if data.id.is_some() && old.id == data.id && old.name == data.name => {
                        Some(old)
                    }
                    _ => None,
                });
                match same {
                    Some(old) => old.data = data.data,
                    None => self.message.parts.push(UiPart::Data(data)),
                }
            }
            chunk @ (UiChunk::Custom { .. }
            | UiChunk::SourceUrl { .. }
            | UiChunk::SourceDocument { .. }
            | UiChunk::File { .. }
            | UiChunk::ReasoningFile { .. }
            | UiChunk::SteeringMessage { .. }) => self.message.parts.extend(piece(chunk)),
            chunk => self.tool(chunk)?,
        }
        Ok(())
    }

    fn merge(&mut self, metadata: Option<Value>) {
        let Some(metadata) = metadata.filter(|metadata| !metadata.is_null()) else { return };
        match &mut self.message.metadata {
            Some(ours) => merge_json(ours, &metadata),
            None => self.message.metadata = Some(metadata),
        }
    }

    fn extend(
        &mut self,
        at: Option<usize>,
        id: &Id,
        delta: &str,
        metadata: Option<Box<ProviderOptions>>,
    ) -> Result<&mut UiPart, UiReduceError> {
        let part = at.and_then(|at| self.message.parts.get_mut(at));
        match part {
            Some(part @ (UiPart::Text { .. } | UiPart::Reasoning { .. })) => {
                if let UiPart::Text { text, provider_metadata, .. }
                | UiPart::Reasoning { text, provider_metadata, .. } = part
                {
                    text.push_str(delta);
                    replace(provider_metadata, metadata);
                }
                Ok(part)
            }
            _ => Err(UiReduceError::UnknownBlock { id: id.clone() }),
        }
    }

    fn close(&mut self, at: Option<usize>) {
        let part = at.and_then(|at| self.message.parts.get_mut(at));
        if let Some(UiPart::Text { state, .. } | UiPart::Reasoning { state, .. }) = part {
            *state = Some(UiBlockState::Done);
        }
    }
}

/// A chunk that is a part by itself.
fn piece(chunk: UiChunk) -> Option<UiPart> {
    Some(match chunk {
        UiChunk::Custom { kind, provider_metadata } => UiPart::Custom { kind, provider_metadata },
        UiChunk::SourceUrl { source_id, url, title, provider_metadata } => {
            UiPart::SourceUrl { source_id, url, title, provider_metadata }
        }
        UiChunk::SourceDocument { source_id, media_type, title, filename, provider_metadata } => {
            UiPart::SourceDocument { source_id, media_type, title, filename, provider_metadata }
        }
        UiChunk::File { url, media_type, provider_metadata } => {
            UiPart::File { media_type, url, filename: None, provider_metadata }
        }
        UiChunk::ReasoningFile { url, media_type, provider_metadata } => {
            UiPart::ReasoningFile { media_type, url, provider_metadata }
        }
        UiChunk::SteeringMessage { id, parts } => UiPart::SteeringMessage { id, parts },
        _ => return None,
    })
}

/// Where the parts of the step under way begin.
fn step_start(parts: &[UiPart]) -> usize {
    parts.iter().rposition(|part| *part == UiPart::StepStart).map_or(0, |at| at + 1)
}

fn replace<T>(ours: &mut Option<T>, new: Option<T>) {
    if new.is_some() {
        *ours = new;
    }
}

/// What a chunk adds to the memory of a message, about.
fn weight(chunk: &UiChunk) -> usize {
    const PART: usize = 64;
    match chunk {
        UiChunk::TextDelta { delta, provider_metadata: None, .. }
        | UiChunk::ReasoningDelta { delta, provider_metadata: None, .. } => delta.len(),
        UiChunk::ToolInputDelta { input_text_delta, .. } => input_text_delta.len(),
        UiChunk::File { url, .. } | UiChunk::ReasoningFile { url, .. } => url.len() + PART,
        chunk => serde_json::to_vec(chunk).map_or(PART, |json| json.len() + PART),
    }
}

#[cfg(test)]
mod tests;
