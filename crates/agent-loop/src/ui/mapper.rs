use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use ai_core::run::{Outcome, PendingApproval};
use ai_core::{LoopEvent, RunEnd, ToolEvent};
use ai_provider::{Id, StreamPart, ToolCall, ToolResult, UnifiedFinish};
use serde_json::Value;

use super::chunk::UiChunk;
use super::content::{CUT_OFF, flag, url};
use super::settings::UiSettings;
use super::word::UiFinishReason;
use crate::ending::Ending;
use crate::stream::AgentEvent;

type Out = VecDeque<AgentEvent>;

/// Turns the events of one run into those of an agent. Pure: no clock, no I/O.
///
/// Whatever happens to the run, what comes out is a complete message for a client: blocks and steps that were
/// begun are ended, calls that will get no result are given an error, and one chunk ends it all.
#[derive(Debug)]
pub(crate) struct Mapper {
    settings: Arc<UiSettings>,
    message_id: Option<String>,
    started: bool,
    in_step: bool,
    /// What was begun in this step and has not ended.
    open: HashMap<(Kind, Id), Open>,
    /// How many things were begun, so that they are ended in the order in which they began.
    begun: usize,
    /// The calls a client knows: a result of any other would break it.
    calls: HashSet<Id>,
    /// Those among them that it knows since this step.
    new_calls: Vec<Id>,
    /// What the user said in the middle, to be shown before the next step.
    steers: Vec<UiChunk>,
    /// Questions about calls at the provider that were not answered yet.
    asked_there: HashSet<Id>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Kind {
    Text,
    Reasoning,
    Input,
    Call,
}

#[derive(Debug, Default)]
struct Open {
    at: usize,
    tool_name: String,
    /// The text of a tool's input so far: what there is to show of a call that stays half.
    input: String,
    provider_executed: bool,
    dynamic: bool,
    title: Option<String>,
}

impl Mapper {
    /// The message id is what `start` carries.
    pub(crate) fn new(settings: Arc<UiSettings>, message_id: Option<String>) -> Self {
        Self {
            settings,
            message_id,
            started: false,
            in_step: false,
            open: HashMap::new(),
            begun: 0,
            calls: HashSet::new(),
            new_calls: Vec::new(),
            steers: Vec::new(),
            asked_there: HashSet::new(),
        }
    }

    /// Shows, before the next step, what the user said in the middle of the message, with which the client goes on.
    pub(crate) fn steer(&mut self, steer: UiChunk) {
        self.message_id = self.settings.message_id.clone();
        self.steers.push(steer);
    }

    /// Says what else was asked about a call at the provider.
    pub(crate) fn asked_there(&mut self, approval: Id) {
        self.asked_there.insert(approval);
    }

    /// Takes an event other than the end, which [`end`](Self::end) takes.
    pub(crate) fn event(&mut self, event: LoopEvent, out: &mut Out) {
        match event {
            LoopEvent::Part(part) => {
                let chunk = self.part(part, out);
                out.extend(chunk.map(AgentEvent::Chunk));
            }
            LoopEvent::StepStart(_) => self.step_start(out),
            LoopEvent::Tool(event) => self.tool(event, out),
            LoopEvent::Attempt(attempt) => out.push_back(AgentEvent::Attempt(attempt)),
            LoopEvent::StepReset(_) => self.step_reset(out),
            LoopEvent::StepEnd(record, snapshot) => {
                self.end_blocks(out);
                self.finish_step(out);
                out.push_back(AgentEvent::Step(record, snapshot));
            }
            LoopEvent::End(end) => self.end(&end, out),
            _ => {}
        }
    }

    /// Adds to the metadata of the message, at the end of a step.
    pub(crate) fn metadata(&mut self, message_metadata: Value, out: &mut Out) {
        self.end_blocks(out);
        self.push(out, UiChunk::MessageMetadata { message_metadata });
    }

    /// The run is over: the one place where its last chunk is chosen.
    pub(crate) fn end(&mut self, end: &RunEnd, out: &mut Out) {
        self.start(out);
        self.end_blocks(out);
        if self.in_step && !matches!(end.outcome, Outcome::AwaitingApproval { .. }) {
            self.end_calls(out);
        }
        self.finish_step(out);
        self.show_steers(out);
        self.push(out, self.last_chunk(end));
        out.push_back(AgentEvent::End(end.outcome.clone()));
    }

    fn start(&mut self, out: &mut Out) {
        if !std::mem::replace(&mut self.started, true) {
            let message_id = self.message_id.take();
            self.push(out, UiChunk::Start { message_id, message_metadata: None });
            self.show_steers(out);
        }
    }

    /// Outside of steps, so that none of it is taken back.
    fn show_steers(&mut self, out: &mut Out) {
        for steer in std::mem::take(&mut self.steers) {
            self.push(out, steer);
        }
    }

    fn step_start(&mut self, out: &mut Out) {
        self.start(out);
        // A step that was reset goes on: to the client it never ended.
        if !std::mem::replace(&mut self.in_step, true) {
            self.show_steers(out);
            self.push(out, UiChunk::StartStep);
        }
    }

    fn step_reset(&mut self, out: &mut Out) {
        self.open.clear();
        for call in self.new_calls.drain(..) {
            self.calls.remove(&call);
        }
        self.push(out, UiChunk::ResetStep);
    }

    fn finish_step(&mut self, out: &mut Out) {
        self.open.clear();
        self.new_calls.clear();
        if std::mem::replace(&mut self.in_step, false) {
            self.push(out, UiChunk::FinishStep);
        }
    }

    /// What a part of the answer shows, behind what it may have put out before. Deltas, which are nearly all that
    /// comes, are the same at every level.
    pub(crate) fn part(&mut self, part: StreamPart, out: &mut Out) -> Option<UiChunk> {
        let chunk = match part {
            StreamPart::TextDelta { id, delta, metadata } => {
                let provider_metadata = self.settings.metadata(metadata);
                let shown = !delta.is_empty() || provider_metadata.is_some();
                return shown.then_some(UiChunk::TextDelta { id, delta, provider_metadata });
            }
            StreamPart::ReasoningDelta { id, delta, metadata } => {
                let provider_metadata = self.settings.metadata(metadata);
                let shown = !delta.is_empty() || provider_metadata.is_some();
                return shown.then_some(UiChunk::ReasoningDelta { id, delta, provider_metadata });
            }
            StreamPart::TextStart { id, metadata } => {
                self.begin(Kind::Text, &id, Open::default());
                UiChunk::TextStart { id, provider_metadata: self.settings.metadata(metadata) }
            }
            StreamPart::ReasoningStart { id, metadata } => {
                self.begin(Kind::Reasoning, &id, Open::default());
                UiChunk::ReasoningStart { id, provider_metadata: self.settings.metadata(metadata) }
            }
            StreamPart::TextEnd { id, metadata } => {
                self.open.remove(&(Kind::Text, id.clone()));
                UiChunk::TextEnd { id, citations: None, provider_metadata: self.settings.metadata(metadata) }
            }
            StreamPart::ReasoningEnd { id, metadata } => {
                self.open.remove(&(Kind::Reasoning, id.clone()));
                UiChunk::ReasoningEnd { id, provider_metadata: self.settings.metadata(metadata) }
            }
            StreamPart::ToolInputStart { id, tool_name, provider_executed, dynamic, title } => {
                let open = Open {
                    tool_name: tool_name.clone(),
                    provider_executed,
                    dynamic,
                    title: title.clone(),
                    ..Open::default()
                };
                self.begin(Kind::Input, &id, open);
                UiChunk::ToolInputStart {
                    tool_call_id: id,
                    tool_name,
                    input_encoding: None,
                    provider_executed: flag(provider_executed),
                    dynamic: flag(dynamic),
                    title,
                    tool_metadata: None,
                    provider_metadata: None,
                }
            }
            StreamPart::ToolInputDelta { id, delta } => {
                if let Some(open) = self.open.get_mut(&(Kind::Input, id.clone())) {
                    open.input.push_str(&delta);
                }
                return Some(UiChunk::ToolInputDelta { tool_call_id: id, input_text_delta: delta });
            }
            StreamPart::ToolCall(call) => self.call(*call),
            StreamPart::ToolResult(result) => {
                self.introduce(&result, out);
                self.result(*result)
            }
            StreamPart::ToolApprovalRequest(request) if self.calls.contains(&request.tool_call_id) => {
                let call = self.open.get(&(Kind::Call, request.tool_call_id.clone()));
                if call.is_some_and(|call| call.provider_executed) {
                    self.asked_there(request.approval_id.clone());
                }
                approval_request(request.approval_id, request.tool_call_id)
            }
            StreamPart::ToolApprovalRequest(request) => {
                tracing::warn!(call = %request.tool_call_id, "an approval was asked for a call that never came");
                return None;
            }
            StreamPart::Source(source) => self.settings.source(*source)?,
            StreamPart::File(file) => UiChunk::File {
                url: url(&file)?,
                media_type: file.media_type,
                provider_metadata: self.settings.metadata(file.metadata),
            },
            StreamPart::ReasoningFile(file) => UiChunk::ReasoningFile {
                url: url(&file)?,
                media_type: file.media_type,
                provider_metadata: self.settings.metadata(file.metadata),
            },
            StreamPart::Custom(custom) => UiChunk::Custom {
                kind: custom.kind,
                provider_metadata: self.settings.metadata(custom.metadata),
            },
            _ => return None,
        };
        self.settings.protocol.adapt(chunk)
    }

    fn tool(&mut self, event: ToolEvent, out: &mut Out) {
        // A run that was stored may go on in the middle of a step.
        self.start(out);
        let chunk = match event {
            ToolEvent::ApprovalRequested(PendingApproval { approval_id, call }) => {
                approval_request(approval_id, call.id)
            }
            ToolEvent::ApprovalAnswered(answer) => UiChunk::ToolApprovalResponse {
                provider_executed: flag(self.asked_there.remove(&answer.approval_id)),
                approval_id: answer.approval_id,
                approved: answer.approved,
                reason: answer.reason,
                provider_metadata: None,
            },
            ToolEvent::Preliminary(result) => self.result(result),
            ToolEvent::Finished(record) => self.result(record.result),
            _ => return,
        };
        self.push(out, chunk);
    }

    fn call(&mut self, call: ToolCall) -> UiChunk {
        let input = call.input_json();
        let ToolCall { id, name: tool_name, input: text, provider_executed, dynamic, metadata } = call;
        let streamed = self.open.remove(&(Kind::Input, id.clone()));
        let title = streamed.and_then(|open| open.title);
        self.announce(&id);
        self.begin(Kind::Call, &id, Open { provider_executed, dynamic, ..Open::default() });
        let (provider_executed, dynamic) = (flag(provider_executed), flag(dynamic));
        let provider_metadata = self.settings.metadata(metadata);
        match input {
            Ok(input) => UiChunk::ToolInputAvailable {
                tool_call_id: id,
                tool_name,
                input,
                provider_executed,
                dynamic,
                title,
                tool_metadata: None,
                provider_metadata,
            },
            Err(_) => UiChunk::ToolInputError {
                tool_call_id: id,
                tool_name,
                input: Value::String(text),
                error_text: "The input is not valid JSON.".to_owned(),
                provider_executed,
                dynamic,
                title,
                tool_metadata: None,
                provider_metadata,
            },
        }
    }

    fn result(&mut self, result: ToolResult) -> UiChunk {
        if !result.preliminary {
            self.open.remove(&(Kind::Call, result.tool_call_id.clone()));
        }
        self.settings.output(result)
    }

    /// A provider may give the result of a call it made in an earlier answer, or of one it never showed.
    fn introduce(&mut self, result: &ToolResult, out: &mut Out) {
        if self.announce(&result.tool_call_id) {
            self.push(
                out,
                UiChunk::ToolInputAvailable {
                    tool_call_id: result.tool_call_id.clone(),
                    tool_name: result.tool_name.clone(),
                    input: Value::Null,
                    provider_executed: flag(result.provider_executed),
                    dynamic: flag(result.dynamic),
                    title: None,
                    tool_metadata: None,
                    provider_metadata: None,
                },
            );
        }
    }

    /// Whether the call is new.
    fn announce(&mut self, call: &Id) -> bool {
        let new = self.calls.insert(call.clone());
        if new {
            self.new_calls.push(call.clone());
        }
        new
    }

    fn begin(&mut self, kind: Kind, id: &Id, open: Open) {
        self.begun += 1;
        self.open.insert((kind, id.clone()), Open { at: self.begun, ..open });
    }

    /// Takes what is open of these kinds, in the order in which it began.
    fn take_open(&mut self, wanted: impl Fn(Kind) -> bool) -> Vec<(Kind, Id, Open)> {
        let taken = self.open.extract_if(|(kind, _), _| wanted(*kind));
        let mut taken: Vec<_> = taken.map(|((kind, id), open)| (kind, id, open)).collect();
        taken.sort_unstable_by_key(|(_, _, open)| open.at);
        taken
    }

    /// Ends blocks the model left open. Half a call will never be whole: it is an error.
    fn end_blocks(&mut self, out: &mut Out) {
        for (kind, id, open) in self.take_open(|kind| kind != Kind::Call) {
            let chunk = match kind {
                Kind::Text => UiChunk::TextEnd { id, citations: None, provider_metadata: None },
                Kind::Reasoning => UiChunk::ReasoningEnd { id, provider_metadata: None },
                Kind::Input | Kind::Call => UiChunk::ToolInputError {
                    tool_call_id: id,
                    tool_name: open.tool_name,
                    input: Value::String(open.input),
                    error_text: CUT_OFF.to_owned(),
                    provider_executed: flag(open.provider_executed),
                    dynamic: flag(open.dynamic),
                    title: open.title,
                    tool_metadata: None,
                    provider_metadata: None,
                },
            };
            self.push(out, chunk);
        }
    }

    /// Ends calls the run will not answer any more.
    fn end_calls(&mut self, out: &mut Out) {
        for (_, id, open) in self.take_open(|kind| kind == Kind::Call) {
            self.push(out, UiSettings::cut_off(id, open.provider_executed, open.dynamic));
        }
    }

    fn last_chunk(&self, end: &RunEnd) -> UiChunk {
        match Ending::of(&end.outcome) {
            Ending::Abort => UiChunk::Abort { reason: None },
            Ending::Error => UiChunk::Error { error_text: self.error_text(&end.outcome) },
            Ending::Finish => {
                UiChunk::Finish { finish_reason: Some(finish_reason(end)), message_metadata: None }
            }
        }
    }

    /// The one way out: at the level the client reads.
    fn push(&self, out: &mut Out, chunk: UiChunk) {
        out.extend(self.settings.protocol.adapt(chunk).map(AgentEvent::Chunk));
    }

    /// What a limit or a trusted tool says is written for the user; what a provider says is not.
    fn error_text(&self, outcome: &Outcome) -> String {
        match outcome {
            Outcome::Failed { error, .. } => self.settings.error_text(error),
            Outcome::StepCap { cap } => {
                format!("The limit of {cap} steps was reached. Raise it, or ask for less at once.")
            }
            Outcome::LoopGuard { tool } => {
                format!("The run was stopped: it repeated the same call of `{tool}`.")
            }
            other => other.to_string(),
        }
    }
}

fn finish_reason(end: &RunEnd) -> UiFinishReason {
    match &end.outcome {
        Outcome::Truncated { .. } => UiFinishReason::Length,
        Outcome::Refused { .. } => UiFinishReason::ContentFilter,
        Outcome::AwaitingApproval { .. } | Outcome::HandedOver { .. } => UiFinishReason::ToolCalls,
        Outcome::Finished | Outcome::SteerYield => {
            end.steps.last().map_or(UnifiedFinish::Other, |step| step.finish.unified).into()
        }
        _ => UiFinishReason::Other,
    }
}

fn approval_request(approval_id: Id, tool_call_id: Id) -> UiChunk {
    UiChunk::ToolApprovalRequest {
        approval_id,
        tool_call_id,
        approval_descriptor: None,
        input_schema_input: None,
        reason: None,
        is_automatic: None,
        signature: None,
    }
}

#[cfg(test)]
mod tests;
