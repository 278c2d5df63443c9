use ai_provider::{Id, JsonObject, ProviderOptions};
use serde_json::Value;

use super::super::chunk::UiChunk;
use super::super::message::{UiApproval, UiPart, UiToolPart, UiToolState};
use super::super::reduce_error::UiReduceError;
use super::{Input, UiReducer, replace, step_start};

/// What the parts of a tool are set to.
#[derive(Default)]
struct Told {
    provider_executed: Option<bool>,
    title: Option<String>,
    tool_metadata: Option<Box<JsonObject>>,
    provider_metadata: Option<Box<ProviderOptions>>,
}

impl UiReducer {
    pub(super) fn tool(&mut self, chunk: UiChunk) -> Result<(), UiReduceError> {
        match chunk {
            UiChunk::ToolInputStart {
                tool_call_id,
                tool_name,
                input_encoding,
                provider_executed,
                dynamic,
                title,
                tool_metadata,
                provider_metadata,
            } => {
                let told = Told { provider_executed, title, tool_metadata, provider_metadata };
                self.end_input(&tool_call_id);
                let at = self.call(&tool_call_id, tool_name, dynamic == Some(true), |part| {
                    set(part, UiToolState::InputStreaming, None, told);
                    part.input_encoding = input_encoding;
                });
                self.inputs.insert(tool_call_id, Input { at, text: String::new(), behind: false });
            }
            UiChunk::ToolInputDelta { tool_call_id, input_text_delta } => {
                self.extend_input(&tool_call_id, &input_text_delta)?;
            }
            UiChunk::ToolInputAvailable {
                tool_call_id,
                tool_name,
                input,
                provider_executed,
                dynamic,
                title,
                tool_metadata,
                provider_metadata,
            } => {
                let told = Told { provider_executed, title, tool_metadata, provider_metadata };
                self.end_input(&tool_call_id);
                self.call(&tool_call_id, tool_name, dynamic == Some(true), |part| {
                    set(part, UiToolState::InputAvailable, Some(input), told);
                });
            }
            UiChunk::ToolInputError {
                tool_call_id,
                tool_name,
                input,
                error_text,
                provider_executed,
                dynamic,
                tool_metadata,
                provider_metadata,
                ..
            } => {
                let told = Told { provider_executed, title: None, tool_metadata, provider_metadata };
                self.end_input(&tool_call_id);
                let dynamic = match self.in_step(&tool_call_id) {
                    Some((_, part)) => part.dynamic,
                    None => dynamic == Some(true),
                };
                self.call(&tool_call_id, tool_name, dynamic, |part| {
                    set(part, UiToolState::OutputError, Some(input), told);
                    part.error_text = Some(error_text);
                });
            }
            UiChunk::ToolApprovalRequest {
                approval_id,
                tool_call_id,
                approval_descriptor,
                input_schema_input,
                reason,
                is_automatic,
                signature,
            } => {
                let part = self.find(tool_call_id)?;
                part.state = UiToolState::ApprovalRequested;
                part.approval = Some(UiApproval {
                    id: approval_id.to_string(),
                    descriptor: approval_descriptor.filter(|descriptor| !descriptor.is_null()),
                    input_schema_input,
                    request_reason: reason,
                    is_automatic: is_automatic.filter(|automatic| *automatic),
                    signature,
                    ..UiApproval::default()
                });
            }
            UiChunk::ToolApprovalResponse {
                approval_id,
                approved,
                reason,
                provider_executed,
                provider_metadata,
            } => {
                let mut tools = self.message.parts.iter_mut().filter_map(as_tool);
                let asked = |part: &&mut UiToolPart| {
                    part.approval.as_ref().is_some_and(|approval| approval_id == approval.id.as_str())
                };
                let Some(part) = tools.find(asked) else {
                    return Err(UiReduceError::UnknownApproval { approval_id });
                };
                part.state = UiToolState::ApprovalResponded;
                if let Some(approval) = &mut part.approval {
                    approval.approved = Some(approved);
                    approval.reason = reason.or(approval.reason.take());
                }
                part.provider_executed = provider_executed.or(part.provider_executed);
                replace(&mut part.call_provider_metadata, provider_metadata);
            }
            UiChunk::ToolOutputAvailable {
                tool_call_id,
                output,
                preliminary,
                provider_executed,
                tool_metadata,
                provider_metadata,
                ..
            } => {
                let told = Told { provider_executed, title: None, tool_metadata, provider_metadata };
                let part = self.find(tool_call_id)?;
                let input = part.input.take();
                set(part, UiToolState::OutputAvailable, input, told);
                part.output = Some(output);
                part.preliminary = preliminary;
            }
            UiChunk::ToolOutputError {
                tool_call_id,
                error_text,
                provider_executed,
                tool_metadata,
                provider_metadata,
                ..
            } => {
                let told = Told { provider_executed, title: None, tool_metadata, provider_metadata };
                let part = self.find(tool_call_id)?;
                let (input, raw_input) = (part.input.take(), part.raw_input.take());
                set(part, UiToolState::OutputError, input, told);
                part.error_text = Some(error_text);
                part.raw_input = raw_input.filter(|_| !part.dynamic);
            }
            UiChunk::ToolOutputDenied { tool_call_id } => {
                self.find(tool_call_id)?.state = UiToolState::OutputDenied
            }
            _ => {}
        }
        Ok(())
    }

    pub(super) fn extend_input(&mut self, call: &Id, delta: &str) -> Result<(), UiReduceError> {
        let Some(input) = self.inputs.get_mut(call) else {
            return Err(UiReduceError::UnknownCall { tool_call_id: call.clone() });
        };
        input.text.push_str(delta);
        input.behind = true;
        Ok(())
    }

    /// The input is whole, or begins anew. Its part is written over, unless it is of an earlier step.
    fn end_input(&mut self, call: &Id) {
        if let Some(mut input) = self.inputs.remove(call)
            && input.at < step_start(&self.message.parts)
        {
            input.catch_up(&mut self.message.parts);
        }
    }

    fn in_step(&mut self, call: &Id) -> Option<(usize, &mut UiToolPart)> {
        let start = step_start(&self.message.parts);
        let parts = self.message.parts.iter_mut().enumerate().skip(start);
        parts.filter_map(|(at, part)| Some((at, as_tool(part)?))).find(|(_, part)| part.tool_call_id == *call)
    }

    /// Sets the part of a call in this step, made if it is not there. Gives its place.
    fn call(
        &mut self,
        id: &Id,
        tool_name: String,
        dynamic: bool,
        set: impl FnOnce(&mut UiToolPart),
    ) -> usize {
        if let Some((at, part)) = self.in_step(id).filter(|(_, part)| part.dynamic == dynamic) {
            part.tool_name = tool_name;
            set(part);
            return at;
        }
        let mut part = UiToolPart { dynamic, ..UiToolPart::new(tool_name, id.clone()) };
        set(&mut part);
        self.message.parts.push(UiPart::Tool(Box::new(part)));
        self.message.parts.len() - 1
    }

    /// The part of a call that is there, in this step or the last one before it that has it.
    fn find(&mut self, tool_call_id: Id) -> Result<&mut UiToolPart, UiReduceError> {
        if let Some(input) = self.inputs.get_mut(&tool_call_id) {
            input.catch_up(&mut self.message.parts);
        }
        let here = self.in_step(&tool_call_id).map(|(at, _)| at);
        let at = here.or_else(|| {
            let is_it =
                |part: &UiPart| matches!(part, UiPart::Tool(tool) if tool.tool_call_id == tool_call_id);
            self.message.parts.iter().rposition(is_it)
        });
        let part = at.and_then(|at| self.message.parts.get_mut(at)).and_then(as_tool);
        part.ok_or(UiReduceError::UnknownCall { tool_call_id })
    }
}

fn as_tool(part: &mut UiPart) -> Option<&mut UiToolPart> {
    match part {
        UiPart::Tool(tool) => Some(tool),
        _ => None,
    }
}

/// What was told of an earlier state and not again is forgotten, but for who runs the tool, its title and metadata.
fn set(part: &mut UiToolPart, state: UiToolState, input: Option<Value>, told: Told) {
    part.state = state;
    part.input = input;
    part.raw_input = None;
    part.input_encoding = None;
    part.output = None;
    part.error_text = None;
    part.preliminary = None;
    part.provider_executed = told.provider_executed.or(part.provider_executed);
    replace(&mut part.title, told.title);
    replace(&mut part.tool_metadata, told.tool_metadata);
    let ended = matches!(state, UiToolState::OutputAvailable | UiToolState::OutputError);
    let metadata = if ended { &mut part.result_provider_metadata } else { &mut part.call_provider_metadata };
    replace(metadata, told.provider_metadata);
}
