use std::pin::pin;
use std::time::Duration;

use ai_provider::{FunctionTool, Message, StreamPart, ToolOutput, Usage};
use async_trait::async_trait;
use futures_util::StreamExt;
use serde_json::{Value, json};

use super::co::{Co, CoStream};
use super::event::{LoopEvent, RunEnd};
use super::options::{Approvals, RunOptions};
use super::{LoopStream, ToolLoop};
use crate::run::{ApprovalVerdict, Outcome, brief};
use crate::tool::{Effect, Tool, ToolContext, ToolError, ToolStream, ToolYield};

/// An agent that another agent calls as a tool, with one input, `prompt`.
///
/// A call is a run of its own, on a history of the prompt alone and with a scope of its own. The text as it comes is
/// its preliminary result, the text of the last step its result; what it takes is counted in the run that called
/// it. It ends with that run, by its deadline and its cancel. Nobody can give consent in it: a call that needs some
/// makes it fail.
///
/// ```
/// use ai_core::{agent_tool, ToolLoop, ToolSet};
/// # fn f(researcher: ToolLoop, writer: ToolLoop) -> Result<ToolLoop, ai_core::Error> {
/// let research = agent_tool("research", "Finds out what is known about something.", researcher);
/// Ok(writer.with_tools(ToolSet::new().with(research)?))
/// # }
/// ```
pub fn agent_tool(name: impl Into<String>, description: impl Into<String>, agent: ToolLoop) -> AgentTool {
    let schema = json!({
        "type": "object",
        "properties": {"prompt": {
            "type": "string",
            "description": "What the agent shall do, with all it needs to know: it sees nothing else."
        }},
        "required": ["prompt"],
        "additionalProperties": false,
    });
    AgentTool {
        definition: FunctionTool::new(name, description, schema),
        agent: agent.with_approvals(Approvals::EndRun),
        effect: Effect::SideEffect,
        timeout: None,
        approval: false,
    }
}

/// A tool made by [`agent_tool`].
#[derive(Debug)]
pub struct AgentTool {
    definition: FunctionTool,
    agent: ToolLoop,
    effect: Effect,
    timeout: Option<Duration>,
    approval: bool,
}

impl AgentTool {
    /// Says what running it does to the world; a side effect unless said.
    #[must_use]
    pub fn with_effect(mut self, effect: Effect) -> Self {
        self.effect = effect;
        self
    }

    /// Sets how long it may run.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Asks a person before each call.
    #[must_use]
    pub fn with_approval(mut self) -> Self {
        self.approval = true;
        self
    }
}

#[async_trait]
impl Tool for AgentTool {
    fn definition(&self) -> FunctionTool {
        self.definition.clone()
    }

    fn effect(&self) -> Effect {
        self.effect
    }

    fn timeout(&self) -> Option<Duration> {
        self.timeout
    }

    fn needs_approval(&self) -> bool {
        self.approval
    }

    async fn approve(&self, _input: &Value, ctx: &ToolContext) -> ApprovalVerdict {
        ApprovalVerdict::ask(&ctx.call_id)
    }

    fn execute(&self, input: Value, ctx: ToolContext) -> ToolStream {
        let prompt = input.get("prompt").and_then(Value::as_str).unwrap_or_default();
        let mut options = RunOptions::default().with_cancel(ctx.cancel.child_token());
        options.deadline = ctx.deadline;
        let (_handle, events) = self.agent.start([Message::user(prompt)], options);
        Box::pin(CoStream::new(move |co| follow(co, events, ctx)))
    }
}

async fn follow(co: Co<ToolYield>, events: LoopStream, ctx: ToolContext) {
    let mut events = pin!(events);
    let mut shown = Shown::default();
    let mut counted = Usage::default();
    while let Some(event) = events.next().await {
        match event {
            LoopEvent::StepStart(_) | LoopEvent::StepReset(_) => shown = Shown::default(),
            LoopEvent::Part(StreamPart::TextDelta { delta, .. }) => {
                if let Some(text) = shown.add(&delta) {
                    co.give(ToolYield::Preliminary(ToolOutput::Text(text))).await;
                }
            }
            LoopEvent::Part(StreamPart::TextEnd { .. }) => {
                if let Some(text) = shown.rest() {
                    co.give(ToolYield::Preliminary(ToolOutput::Text(text))).await;
                }
            }
            LoopEvent::StepEnd(_, snapshot) => count(&ctx, &mut counted, snapshot.run().usage()),
            LoopEvent::End(end) => {
                count(&ctx, &mut counted, &end.usage);
                co.give(ToolYield::Final(conclude(&end, &shown.text))).await;
            }
            _ => {}
        }
    }
}

/// The text of a step on its way to the preliminary results, each of which repeats all of it.
#[derive(Default)]
struct Shown {
    text: String,
    shown: usize,
}

impl Shown {
    /// The text so far, once it has grown by an eighth, so that all preliminary results together stay linear in
    /// the text.
    fn add(&mut self, delta: &str) -> Option<String> {
        self.text.push_str(delta);
        let fresh = self.text.len() - self.shown;
        if fresh == 0 || fresh < self.shown / 8 {
            return None;
        }
        self.rest()
    }

    fn rest(&mut self) -> Option<String> {
        let fresh = self.text.len() > self.shown;
        self.shown = self.text.len();
        fresh.then(|| self.text.clone())
    }
}

/// Counts what is new in the usage of the inner run.
fn count(ctx: &ToolContext, counted: &mut Usage, total: &Usage) {
    let fresh = |total: Option<u64>, counted: Option<u64>| {
        total.map(|total| total.saturating_sub(counted.unwrap_or_default()))
    };
    let mut usage = total.clone();
    usage.input.total = fresh(total.input.total, counted.input.total);
    usage.input.no_cache = fresh(total.input.no_cache, counted.input.no_cache);
    usage.input.cache_read = fresh(total.input.cache_read, counted.input.cache_read);
    usage.input.cache_write = fresh(total.input.cache_write, counted.input.cache_write);
    usage.output.total = fresh(total.output.total, counted.output.total);
    usage.output.text = fresh(total.output.text, counted.output.text);
    usage.output.reasoning = fresh(total.output.reasoning, counted.output.reasoning);
    *counted = total.clone();
    ctx.add_usage(&usage);
}

/// Characters of what an agent that failed had said.
const PARTIAL_LENGTH: usize = 2_000;

fn conclude(end: &RunEnd, said: &str) -> Result<ToolOutput, ToolError> {
    let why = match &end.outcome {
        Outcome::Finished | Outcome::SteerYield => return Ok(ToolOutput::Text(said.to_owned())),
        Outcome::Truncated { .. } => "its answer was cut at a length limit".to_owned(),
        Outcome::AwaitingApproval { .. } => {
            "it wanted to do something that needs a person's consent, which nobody can give here".to_owned()
        }
        Outcome::HandedOver { .. } => "it called a tool that cannot run here".to_owned(),
        Outcome::Refused { .. } => "the provider withheld its answer".to_owned(),
        Outcome::Budget { kind } => format!("its budget is spent ({})", kind.as_str()),
        other => other.to_string(),
    };
    let mut text = format!("The agent did not come to an end: {why}.");
    if !said.is_empty() {
        text.push_str(" It had said: ");
        text.push_str(&brief(said, PARTIAL_LENGTH));
    }
    Err(ToolError::new(text))
}
