//! What makes a sequence of chunks one complete message: written from the client's side, without looking at
//! how the chunks are made.

use std::collections::{HashMap, HashSet};

use ai_provider::Id;

use super::support;
use crate::{UiChunk, UiFinishReason};

/// Whether this is one complete message; else what is wrong, and where.
pub(crate) fn check(chunks: &[UiChunk]) -> Result<(), String> {
    let Some((first, rest)) = chunks.split_first() else { return Err("there is no chunk".to_owned()) };
    if !matches!(first, UiChunk::Start { .. }) {
        return Err("the first chunk is no start".to_owned());
    }
    let Some((last, rest)) = rest.split_last() else { return Err("one chunk is no message".to_owned()) };
    let mut message = Message::default();
    for (at, chunk) in rest.iter().enumerate() {
        message.take(chunk).map_err(|problem| format!("chunk {}, {chunk:?}: {problem}", at + 1))?;
    }
    message.end(last).map_err(|problem| format!("the last chunk, {last:?}: {problem}"))
}

#[derive(Default)]
struct Message {
    in_step: bool,
    open: HashSet<(&'static str, Id)>,
    used: HashSet<(&'static str, Id)>,
    inputs: HashSet<Id>,
    /// The calls of the step under way, and those of earlier ones.
    calls: HashMap<Id, Call>,
    earlier: HashMap<Id, Call>,
}

#[derive(Clone, Copy)]
struct Call {
    state: State,
    /// Runs at the provider or at the client, which may give the result later than this message, or never.
    elsewhere: bool,
}

/// The tool that the client runs, in these tests.
const CLIENT_TOOL: &str = "client";

/// How a call stands with the client.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Waiting,
    /// Its input is an error: a result may follow and need not.
    Unusable,
    Done,
}

type Checked = Result<(), &'static str>;

impl Message {
    fn take(&mut self, chunk: &UiChunk) -> Checked {
        match chunk {
            UiChunk::Start { .. } => Err("a second start"),
            UiChunk::Finish { .. } | UiChunk::Error { .. } | UiChunk::Abort { .. } => {
                Err("something follows the end")
            }
            UiChunk::Data(_) | UiChunk::MessageMetadata { .. } => Ok(()),
            // Within a step a reset would take it back.
            UiChunk::SteeringMessage { .. } => must(!self.in_step, "the user speaks within a step"),
            UiChunk::StartStep if self.in_step => Err("a step in a step"),
            UiChunk::StartStep => {
                self.in_step = true;
                Ok(())
            }
            _ if !self.in_step => Err("outside of a step"),
            chunk => self.take_in_step(chunk),
        }
    }

    fn take_in_step(&mut self, chunk: &UiChunk) -> Checked {
        match chunk {
            UiChunk::FinishStep if !self.open.is_empty() => Err("a block is open"),
            UiChunk::FinishStep if !self.inputs.is_empty() => Err("a tool's input is open"),
            UiChunk::FinishStep => {
                self.in_step = false;
                self.earlier.extend(self.calls.drain());
                Ok(())
            }
            UiChunk::ResetStep => {
                self.open.clear();
                self.inputs.clear();
                self.calls.clear();
                Ok(())
            }
            UiChunk::TextStart { id, .. } => self.block_start("text", id),
            UiChunk::TextDelta { id, .. } => self.block_goes_on("text", id),
            UiChunk::TextEnd { id, .. } => self.block_end("text", id),
            UiChunk::ReasoningStart { id, .. } => self.block_start("reasoning", id),
            UiChunk::ReasoningDelta { id, .. } => self.block_goes_on("reasoning", id),
            UiChunk::ReasoningEnd { id, .. } => self.block_end("reasoning", id),
            chunk => self.take_of_tool(chunk),
        }
    }

    fn take_of_tool(&mut self, chunk: &UiChunk) -> Checked {
        match chunk {
            UiChunk::ToolInputStart { tool_call_id: id, .. } => {
                let new = !self.calls.contains_key(id) && self.inputs.insert(id.clone());
                must(new, "the call is there already")
            }
            UiChunk::ToolInputDelta { tool_call_id: id, .. } => {
                must(self.inputs.contains(id), "the input is not open")
            }
            UiChunk::ToolInputAvailable { tool_call_id: id, tool_name, provider_executed, .. } => {
                self.call(id, State::Waiting, provider_executed.is_some() || tool_name == CLIENT_TOOL)
            }
            UiChunk::ToolInputError { tool_call_id: id, provider_executed, .. } => {
                self.call(id, State::Unusable, provider_executed.is_some())
            }
            UiChunk::ToolApprovalRequest { tool_call_id: id, .. } => {
                must(self.find(id)?.state == State::Waiting, "asks about a call that is over")
            }
            UiChunk::ToolOutputAvailable { tool_call_id: id, preliminary: Some(true), .. } => {
                self.find(id).map(drop)
            }
            UiChunk::ToolOutputAvailable { tool_call_id: id, .. }
            | UiChunk::ToolOutputError { tool_call_id: id, .. }
            | UiChunk::ToolOutputDenied { tool_call_id: id } => {
                let call = self.find(id)?;
                let first = std::mem::replace(&mut call.state, State::Done) != State::Done;
                must(first || call.elsewhere, "a second result")
            }
            _ => Ok(()),
        }
    }

    fn end(&mut self, last: &UiChunk) -> Checked {
        if self.in_step {
            return Err("a step is open");
        }
        let waits = self.earlier.values().any(|call| call.state == State::Waiting && !call.elsewhere);
        match last {
            // For a person, or for the client.
            UiChunk::Finish { finish_reason: Some(UiFinishReason::ToolCalls), .. } => Ok(()),
            _ if waits => Err("a call waits for ever"),
            UiChunk::Finish { .. } | UiChunk::Error { .. } | UiChunk::Abort { .. } => Ok(()),
            _ => Err("no end"),
        }
    }

    fn call(&mut self, id: &Id, state: State, elsewhere: bool) -> Checked {
        self.inputs.remove(id);
        let earlier = self.calls.insert(id.clone(), Call { state, elsewhere });
        must(earlier.is_none(), "the call is there already")
    }

    fn find(&mut self, id: &Id) -> Result<&mut Call, &'static str> {
        let call = self.calls.get_mut(id);
        call.or_else(|| self.earlier.get_mut(id)).ok_or("no such call")
    }

    fn block_start(&mut self, kind: &'static str, id: &Id) -> Checked {
        self.open.insert((kind, id.clone()));
        must(self.used.insert((kind, id.clone())), "the id was used before")
    }

    fn block_goes_on(&self, kind: &'static str, id: &Id) -> Checked {
        must(self.open.contains(&(kind, id.clone())), "the block is not open")
    }

    fn block_end(&mut self, kind: &'static str, id: &Id) -> Checked {
        must(self.open.remove(&(kind, id.clone())), "the block is not open")
    }
}

fn must(holds: bool, otherwise: &'static str) -> Checked {
    if holds { Ok(()) } else { Err(otherwise) }
}

/// The checker itself must be able to say no.
#[test]
fn broken_messages_are_found() {
    let read = |lines: &[&str]| -> Vec<UiChunk> {
        lines.iter().map(|line| serde_json::from_value(support::read(line)).unwrap()).collect()
    };
    let call = r#"tool-input-available {"toolCallId":"c","toolName":"t","input":{}}"#;
    let server_call = r#"tool-input-available {"toolCallId":"c","toolName":"t","providerExecuted":true}"#;
    let result = r#"tool-output-available {"toolCallId":"c","output":1}"#;
    let asks = r#"tool-approval-request {"toolCallId":"c","approvalId":"a"}"#;
    let open = r#"text-start {"id":"1"}"#;
    let delta = r#"text-delta {"id":"1","delta":"x"}"#;
    let close = r#"text-end {"id":"1"}"#;
    let steers = r#"steering-message {"id":"u","parts":[]}"#;
    let tool_calls = r#"finish {"finishReason":"tool-calls"}"#;

    let good: &[&[&str]] = &[
        &["start", "abort"],
        &["start", steers, "start-step", "finish-step", steers, "finish"],
        &["start", "start-step", open, delta, close, "finish-step", "finish"],
        &["start", "start-step", call, result, "finish-step", "finish"],
        &["start", "start-step", call, asks, "finish-step", tool_calls],
        &["start", "start-step", open, "reset-step", call, result, "finish-step", "finish"],
        &["start", "start-step", server_call, "finish-step", "start-step", result, "finish-step", "finish"],
    ];
    for lines in good {
        assert_eq!(check(&read(lines)), Ok(()), "{lines:?}");
    }
    let broken: &[(&[&str], &str)] = &[
        (&[], "no chunk"),
        (&["start"], "no message"),
        (&["start-step", "finish-step", "finish"], "no start"),
        (&["start", "start", "finish"], "second start"),
        (&["start", "start-step", "finish-step", "message-metadata"], "no end"),
        (&["start", "finish", "abort"], "follows the end"),
        (&["start", "start-step", "finish"], "step is open"),
        (&["start", "start-step", "start-step", "finish"], "step in a step"),
        (&["start", open, "finish"], "outside"),
        (&["start", "start-step", steers, "finish-step", "finish"], "within a step"),
        (&["start", "start-step", delta, "finish"], "not open"),
        (&["start", "start-step", open, close, close, "finish"], "not open"),
        (&["start", "start-step", open, close, open, "finish"], "used before"),
        (&["start", "start-step", open, "finish-step", "finish"], "block is open"),
        (&["start", "start-step", open, "reset-step", delta, "finish"], "not open"),
        (&["start", "start-step", result, "finish-step", "finish"], "no such call"),
        (&["start", "start-step", asks, "finish-step", tool_calls], "no such call"),
        (&["start", "start-step", call, result, asks, "finish-step", tool_calls], "is over"),
        (&["start", "start-step", call, call, "finish-step", tool_calls], "already"),
        (&["start", "start-step", call, result, result, "finish-step", "finish"], "second result"),
        (&["start", "start-step", call, "finish-step", "finish"], "waits for ever"),
        (&["start", "start-step", call, "finish-step", "abort"], "waits for ever"),
    ];
    for (lines, problem) in broken {
        let found = check(&read(lines)).unwrap_err();
        assert!(found.contains(problem), "{lines:?}: {found}");
    }
}
