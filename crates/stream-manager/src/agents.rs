use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use agent_loop::{Agent, AgentEvent, AgentStream};
use ai_core::run::{Input, Outcome, RunSnapshot, Verdict};
use ai_core::{LoopControl, RunOptions, StepView};
use ai_provider::{Id, Message, ToolResult};
use async_trait::async_trait;
use futures_core::Stream;

use crate::source::{
    CallAnswer, InputWaits, OpenError, Resume, TurnEnd, TurnEnding, TurnEvent, TurnRequest, TurnRun,
    TurnSource,
};

/// One agent, for topics that name no model, or name it as they like. In its audit a run is named
/// `TOPIC/TURN/ATTEMPT`.
#[async_trait]
impl TurnSource for Agent {
    async fn open(&self, request: TurnRequest) -> Result<TurnRun, OpenError> {
        let run = format!("{}/{}/{}", request.topic, request.turn, request.attempt);
        let agent = self.clone().with_message_id(request.row.as_str()).with_run_name(run);
        let control = Arc::new(YieldsToInput(request.input_waits.clone()));
        let options = RunOptions::default().with_cancel(request.cancel.clone()).with_control(control);
        let (stream, known) = match request.resume {
            None => (agent.stream_with(request.history, options), 0),
            Some(resume) => resumed(&agent, resume, options)?,
        };
        Ok(TurnRun::new(Turns { stream, known }))
    }
}

/// Several agents, by the name of the model that a topic asks for.
///
/// ```
/// use agent_loop::Agent;
/// use stream_manager::Agents;
/// # fn f(fast: Agent, clever: Agent) -> Agents {
/// Agents::new("fast", fast).with("clever", clever)
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Agents {
    default: String,
    agents: BTreeMap<String, Agent>,
}

impl Agents {
    /// The agent for topics that name no model, and its name.
    pub fn new(name: impl Into<String>, agent: Agent) -> Self {
        let default = name.into();
        Self { agents: BTreeMap::from([(default.clone(), agent)]), default }
    }

    /// Adds one.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, agent: Agent) -> Self {
        self.agents.insert(name.into(), agent);
        self
    }

    /// The names, in alphabetical order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.agents.keys().map(String::as_str)
    }

    /// The name of the one for topics that name no model.
    pub fn default_name(&self) -> &str {
        &self.default
    }
}

#[async_trait]
impl TurnSource for Agents {
    async fn open(&self, request: TurnRequest) -> Result<TurnRun, OpenError> {
        let name = request.model.as_ref().unwrap_or(&self.default);
        match self.agents.get(name) {
            Some(agent) => agent.open(request).await,
            None => Err(OpenError::NoSuchModel(name.clone())),
        }
    }
}

fn resumed(agent: &Agent, resume: Resume, options: RunOptions) -> Result<(AgentStream, usize), OpenError> {
    let stored = serde_json::to_vec(&resume.run).map_err(|error| OpenError::Run(error.into()))?;
    let stored = RunSnapshot::from_json(&stored).map_err(|error| OpenError::Run(error.into()))?;
    let known = stored.run().new_messages().len();
    let mut decisions = Vec::new();
    let mut results = Vec::new();
    for (call, answer) in resume.answers {
        match answer {
            CallAnswer::Decided(decision) => decisions.push((call, decision)),
            CallAnswer::Result(output) => results.push((call, output)),
        }
    }
    let stored = if results.is_empty() {
        stored
    } else {
        let mut run = stored.into_run();
        let Some(Outcome::HandedOver { calls }) = run.outcome() else {
            return Err(OpenError::Run("it does not wait for results".into()));
        };
        let name = |id: &Id| calls.iter().find(|call| call.id == *id).map(|call| call.name.clone());
        let results = results.into_iter().filter_map(|(id, output)| {
            let name = name(&id)?;
            Some(ToolResult::new(id, name, output))
        });
        let results: Vec<_> = results.collect();
        run.feed(Input::Returned(results)).map_err(|error| OpenError::Run(error.into()))?;
        run.snapshot()
    };
    let stream = agent.resume_with(stored, options);
    for (call, decision) in decisions {
        stream.handle().decide(&call, decision).map_err(|error| OpenError::Run(error.into()))?;
    }
    Ok((stream, known))
}

/// Ends a run at the end of a step when the user has said something.
struct YieldsToInput(InputWaits);

#[async_trait]
impl LoopControl for YieldsToInput {
    async fn stop_when(&self, _step: &StepView<'_>) -> Vec<Verdict> {
        if self.0.get() { vec![Verdict::SteerYield] } else { Vec::new() }
    }
}

/// The events of an agent's run.
struct Turns {
    stream: AgentStream,
    /// How many messages the run had added before it was stored.
    known: usize,
}

impl Turns {
    fn added(&self, messages: &[Arc<Message>]) -> Vec<Arc<Message>> {
        messages.get(self.known..).unwrap_or_default().to_vec()
    }

    fn ending(&self, outcome: &Outcome) -> TurnEnding {
        let calls = |calls: &[ai_provider::ToolCall]| calls.iter().map(|call| call.id.clone()).collect();
        let (end, partial) = match outcome {
            Outcome::AwaitingApproval { calls: waiting } => {
                (TurnEnd::AwaitingApproval { calls: calls(waiting) }, None)
            }
            Outcome::HandedOver { calls: waiting } => (TurnEnd::HandedOver { calls: calls(waiting) }, None),
            Outcome::Cancelled { partial } => (TurnEnd::Stopped, partial.as_deref().cloned()),
            Outcome::Failed { partial, .. } => (TurnEnd::Failed, partial.as_deref().cloned()),
            Outcome::StepCap { .. } | Outcome::LoopGuard { .. } => (TurnEnd::Limited, None),
            Outcome::ToolTerminal(_) => (TurnEnd::Failed, None),
            _ => (TurnEnd::Complete, None),
        };
        let mut ending = TurnEnding::new(end).with_partial(partial);
        if let Outcome::Failed { error, .. } = outcome {
            ending = ending.with_error(error.clone());
        }
        let Some(run) = self.stream.run_end() else { return ending };
        if matches!(ending.end, TurnEnd::AwaitingApproval { .. } | TurnEnd::HandedOver { .. })
            && let Ok(stored) = serde_json::to_value(&run.snapshot)
        {
            ending = ending.with_run(stored);
        }
        ending.with_messages(self.added(&run.new_messages)).with_usage(run.usage.clone())
    }
}

impl Stream for Turns {
    type Item = TurnEvent;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<TurnEvent>> {
        let event = std::task::ready!(Pin::new(&mut self.stream).poll_next(cx));
        Poll::Ready(event.map(|event| match event {
            AgentEvent::Chunk(chunk) => TurnEvent::Chunk(chunk),
            AgentEvent::Step(_, run) => TurnEvent::Step(self.added(run.run().new_messages())),
            AgentEvent::End(outcome) => TurnEvent::End(Box::new(self.ending(&outcome))),
            AgentEvent::Attempt(attempt) => TurnEvent::Chunk(self.stream.attempt_chunk(*attempt)),
            _ => TurnEvent::Step(Vec::new()),
        }))
    }
}
