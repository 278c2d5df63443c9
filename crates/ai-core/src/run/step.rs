use std::sync::Arc;

use ai_provider::{ErrorRecord, FinishReason, Id, Message, ToolCall, ToolOutput, ToolResult};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::input::{ApprovalVerdict, ToolFacts};
use super::record::{PendingApproval, StepRecord, ToolRecord, ToolStatus};

/// A step whose answer is there and whose calls are being dealt with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct OpenStep {
    pub(super) record: StepRecord,
    pub(super) calls: Vec<OpenCall>,
    pub(super) facts: Vec<ToolFacts>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct OpenCall {
    pub(super) call: ToolCall,
    pub(super) state: CallState,
}

/// Where a call stands. The record of a call that cannot be run is made at once, and dropped if the call is
/// repaired.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", content = "value", rename_all = "kebab-case")]
pub(super) enum CallState {
    Invalid(ToolRecord),
    Undecided,
    Ready,
    Asking(Id),
    HandedOver,
    Done(ToolRecord),
}

/// What the model reads of a call that was cut off.
pub(super) const INTERRUPTED: &str = "Not run to its end: the run was interrupted.";

impl OpenStep {
    /// A step that was committed with calls unanswered, to be committed again: those count as cut off.
    pub(super) fn again(mut record: StepRecord) -> Self {
        let mut results = std::mem::take(&mut record.tools);
        let client = record.message.tool_calls().filter(|call| !call.provider_executed);
        let calls = client.cloned().map(|call| {
            let result = results.iter().position(|tool| tool.result.tool_call_id == call.id);
            let record = match result {
                Some(at) => results.remove(at),
                None => failed(&call, ToolStatus::Cancelled, INTERRUPTED.to_owned()),
            };
            OpenCall { call, state: CallState::Done(record) }
        });
        Self { calls: calls.collect(), record, facts: Vec::new() }
    }

    pub(super) fn new(record: StepRecord, facts: Vec<ToolFacts>) -> Self {
        let calls: Vec<_> =
            record.message.tool_calls().filter(|call| !call.provider_executed).cloned().collect();
        let calls = calls.into_iter().map(|call| OpenCall { state: check(&call, &facts), call }).collect();
        Self { record, calls, facts }
    }

    pub(super) fn with_state(&self, wanted: impl Fn(&CallState) -> bool) -> Vec<&ToolCall> {
        self.calls.iter().filter(|open| wanted(&open.state)).map(|open| &open.call).collect()
    }

    pub(super) fn any(&self, wanted: impl Fn(&CallState) -> bool) -> bool {
        self.calls.iter().any(|open| wanted(&open.state))
    }

    pub(super) fn find(&mut self, id: &Id) -> Option<&mut OpenCall> {
        self.calls.iter_mut().find(|open| open.call.id == *id)
    }

    pub(super) fn pending(&self) -> Vec<PendingApproval> {
        let pending = self.calls.iter().filter_map(|open| match &open.state {
            CallState::Asking(id) => {
                Some(PendingApproval { approval_id: id.clone(), call: open.call.clone() })
            }
            _ => None,
        });
        pending.collect()
    }

    /// Puts a repaired call in the place of an invalid one, if it is valid itself.
    pub(super) fn repair(&mut self, id: &Id, repaired: Option<ToolCall>) {
        let facts = std::mem::take(&mut self.facts);
        if let Some(open) = self.find(id)
            && let CallState::Invalid(record) = &open.state
        {
            open.state = match repaired.map(|call| (check(&call, &facts), call)) {
                Some((CallState::Invalid(_), _)) | None => CallState::Done(record.clone()),
                Some((state, call)) => {
                    // The result must answer the call the model made.
                    open.call = ToolCall { id: open.call.id.clone(), ..call };
                    state
                }
            };
        }
        self.facts = facts;
    }

    pub(super) fn decide(&mut self, id: &Id, verdict: ApprovalVerdict) {
        if let Some(open) = self.find(id)
            && open.state == CallState::Undecided
        {
            open.state = match verdict {
                ApprovalVerdict::Approved => CallState::Ready,
                ApprovalVerdict::Denied { reason } => CallState::Done(denied(&open.call, reason)),
                ApprovalVerdict::AskUser { approval_id } => CallState::Asking(approval_id),
            };
        }
    }

    /// Gives every call without a result one that says why.
    pub(super) fn close(&mut self, status: &ToolStatus, text: &str) {
        for open in &mut self.calls {
            if !matches!(open.state, CallState::Done(_)) {
                open.state = CallState::Done(failed(&open.call, status.clone(), text.to_owned()));
            }
        }
    }

    /// The step as part of the history: record, and messages to append. Results stand in the order of the
    /// calls, whatever the order in which they came.
    pub(super) fn commit(mut self) -> (StepRecord, Vec<Arc<Message>>) {
        self.record.tools = self
            .calls
            .into_iter()
            .filter_map(|open| match open.state {
                CallState::Done(record) => Some(record),
                _ => None,
            })
            .collect();
        let mut messages = Vec::with_capacity(2);
        if !self.record.message.parts.is_empty() {
            messages.push(Arc::new(Message::Assistant(self.record.message.clone())));
        }
        if !self.record.tools.is_empty() {
            messages.push(Arc::new(Message::tool(self.record.tools.iter().map(|tool| tool.result.clone()))));
        }
        (self.record, messages)
    }
}

fn check(call: &ToolCall, facts: &[ToolFacts]) -> CallState {
    let Some(tool) = facts.iter().find(|tool| tool.name == call.name) else {
        let names: Vec<_> = facts.iter().map(|tool| tool.name.as_str()).collect();
        let known = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        let text = format!("There is no tool `{}`. Available tools: {known}.", call.name);
        return CallState::Invalid(failed(call, ToolStatus::Unknown, text));
    };
    let problem = match call.input_json() {
        Ok(Value::Object(_)) => None,
        Ok(other) => Some(format!("it must be a JSON object, not {}", kind(&other))),
        Err(error) => Some(format!("it is not valid JSON ({error})")),
    };
    if let Some(problem) = problem {
        let text = format!("The input of `{}` is invalid: {problem}. Correct it and call again.", call.name);
        return CallState::Invalid(failed(call, ToolStatus::InvalidInput, text));
    }
    match (tool.executable, tool.approval) {
        (false, _) => CallState::HandedOver,
        (true, true) => CallState::Undecided,
        (true, false) => CallState::Ready,
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

pub(super) fn failed(call: &ToolCall, status: ToolStatus, text: String) -> ToolRecord {
    ToolRecord::not_run(ToolResult::new(call.id.clone(), &*call.name, ToolOutput::ErrorText(text)), status)
}

pub(super) fn denied(call: &ToolCall, reason: Option<String>) -> ToolRecord {
    let output = ToolOutput::ExecutionDenied { reason };
    ToolRecord::not_run(ToolResult::new(call.id.clone(), &*call.name, output), ToolStatus::Denied)
}

/// What is wrong with a finish reason that names an error.
pub(super) fn finish_error(finish: &FinishReason) -> ErrorRecord {
    let raw = finish.raw.as_deref().unwrap_or("error");
    ai_provider::ModelError::new(
        ai_provider::ErrorClass::Server,
        format!("the provider ended the answer with the reason `{raw}`"),
    )
    .record()
}
