use std::collections::HashMap;
use std::sync::Arc;

use ai_provider::{
    AssistantMessage, AssistantPart, ErrorRecord, FinishReason, Id, Message, ProviderOptions,
    ToolApprovalResponse, ToolCall, ToolMessage, ToolOutput, ToolPart, ToolResult,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::calls::{CallState, Calls, OpenCall};
use super::input::{ApprovalVerdict, ToolFacts};
use super::next::Invalid;
use super::record::{PendingApproval, StepRecord, ToolRecord, ToolStatus};

/// A step whose answer is there and whose calls are being dealt with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct OpenStep {
    pub(super) record: StepRecord,
    pub(super) calls: Calls,
    pub(super) facts: Vec<ToolFacts>,
}

/// What the model reads of a call that was cut off.
pub(super) const INTERRUPTED: &str = "Not run to its end: the run was interrupted.";

impl OpenStep {
    pub(super) fn new(record: StepRecord, facts: Vec<ToolFacts>, invalid: Vec<(Id, String)>) -> Self {
        let known = Known::of(&facts);
        let invalid: HashMap<Id, String> = invalid.into_iter().collect();
        let asking = asking(&record.message);
        let calls = record.message.tool_calls().filter_map(|call| {
            let state = match call.provider_executed {
                true => CallState::Asking((*asking.get(&call.id)?).clone()),
                false => known.check(call, invalid.get(&call.id).map(String::as_str)),
            };
            Some(OpenCall { call: call.clone(), state, repaired: false })
        });
        Self { calls: calls.collect(), record, facts }
    }

    /// A step that was committed with calls unanswered, to be committed again with these answers. Calls that have
    /// none count as cut off.
    pub(super) fn again(mut record: StepRecord, answers: Vec<ToolResult>) -> Self {
        let answers = answers.into_iter().map(|result| {
            let status = if result.output.is_error() { ToolStatus::Failed } else { ToolStatus::Ok };
            ToolRecord::not_run(result, status)
        });
        let records = std::mem::take(&mut record.tools).into_iter().chain(answers);
        let mut records: HashMap<_, _> =
            records.map(|record| (record.result.tool_call_id.clone(), record)).collect();
        let client = record.message.tool_calls().filter(|call| !call.provider_executed);
        let calls = client.map(|call| {
            let record = records.remove(&call.id);
            let record =
                record.unwrap_or_else(|| failed(call, ToolStatus::Cancelled, INTERRUPTED.to_owned()));
            OpenCall { call: call.clone(), state: CallState::Done(record), repaired: false }
        });
        // What was said of calls at the provider stays in the record.
        Self { calls: calls.collect(), record, facts: Vec::new() }
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

    pub(super) fn invalid(&self) -> Vec<Invalid<'_>> {
        let invalid = self.calls.iter().filter_map(|open| match &open.state {
            CallState::Invalid(record) => Some(Invalid { call: &open.call, record }),
            _ => None,
        });
        invalid.collect()
    }

    /// Puts repaired calls in the places of invalid ones, where they are valid themselves.
    pub(super) fn repair(&mut self, repaired: Vec<(Id, Option<ToolCall>)>) {
        let known = Known::of(&self.facts);
        for (id, call) in repaired {
            self.calls.change(&id, |open| {
                let CallState::Invalid(record) = &open.state else { return };
                open.state = match call.map(|call| (known.check(&call, None), call)) {
                    Some((CallState::Invalid(_), _)) | None => CallState::Done(record.clone()),
                    Some((state, call)) => {
                        // The result must answer the call the model made, with what its provider attached to it.
                        let original = &open.call;
                        open.call =
                            ToolCall { id: original.id.clone(), metadata: original.metadata.clone(), ..call };
                        open.repaired = true;
                        state
                    }
                };
            });
        }
    }

    pub(super) fn decide(&mut self, id: &Id, verdict: ApprovalVerdict) {
        self.calls.change(id, |open| {
            if open.state == CallState::Undecided {
                open.state = match verdict {
                    ApprovalVerdict::Approved => CallState::Ready,
                    ApprovalVerdict::Denied { reason } => CallState::Done(denied(&open.call, reason)),
                    ApprovalVerdict::AskUser { approval_id } => CallState::Asking(approval_id),
                };
            }
        });
    }

    /// A person's answer to a question that stands; says whether one does.
    pub(super) fn answer(&mut self, id: &Id, approved: bool, reason: Option<String>) -> bool {
        let asks = self.calls.get(id).is_some_and(|open| matches!(open.state, CallState::Asking(_)));
        if asks {
            self.calls.change(id, |open| {
                open.state = match (&open.state, approved) {
                    (CallState::Asking(approval_id), _) if open.call.provider_executed => {
                        let approval_id = approval_id.clone();
                        CallState::Answered(ToolApprovalResponse { approval_id, approved, reason })
                    }
                    (_, true) => CallState::Ready,
                    (_, false) => CallState::Done(denied(&open.call, reason)),
                };
            });
        }
        asks
    }

    /// The record of a call that runs; says whether it does.
    pub(super) fn finish(&mut self, record: ToolRecord) -> bool {
        let id = record.result.tool_call_id.clone();
        let runs = self.calls.get(&id).is_some_and(|open| open.state == CallState::Ready);
        if runs {
            self.calls.change(&id, |open| open.state = CallState::Done(record));
        }
        runs
    }

    /// Nobody repairs the calls that are still invalid.
    pub(super) fn give_up_invalid(&mut self) {
        self.calls.change_all(|open| match &open.state {
            CallState::Invalid(record) => Some(CallState::Done(record.clone())),
            _ => None,
        });
    }

    /// Gives every call without a result one that says why. A call at the provider that waits for consent is denied.
    pub(super) fn close(&mut self, status: &ToolStatus, text: &str) {
        self.calls.change_all(|open| match &open.state {
            CallState::Done(_) | CallState::Answered(_) => None,
            CallState::Asking(approval_id) if open.call.provider_executed => {
                let (approval_id, reason) = (approval_id.clone(), Some(text.to_owned()));
                Some(CallState::Answered(ToolApprovalResponse { approval_id, approved: false, reason }))
            }
            _ => Some(CallState::Done(failed(&open.call, status.clone(), text.to_owned()))),
        });
    }

    /// The step as part of the history: record, and messages to append. Results stand in the order of the
    /// calls, whatever the order in which they came.
    pub(super) fn commit(mut self) -> (StepRecord, Vec<Arc<Message>>) {
        let calls = self.calls.into_list();
        if calls.iter().any(|open| open.repaired) {
            let written = self.record.message.parts.iter_mut().filter_map(|part| match part {
                AssistantPart::ToolCall(call) if !call.provider_executed => Some(call),
                _ => None,
            });
            let client = calls.iter().filter(|open| !open.call.provider_executed);
            for (written, open) in written.zip(client).filter(|(_, open)| open.repaired) {
                written.clone_from(&open.call);
            }
        }
        for open in calls {
            match open.state {
                CallState::Done(record) => self.record.tools.push(record),
                CallState::Answered(answer) => self.record.approvals.push(answer),
                _ => {}
            }
        }
        let mut messages = Vec::with_capacity(2);
        if !self.record.message.parts.is_empty() {
            messages.push(Arc::new(Message::Assistant(self.record.message.clone())));
        }
        let answers = answers(&self.record);
        if !answers.is_empty() {
            let options = ProviderOptions::default();
            messages.push(Arc::new(Message::Tool(ToolMessage { parts: answers, options })));
        }
        (self.record, messages)
    }
}

/// What of a step answers its calls: the results in their order, and behind them what goes to the provider.
pub(super) fn answers(step: &StepRecord) -> Vec<ToolPart> {
    let results = step.tools.iter().map(|tool| ToolPart::ToolResult(tool.result.clone()));
    results.chain(step.approvals.iter().cloned().map(ToolPart::ToolApprovalResponse)).collect()
}

/// The calls at the provider that wait for consent, each with the id of its question.
fn asking(message: &AssistantMessage) -> HashMap<&Id, &Id> {
    let mut asking = HashMap::new();
    for part in &message.parts {
        match part {
            AssistantPart::ToolApprovalRequest(request) => {
                asking.insert(&request.tool_call_id, &request.approval_id);
            }
            // It has run all the same.
            AssistantPart::ToolResult(result) => {
                asking.remove(&result.tool_call_id);
            }
            _ => {}
        }
    }
    asking
}

/// The tools of a step by name.
struct Known<'a>(HashMap<&'a str, &'a ToolFacts>, &'a [ToolFacts]);

/// The most tools an error names: the text is repeated for every wrong call.
const NAMES: usize = 50;

impl<'a> Known<'a> {
    fn of(facts: &'a [ToolFacts]) -> Self {
        Self(facts.iter().map(|tool| (tool.name.as_str(), tool)).collect(), facts)
    }

    fn check(&self, call: &ToolCall, invalid: Option<&str>) -> CallState {
        let Some(tool) = self.0.get(call.name.as_str()) else {
            let text = format!("There is no tool `{}`. {}", brief(&call.name, 80), self.names());
            return CallState::Invalid(failed(call, ToolStatus::Unknown, text));
        };
        let problem = match (invalid, call.input_json()) {
            (_, Err(error)) => Some(format!("it is not valid JSON ({error})")),
            (None, Ok(Value::Object(_))) => None,
            (Some(problem), Ok(Value::Object(_))) => Some(brief(problem, 2_000)),
            (_, Ok(other)) => Some(format!("it must be a JSON object, not {}", kind(&other))),
        };
        if let Some(problem) = problem {
            let text =
                format!("The input of `{}` is invalid: {problem}. Correct it and call again.", call.name);
            return CallState::Invalid(failed(call, ToolStatus::InvalidInput, text));
        }
        match (tool.executable, tool.approval) {
            (false, _) => CallState::HandedOver,
            (true, true) => CallState::Undecided,
            (true, false) => CallState::Ready,
        }
    }

    fn names(&self) -> String {
        let names: Vec<_> = self.1.iter().take(NAMES).map(|tool| tool.name.as_str()).collect();
        match self.1.len().saturating_sub(NAMES) {
            _ if names.is_empty() => "No tool is available.".to_owned(),
            0 => format!("Available tools: {}.", names.join(", ")),
            more => format!("Available tools: {} and {more} more.", names.join(", ")),
        }
    }
}

/// The beginning of a text whose length is not ours.
pub(crate) fn brief(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()),
        None => text.to_owned(),
    }
}

pub(crate) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

fn failed(call: &ToolCall, status: ToolStatus, text: String) -> ToolRecord {
    ToolRecord::not_run(ToolResult::new(call.id.clone(), &*call.name, ToolOutput::ErrorText(text)), status)
}

fn denied(call: &ToolCall, reason: Option<String>) -> ToolRecord {
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
