use std::sync::Arc;

use ai_core::run::{Outcome, RunSnapshot};
use ai_provider::{
    AssistantMessage, AssistantPart, Id, Message, TextPart, ToolMessage, ToolOutput, ToolPart, ToolResult,
};
use serde::{Deserialize, Serialize};

use super::missing::{Gaps, Missing};
use crate::stream::AgentEvent;
use crate::ui::{CUT_OFF, UiChunk, UiPart, UiReducer, UiToolPart, UiToolState, parts_to_history};

/// The conversation as models speak it, made of the events of a run, at any point of it: a run that was cut, or whose
/// reader saw only its beginning, gives a transcript as well.
///
/// ```
/// use agent_loop::{Agent, Interrupted, TranscriptView};
/// use ai_provider::{CancellationToken, Message};
/// use futures_util::StreamExt;
/// use std::sync::Arc;
///
/// # async fn f(agent: Agent) {
/// let history = vec![Arc::new(Message::user("How is Rome?"))];
/// let mut view = TranscriptView::new(history.clone());
/// let mut run = agent.stream(history, CancellationToken::new());
/// while let Some(event) = run.next().await {
///     view.push(&event);
/// }
/// let transcript = view.transcript();
/// println!("missing: {:?}", transcript.missing);
/// let next = transcript.history(Interrupted::Mark);
/// # drop(next); }
/// ```
#[derive(Debug)]
pub struct TranscriptView {
    history: Vec<Arc<Message>>,
    /// How many messages a stored run had added before.
    before: usize,
    added: Vec<Arc<Message>>,
    gaps: Gaps,
    /// The step under way, as it was shown.
    shown: UiReducer,
    outcome: Option<Outcome>,
}

impl TranscriptView {
    /// Of a run that begins with this history.
    pub fn new(history: impl IntoIterator<Item = impl Into<Arc<Message>>>) -> Self {
        Self::behind(history.into_iter().map(Into::into).collect(), 0, 0)
    }

    /// Of a stored run that goes on.
    pub fn resuming(stored: &RunSnapshot) -> Self {
        let run = stored.run();
        let steps = u32::try_from(run.steps().len()).unwrap_or(u32::MAX);
        Self::behind(run.messages().to_vec(), run.new_messages().len(), steps)
    }

    fn behind(history: Vec<Arc<Message>>, before: usize, steps: u32) -> Self {
        let (gaps, shown) = (Gaps::behind(steps), UiReducer::new(""));
        Self { history, before, added: Vec::new(), gaps, shown, outcome: None }
    }

    /// Takes the next event.
    pub fn push(&mut self, event: &AgentEvent) {
        match event {
            AgentEvent::Chunk(chunk) => self.chunk(chunk),
            AgentEvent::Step(record, snapshot) => {
                self.gaps.step_end(record);
                self.added = snapshot.run().new_messages().iter().skip(self.before).cloned().collect();
                self.shown = UiReducer::new("");
            }
            AgentEvent::End(outcome) => self.outcome = Some(outcome.clone()),
            AgentEvent::Attempt(_) => {}
        }
    }

    fn chunk(&mut self, chunk: &UiChunk) {
        match chunk {
            UiChunk::StartStep => {
                self.gaps.step_start(self.gaps.step().saturating_add(1));
                self.shown = UiReducer::new("");
            }
            UiChunk::ResetStep => self.gaps.reset(),
            UiChunk::ToolInputStart { tool_call_id, tool_name, .. } => {
                self.gaps.input(tool_call_id, tool_name)
            }
            // Of half an input the end is told as an error; the call was never made.
            UiChunk::ToolInputError { error_text, .. } if error_text == CUT_OFF => {}
            UiChunk::ToolInputAvailable { tool_call_id, tool_name, provider_executed, .. }
            | UiChunk::ToolInputError { tool_call_id, tool_name, provider_executed, .. } => {
                self.gaps.call(tool_call_id, tool_name, *provider_executed == Some(true));
            }
            UiChunk::ToolOutputAvailable { preliminary: Some(true), .. } => {}
            // Nobody gave a result: the stream says so to its client.
            UiChunk::ToolOutputError { error_text, .. } if error_text == CUT_OFF => return,
            UiChunk::ToolOutputAvailable { tool_call_id, .. }
            | UiChunk::ToolOutputError { tool_call_id, .. }
            | UiChunk::ToolOutputDenied { tool_call_id } => self.gaps.done(tool_call_id),
            UiChunk::TextDelta { .. }
            | UiChunk::ReasoningDelta { .. }
            | UiChunk::File { .. }
            | UiChunk::SourceUrl { .. }
            | UiChunk::SourceDocument { .. } => self.gaps.said(),
            _ => {}
        }
        // What a reader cannot place, such as the result of a call of a stored step, is in the step's record.
        let _ = self.shown.push(chunk.clone());
    }

    /// The transcript as far as the run has come. A copy of the step under way, so not for every delta.
    pub fn transcript(&self) -> Transcript {
        let complete =
            |message: &Arc<Message>| TranscriptEntry { message: Arc::clone(message), incomplete: false };
        let mut messages: Vec<_> = self.history.iter().chain(&self.added).map(complete).collect();
        let cut = self.cut_step().into_iter().map(Arc::new);
        messages.extend(cut.map(|message| TranscriptEntry { message, incomplete: true }));
        Transcript { messages, missing: self.gaps.missing(self.outcome.as_ref()) }
    }

    /// The step that is not complete, with something in the place of each result that is not there.
    fn cut_step(&self) -> Vec<Message> {
        let partial = match &self.outcome {
            Some(Outcome::Failed { partial, .. } | Outcome::Cancelled { partial }) => partial.as_deref(),
            _ => None,
        };
        if let Some(partial) = partial {
            return unanswered(partial);
        }
        let mut history = Vec::new();
        let open = |tool: &UiToolPart| {
            (tool.state != UiToolState::InputStreaming).then(|| ToolOutput::ErrorText(NO_RESULT.to_owned()))
        };
        let parts = &self.shown.as_shown().parts;
        let whole = |part: &&UiPart| match part {
            UiPart::Tool(tool) => !self.gaps.is_half(&tool.tool_call_id),
            _ => true,
        };
        let parts: Vec<_> = parts.iter().filter(whole).cloned().collect();
        // A file whose URL cannot be read is no reason to lose the rest.
        let _ = parts_to_history(&parts, &open, &mut history);
        history
    }
}

/// Stands in the place of a result that is not there.
const NO_RESULT: &str =
    "No result: the run was interrupted before there was one. Whether the call was run is unknown.";

const NOT_RUN: &str = "Not run: the answer that made this call broke off.";

/// An answer that broke off, and what is said of its calls.
fn unanswered(partial: &AssistantMessage) -> Vec<Message> {
    let calls = partial.tool_calls().filter(|call| !call.provider_executed);
    let results: Vec<_> = calls
        .map(|call| {
            let output = ToolOutput::ErrorText(NOT_RUN.to_owned());
            ToolPart::ToolResult(ToolResult {
                dynamic: call.dynamic,
                ..ToolResult::new(call.id.clone(), call.name.as_str(), output)
            })
        })
        .collect();
    let mut messages = vec![Message::Assistant(partial.clone())];
    if !results.is_empty() {
        messages.push(Message::Tool(ToolMessage { parts: results, ..ToolMessage::default() }));
    }
    messages
}

/// A conversation as models speak it, with what is missing in it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Transcript {
    /// The messages, in order. Each call of a tool has a result in the message behind it, if need be one that says that
    /// there is none.
    pub messages: Vec<TranscriptEntry>,
    /// What is missing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<Missing>,
}

/// A message of a transcript.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct TranscriptEntry {
    /// The message, in JSON with the fields of the entry.
    #[serde(flatten)]
    pub message: Arc<Message>,
    /// Whether it belongs to a step that was cut. It was shown, and is no fact.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub incomplete: bool,
}

/// What becomes of a message that was cut in the history of the next turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Interrupted {
    /// It is left out.
    #[default]
    LeaveOut,
    /// It is sent with a closing mark, which says that it is not whole. Only its text, files and calls are: reasoning
    /// counts only as a whole, and a call at the provider only with its result.
    Mark,
}

/// What the model reads behind an answer that was cut.
const MARK: &str = "[This answer was interrupted here. It is not complete.]";

impl Transcript {
    /// Whether a part of it was cut.
    pub fn is_incomplete(&self) -> bool {
        self.messages.iter().any(|entry| entry.incomplete)
    }

    /// The messages as the history of a next turn, which any provider takes.
    pub fn history(&self, interrupted: Interrupted) -> Vec<Arc<Message>> {
        let mut history = Vec::with_capacity(self.messages.len());
        for TranscriptEntry { message, incomplete } in &self.messages {
            match (&**message, interrupted) {
                _ if !incomplete => history.push(Arc::clone(message)),
                (_, Interrupted::LeaveOut) => {}
                (Message::Assistant(cut), Interrupted::Mark) => history.extend(marked(cut)),
                (_, Interrupted::Mark) => history.push(Arc::clone(message)),
            }
        }
        history
    }
}

fn marked(cut: &AssistantMessage) -> Option<Arc<Message>> {
    let answered: Vec<&Id> = cut
        .parts
        .iter()
        .filter_map(|part| match part {
            AssistantPart::ToolResult(result) => Some(&result.tool_call_id),
            _ => None,
        })
        .collect();
    let stays = |part: &&AssistantPart| match part {
        AssistantPart::Text(part) => !part.text.is_empty(),
        AssistantPart::ToolCall(call) => !call.provider_executed || answered.contains(&&call.id),
        AssistantPart::File(_) | AssistantPart::ToolResult(_) => true,
        _ => false,
    };
    let mut parts: Vec<_> = cut.parts.iter().filter(stays).cloned().collect();
    if parts.is_empty() {
        return None;
    }
    // Behind a call there may be no text but its result's.
    let at = parts
        .iter()
        .position(|part| matches!(part, AssistantPart::ToolCall(call) if !call.provider_executed));
    parts.insert(at.unwrap_or(parts.len()), AssistantPart::Text(TextPart::new(MARK)));
    Some(Arc::new(Message::Assistant(AssistantMessage { parts, options: cut.options.clone() })))
}
