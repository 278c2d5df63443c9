use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use agent_loop::UiChunk;
use ai_core::Decision;
use ai_provider::{
    AssistantMessage, CancellationToken, ErrorRecord, Id, Message, ToolOutput, Usage, UserMessage,
};
use async_trait::async_trait;
use futures_core::Stream;
use serde_json::Value;

use crate::record::{AttemptId, InputId, RowId, TopicId, TurnId};

/// What answers: an agent, or anything that gives chunks.
#[async_trait]
pub trait TurnSource: Send + Sync + 'static {
    /// Gets a run ready. No model is asked and no tool runs before the events are polled: the rows are written first.
    ///
    /// # Errors
    /// If there is no such model, or the run cannot go on. Nothing is written then, and what was said goes back to its
    /// sender.
    async fn open(&self, request: TurnRequest) -> Result<TurnRun, OpenError>;
}

impl fmt::Debug for dyn TurnSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TurnSource")
    }
}

/// What a run is made of.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TurnRequest {
    /// The conversation.
    pub topic: TopicId,
    /// The turn.
    pub turn: TurnId,
    /// The attempt.
    pub attempt: AttemptId,
    /// The row it writes: the id of its message.
    pub row: RowId,
    /// Which model shall answer; the source's own choice if absent.
    pub model: Option<String>,
    /// What was said before, as the model gets it. Empty where a stored run goes on.
    pub history: Vec<Arc<Message>>,
    /// The run that goes on, and what was said of the calls it waited for.
    pub resume: Option<Resume>,
    /// Ends the run cleanly.
    pub cancel: CancellationToken,
    /// Raised when the run shall end at its next step, because the user has said something.
    pub input_waits: InputWaits,
}

/// A stored run that goes on.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Resume {
    /// The run, as the source gave it in its [`TurnEnding`].
    pub run: Value,
    /// What was said of its calls.
    pub answers: Vec<(Id, CallAnswer)>,
}

impl Resume {
    pub(crate) fn new(run: Value, answers: Vec<(Id, CallAnswer)>) -> Self {
        Self { run, answers }
    }
}

/// What was said of a call that waited.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum CallAnswer {
    /// By a person.
    Decided(Decision),
    /// By the client, who ran it.
    Result(ToolOutput),
}

/// Whether the user has said something that a run should yield to.
#[derive(Clone, Debug, Default)]
pub struct InputWaits(Arc<AtomicBool>);

impl InputWaits {
    /// Whether input waits.
    pub fn get(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    pub(crate) fn raise(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A run that is ready.
pub struct TurnRun {
    /// What happens in it. Idle until polled; dropping it ends the run where it stands.
    pub events: Pin<Box<dyn Stream<Item = TurnEvent> + Send>>,
    /// Takes up what the user says in the middle, if the run can do so without ending.
    pub redirect: Option<Box<dyn Redirect>>,
}

impl TurnRun {
    /// A run that ends for the user to be heard.
    pub fn new(events: impl Stream<Item = TurnEvent> + Send + 'static) -> Self {
        Self { events: Box::pin(events), redirect: None }
    }

    /// Sets who takes up what the user says.
    #[must_use]
    pub fn with_redirect(mut self, redirect: impl Redirect) -> Self {
        self.redirect = Some(Box::new(redirect));
        self
    }
}

impl fmt::Debug for TurnRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TurnRun").field("redirects", &self.redirect.is_some()).finish_non_exhaustive()
    }
}

/// Hands what the user says to a run that goes on all the same. What became of it comes as
/// [`TurnEvent::Redirected`] or [`TurnEvent::NotRedirected`], once for each input, before the run's end.
pub trait Redirect: Send + Sync + 'static {
    /// Hands it over. Must not block.
    fn redirect(&self, input: &InputId, message: &UserMessage);
}

/// Something that happens in a run.
#[derive(Debug)]
#[non_exhaustive]
pub enum TurnEvent {
    /// Something for the user interface. What follows a `finish`, `error` or `abort` is not shown.
    Chunk(UiChunk),
    /// A step is complete: all messages the run has added so far, to be kept if the process dies.
    Step(Vec<Arc<Message>>),
    /// The run has taken these inputs up: what follows answers them.
    Redirected(Vec<InputId>),
    /// The run will not take these inputs up.
    NotRedirected(Vec<InputId>),
    /// The run is over. Nothing follows.
    End(Box<TurnEnding>),
}

/// How a run ended, and what it leaves.
#[derive(Debug)]
#[non_exhaustive]
pub struct TurnEnding {
    /// How.
    pub end: TurnEnd,
    /// What the run added to the history: complete messages only.
    pub messages: Vec<Arc<Message>>,
    /// The run as it stands, where it waits for answers.
    pub run: Option<Value>,
    /// What failed.
    pub error: Option<ErrorRecord>,
    /// What the model had said in the step that was cut.
    pub partial: Option<AssistantMessage>,
    /// What it took.
    pub usage: Option<Usage>,
}

impl TurnEnding {
    /// An ending that leaves nothing.
    pub fn new(end: TurnEnd) -> Self {
        Self { end, messages: Vec::new(), run: None, error: None, partial: None, usage: None }
    }

    /// Sets what the run added to the history.
    #[must_use]
    pub fn with_messages(mut self, messages: Vec<Arc<Message>>) -> Self {
        self.messages = messages;
        self
    }

    /// Sets the run as it stands.
    #[must_use]
    pub fn with_run(mut self, run: Value) -> Self {
        self.run = Some(run);
        self
    }

    /// Sets what failed.
    #[must_use]
    pub fn with_error(mut self, error: ErrorRecord) -> Self {
        self.error = Some(error);
        self
    }

    /// Sets what the model had said in the step that was cut.
    #[must_use]
    pub fn with_partial(mut self, partial: Option<AssistantMessage>) -> Self {
        self.partial = partial;
        self
    }

    /// Sets what it took.
    #[must_use]
    pub fn with_usage(mut self, usage: Usage) -> Self {
        self.usage = Some(usage);
        self
    }
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TurnEnd {
    /// The model was done, or the run yielded to what the user said.
    Complete,
    /// Calls wait for a person.
    AwaitingApproval {
        /// The calls.
        calls: Vec<Id>,
    },
    /// Calls wait for results of the client.
    HandedOver {
        /// The calls.
        calls: Vec<Id>,
    },
    /// It was cancelled.
    Stopped,
    /// A limit ended it: its step cap or its loop guard.
    Limited,
    /// It failed.
    Failed,
}

/// Why a run could not be got ready.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// There is no such model.
    #[error("there is no model `{0}`")]
    NoSuchModel(String),
    /// The stored run cannot go on.
    #[error("the stored run cannot go on")]
    Run(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// Something else.
    #[error("the run could not be started")]
    Other(#[source] Box<dyn std::error::Error + Send + Sync>),
}
