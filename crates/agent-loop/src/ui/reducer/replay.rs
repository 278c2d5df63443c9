use ai_core::output::partial_json;
use ai_provider::Id;
use serde_json::Value;

use super::super::chunk::UiChunk;
use super::super::message::{UiApproval, UiBlockState, UiPart, UiToolPart, UiToolState};
use super::super::word::UiInputEncoding;
use super::UiReducer;

impl UiReducer {
    /// Chunks that give the message as it stands, for a reader who begins here: what is open in it stays open, so that
    /// the chunks to come go on with it.
    ///
    /// A block is one delta. A call that has a result or failed is not told as `tool-input-available`, so that a client
    /// does not run its own tool again. What chunks cannot say is lost: the file name of a file, and that
    /// a block of a stored message had no state or id; it comes as complete, under an id made here.
    ///
    /// ```
    /// use agent_loop::{UiChunk, UiReducer};
    /// let mut whole = UiReducer::new("m1");
    /// whole.push(UiChunk::TextStart { id: "1".into(), provider_metadata: None })?;
    /// whole.push(UiChunk::TextDelta { id: "1".into(), delta: "Hel".to_owned(), provider_metadata: None })?;
    /// let mut late = UiReducer::new("");
    /// for chunk in whole.chunks() {
    ///     late.push(chunk)?;
    /// }
    /// for reducer in [&mut whole, &mut late] {
    ///     reducer.push(UiChunk::TextDelta { id: "1".into(), delta: "lo".to_owned(), provider_metadata: None })?;
    /// }
    /// assert_eq!(late.message(), whole.message());
    /// # Ok::<(), agent_loop::UiReduceError>(())
    /// ```
    pub fn chunks(&mut self) -> Vec<UiChunk> {
        self.message();
        let message = &self.message;
        let mut out = Vec::with_capacity(message.parts.len() * 3 + 2);
        out.push(UiChunk::Start {
            message_id: Some(message.id.clone()),
            message_metadata: message.metadata.clone(),
        });
        let unused = self.unused_id();
        for (at, part) in message.parts.iter().enumerate() {
            match part {
                UiPart::Text { .. } => {
                    let open = self.texts.iter().find(|(_, open)| **open == at);
                    out.extend(text(part, open.map_or(&unused, |(id, _)| id)));
                }
                UiPart::Reasoning { .. } => out.extend(reasoning(part, &unused)),
                UiPart::Tool(part) => call(part, &mut out),
                part => out.extend(piece(part)),
            }
        }
        let errors = self.errors.iter().cloned();
        out.extend(errors.map(|error_text| UiChunk::Error { error_text }));
        if self.aborted {
            out.push(UiChunk::Abort { reason: self.abort_reason.clone() });
        }
        if self.finished {
            out.push(UiChunk::Finish { finish_reason: self.finish_reason, message_metadata: None });
        }
        out
    }

    /// For blocks that nothing goes on with.
    fn unused_id(&self) -> Id {
        let is_used = |id: &Id| self.texts.contains_key(id) || self.reasonings.contains_key(id);
        (0_u64..)
            .map(|n| Id::from(format!("past-{n}")))
            .find(|id| !is_used(id))
            .unwrap_or_else(|| "past".into())
    }
}

fn text(part: &UiPart, id: &Id) -> Vec<UiChunk> {
    let UiPart::Text { text, state, citations, provider_metadata } = part else { return Vec::new() };
    let mut out = vec![UiChunk::TextStart { id: id.clone(), provider_metadata: provider_metadata.clone() }];
    if !text.is_empty() {
        out.push(UiChunk::TextDelta { id: id.clone(), delta: text.clone(), provider_metadata: None });
    }
    if *state != Some(UiBlockState::Streaming) {
        out.push(UiChunk::TextEnd { id: id.clone(), citations: citations.clone(), provider_metadata: None });
    }
    out
}

fn reasoning(part: &UiPart, unused: &Id) -> Vec<UiChunk> {
    let UiPart::Reasoning { id, text, state, provider_metadata } = part else { return Vec::new() };
    let id = id.as_ref().unwrap_or(unused);
    let mut out =
        vec![UiChunk::ReasoningStart { id: id.clone(), provider_metadata: provider_metadata.clone() }];
    if !text.is_empty() {
        out.push(UiChunk::ReasoningDelta { id: id.clone(), delta: text.clone(), provider_metadata: None });
    }
    if *state != Some(UiBlockState::Streaming) {
        out.push(UiChunk::ReasoningEnd { id: id.clone(), provider_metadata: None });
    }
    out
}

/// A part that is one chunk.
fn piece(part: &UiPart) -> Option<UiChunk> {
    Some(match part.clone() {
        UiPart::StepStart => UiChunk::StartStep,
        UiPart::File { media_type, url, provider_metadata, .. } => {
            UiChunk::File { url, media_type, provider_metadata }
        }
        UiPart::ReasoningFile { media_type, url, provider_metadata } => {
            UiChunk::ReasoningFile { url, media_type, provider_metadata }
        }
        UiPart::SourceUrl { source_id, url, title, provider_metadata } => {
            UiChunk::SourceUrl { source_id, url, title, provider_metadata }
        }
        UiPart::SourceDocument { source_id, media_type, title, filename, provider_metadata } => {
            UiChunk::SourceDocument { source_id, media_type, title, filename, provider_metadata }
        }
        UiPart::Custom { kind, provider_metadata } => UiChunk::Custom { kind, provider_metadata },
        UiPart::SteeringMessage { id, parts } => UiChunk::SteeringMessage { id, parts },
        UiPart::Data(data) => UiChunk::Data(data),
        UiPart::Text { .. } | UiPart::Reasoning { .. } | UiPart::Tool(_) => return None,
    })
}

/// A call, as far as it is.
fn call(part: &UiToolPart, out: &mut Vec<UiChunk>) {
    let id = &part.tool_call_id;
    let failed_with = part.input.as_ref();
    let failed_with =
        failed_with.filter(|_| part.state == UiToolState::OutputError && part.raw_input.is_none());
    let begun_anew = part.approval.is_some()
        && matches!(part.state, UiToolState::InputStreaming | UiToolState::InputAvailable);
    if begun_anew || failed_with.is_some() {
        out.push(input_start(part, ""));
    } else {
        input(part, out);
    }
    if let Some(approval) = &part.approval {
        question(id, approval, out);
    }
    if begun_anew {
        input(part, out);
    }
    let dynamic = part.dynamic.then_some(true);
    let provider_metadata = part.result_provider_metadata.clone();
    match (part.state, failed_with) {
        (UiToolState::OutputAvailable, _) => out.push(UiChunk::ToolOutputAvailable {
            tool_call_id: id.clone(),
            output: part.output.clone().unwrap_or_default(),
            preliminary: part.preliminary,
            provider_executed: None,
            dynamic,
            tool_metadata: None,
            provider_metadata,
        }),
        (UiToolState::OutputError, None) => out.push(UiChunk::ToolOutputError {
            tool_call_id: id.clone(),
            error_text: part.error_text.clone().unwrap_or_default(),
            provider_executed: None,
            dynamic,
            tool_metadata: None,
            provider_metadata,
        }),
        (UiToolState::OutputError, Some(input)) => out.push(UiChunk::ToolInputError {
            tool_call_id: id.clone(),
            tool_name: part.tool_name.clone(),
            input: input.clone(),
            error_text: part.error_text.clone().unwrap_or_default(),
            provider_executed: None,
            dynamic,
            title: None,
            tool_metadata: None,
            provider_metadata,
        }),
        (UiToolState::OutputDenied, _) => out.push(UiChunk::ToolOutputDenied { tool_call_id: id.clone() }),
        _ => {}
    }
}

fn input(part: &UiToolPart, out: &mut Vec<UiChunk>) {
    let text = match (part.raw_input.as_ref().and_then(Value::as_str), &part.input) {
        (Some(text), _) => text.to_owned(),
        (None, None) => String::new(),
        (None, Some(input)) => {
            let text = (part.state == UiToolState::OutputAvailable).then(|| input.to_string());
            // Only if the text gives the very same value: a number need not.
            let Some(text) = text.filter(|text| partial_json(text).as_ref() == Some(input)) else {
                return out.push(input_available(part, input.clone()));
            };
            text
        }
    };
    out.push(input_start(part, &text));
    if !text.is_empty() {
        out.push(UiChunk::ToolInputDelta { tool_call_id: part.tool_call_id.clone(), input_text_delta: text });
    }
}

/// The start of an input that is this text.
fn input_start(part: &UiToolPart, text: &str) -> UiChunk {
    let is_text = matches!(&part.input, Some(Value::String(input)) if input == text);
    UiChunk::ToolInputStart {
        tool_call_id: part.tool_call_id.clone(),
        tool_name: part.tool_name.clone(),
        input_encoding: part.input_encoding.or(is_text.then_some(UiInputEncoding::Text)),
        provider_executed: part.provider_executed,
        dynamic: part.dynamic.then_some(true),
        title: part.title.clone(),
        tool_metadata: part.tool_metadata.clone(),
        provider_metadata: part.call_provider_metadata.clone(),
    }
}

fn input_available(part: &UiToolPart, input: Value) -> UiChunk {
    UiChunk::ToolInputAvailable {
        tool_call_id: part.tool_call_id.clone(),
        tool_name: part.tool_name.clone(),
        input,
        provider_executed: part.provider_executed,
        dynamic: part.dynamic.then_some(true),
        title: part.title.clone(),
        tool_metadata: part.tool_metadata.clone(),
        provider_metadata: part.call_provider_metadata.clone(),
    }
}

fn question(call: &Id, approval: &UiApproval, out: &mut Vec<UiChunk>) {
    let id = Id::from(approval.id.as_str());
    out.push(UiChunk::ToolApprovalRequest {
        approval_id: id.clone(),
        tool_call_id: call.clone(),
        approval_descriptor: approval.descriptor.clone(),
        input_schema_input: approval.input_schema_input.clone(),
        reason: approval.request_reason.clone(),
        is_automatic: approval.is_automatic,
        signature: approval.signature.clone(),
    });
    if let Some(approved) = approval.approved {
        out.push(UiChunk::ToolApprovalResponse {
            approval_id: id,
            approved,
            reason: approval.reason.clone(),
            provider_executed: None,
            provider_metadata: None,
        });
    }
}

#[cfg(test)]
mod tests;
