use std::error::Error;
use std::fmt;
use std::sync::Arc;

use ai_core::LoopEvent;
use ai_core::run::{FailedStep, Outcome, RunSnapshot, StepRecord};
use ai_provider::{ErrorClass, FinishReason, Message, ModelError, StreamPart, TargetId, Usage};
use futures_core::Stream;
use futures_util::StreamExt;

use crate::ending::Ending;
use crate::failure::Failure;

/// What came of a run.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct AgentReply {
    /// The text of the last step.
    pub text: String,
    /// Why the model stopped in the last step; absent where that step was cut by a budget.
    pub finish: Option<FinishReason>,
    /// What all steps took.
    pub usage: Usage,
    /// How the run ended.
    pub outcome: Outcome,
    /// The steps that are complete.
    pub steps: Vec<Arc<StepRecord>>,
    /// What the run adds to the history, ready to be appended to it.
    pub new_messages: Vec<Arc<Message>>,
    /// The run as it stands, to be [resumed](crate::Agent::resume); absent where it broke off without an outcome.
    pub run: Option<RunSnapshot>,
}

impl AgentReply {
    /// The steps that broke off and were tried again, with what the model had said in them.
    pub fn failed_steps(&self) -> &[FailedStep] {
        self.run.as_ref().map_or(&[], |run| run.run().failed_steps())
    }
}

/// A run that gave no reply. It keeps what the run had done until then; `Debug` shows the outcome and the error
/// alone.
#[derive(Clone)]
pub struct AgentError(Box<Inner>);

#[derive(Clone)]
struct Inner {
    partial: AgentReply,
    error: Option<ModelError>,
    target: Option<TargetId>,
}

impl AgentError {
    /// How the run ended.
    pub fn outcome(&self) -> &Outcome {
        &self.0.partial.outcome
    }

    /// What there is of a reply: the text of the last step as far as it came, complete steps, usage, and the
    /// messages to append to the history.
    pub fn partial(&self) -> &AgentReply {
        &self.0.partial
    }

    /// The error of the model, if it was one.
    pub fn model_error(&self) -> Option<&ModelError> {
        self.0.error.as_ref()
    }

    /// Why there is no reply, with provider, model and a key for translations; absent if the caller cancelled.
    pub fn failure(&self) -> Option<Failure> {
        Failure::of_outcome(self.outcome(), self.0.target.clone())
    }

    /// Whether the caller cancelled.
    pub fn is_cancelled(&self) -> bool {
        matches!(self.outcome(), Outcome::Cancelled { .. })
    }
}

// The history would bury the error where `main` returns it.
impl fmt::Debug for AgentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AgentError")
            .field("outcome", &self.outcome().as_str())
            .field("error", &format_args!("{self}"))
            .finish_non_exhaustive()
    }
}

impl fmt::Display for AgentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.model_error(), self.outcome()) {
            (Some(error), _) => write!(f, "{error}"),
            (None, Outcome::Cancelled { .. }) => f.write_str("the run was cancelled"),
            (None, outcome) => write!(f, "{outcome}"),
        }
    }
}

impl Error for AgentError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.model_error().map(|error| error as _)
    }
}

/// Runs a loop to its end.
pub(crate) async fn fold(
    mut events: impl Stream<Item = LoopEvent> + Unpin,
) -> Result<AgentReply, AgentError> {
    let (mut text, mut finish) = (String::new(), None);
    let (mut target, mut last) = (None, None);
    while let Some(event) = events.next().await {
        match event {
            LoopEvent::StepStart(start) => {
                target = Some(start.target);
                text.clear();
                finish = None;
            }
            LoopEvent::Part(StreamPart::TextDelta { delta, .. }) => text.push_str(&delta),
            LoopEvent::Part(StreamPart::Finish(said)) => finish = Some(said.reason),
            LoopEvent::End(end) => last = Some(end),
            _ => {}
        }
    }
    let (outcome, error, usage, steps, new_messages, run) = match last {
        Some(end) => (end.outcome, end.error, end.usage, end.steps, end.new_messages, Some(end.snapshot)),
        None => {
            let error = ModelError::new(ErrorClass::Protocol, "the run broke off without an outcome");
            let outcome = Outcome::Failed { error: error.record(), partial: None };
            (outcome, Some(error), Usage::default(), Vec::new(), Vec::new(), None)
        }
    };
    let ending = Ending::of(&outcome);
    let reply = AgentReply { text, finish, usage, outcome, steps, new_messages, run };
    match ending {
        Ending::Finish => Ok(reply),
        Ending::Abort | Ending::Error => Err(AgentError(Box::new(Inner { partial: reply, error, target }))),
    }
}
