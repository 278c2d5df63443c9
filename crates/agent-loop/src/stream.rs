use std::collections::VecDeque;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use ai_core::run::{Outcome, RunSnapshot, StepRecord};
use ai_core::{LoopEvent, LoopStream, RunEnd, RunHandle};
use ai_provider::{AttemptEvent, Id, Message, TargetId, UserMessage};
use futures_core::Stream;

use crate::attempt::attempt_chunk;
use crate::failure::Failure;
use crate::ui::{Mapper, UiChunk, UiSettings, UiUserPart};
use crate::usage::Meter;
use crate::views::Auditing;

/// What happens in a run of an agent, in order.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum AgentEvent {
    /// Something for the user interface.
    Chunk(UiChunk),
    /// A model call is tried again, elsewhere or with another key.
    Attempt(Box<AttemptEvent>),
    /// A step is complete, and the run as it stands after it. Comes after the step's last chunk.
    Step(Arc<StepRecord>, RunSnapshot),
    /// The run is over. Comes after its last chunk; nothing follows.
    End(Outcome),
}

/// The events of a run. Nothing happens until it is polled; dropping it cancels the run.
pub struct AgentStream {
    handle: RunHandle,
    events: Events,
    mapper: Mapper,
    meter: Option<Meter>,
    /// What the latest step called.
    target: Option<TargetId>,
    ready: VecDeque<AgentEvent>,
    end: Option<Box<RunEnd>>,
    settings: Arc<UiSettings>,
}

impl AgentStream {
    pub(crate) fn new(
        (handle, events): (RunHandle, Events),
        settings: Arc<UiSettings>,
        message_id: Option<String>,
        meter: Option<Meter>,
    ) -> Self {
        let mapper = Mapper::new(Arc::clone(&settings), message_id);
        Self { handle, events, mapper, meter, target: None, ready: VecDeque::new(), end: None, settings }
    }

    /// Says which calls at the provider the run still waits for.
    pub(crate) fn waiting_for(mut self, approvals: impl IntoIterator<Item = Id>) -> Self {
        approvals.into_iter().for_each(|approval| self.mapper.asked_there(approval));
        self
    }

    /// Reaches into the run from any task: cancels it, decides about calls that wait.
    pub fn handle(&self) -> &RunHandle {
        &self.handle
    }

    /// How the run ended, with its steps, usage and the error it met. Absent until its last chunk came.
    pub fn run_end(&self) -> Option<&RunEnd> {
        self.end.as_deref()
    }

    /// Why the run gave an `error`, with provider, model and a key for translations. Absent until its last chunk came,
    /// and where that is another.
    pub fn failure(&self) -> Option<Failure> {
        Failure::of(self.end.as_deref()?, self.target.clone())
    }

    /// What the run adds to the history, ready to be appended to it. Empty until its last chunk came.
    pub fn new_messages(&self) -> Vec<Arc<Message>> {
        self.end.as_ref().map(|end| end.new_messages.clone()).unwrap_or_default()
    }

    /// Shows that the user said this while the answer was written that the run goes on with, and that what follows
    /// answers it: a `steering-message`, below the latest level a transient `data-steer`. For messages that the history
    /// of the run ends with; showing one does not tell the model.
    ///
    /// Called before the stream is polled it comes right behind `start`, which then names no message unless
    /// [told to](crate::Agent::with_message_id): the client goes on with the one it has. Called later it comes before
    /// the next step, or before the last chunk if there is none.
    ///
    /// ```
    /// # use agent_loop::Agent;
    /// # use ai_provider::{CancellationToken, Message, UserMessage};
    /// # use std::sync::Arc;
    /// # fn f(agent: Agent, mut history: Vec<Arc<Message>>, steer: UserMessage) {
    /// history.push(Arc::new(Message::User(steer.clone())));
    /// let mut run = agent.stream(history, CancellationToken::new());
    /// run.show_steering("u2", &steer);
    /// # }
    /// ```
    pub fn show_steering(&mut self, id: impl Into<String>, message: &UserMessage) {
        let (id, parts) = (id.into(), UiUserPart::of(message));
        self.mapper.steer(UiChunk::SteeringMessage { id, parts });
    }

    /// The chunk that tells a client of an attempt, as [`Chunks`] gives it.
    pub fn attempt_chunk(&self, attempt: AttemptEvent) -> UiChunk {
        attempt_chunk(attempt, &self.settings)
    }

    /// The chunks alone, for a user interface.
    pub fn chunks(self) -> Chunks {
        Chunks(self)
    }
}

impl Stream for AgentStream {
    type Item = AgentEvent;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<AgentEvent>> {
        let this = &mut *self;
        loop {
            if let Some(event) = this.ready.pop_front() {
                return Poll::Ready(Some(event));
            }
            match ready!(Pin::new(&mut this.events).poll_next(cx)) {
                Some(LoopEvent::Part(part)) => {
                    let Some(chunk) = this.mapper.part(part, &mut this.ready).map(AgentEvent::Chunk) else {
                        continue;
                    };
                    if this.ready.is_empty() {
                        return Poll::Ready(Some(chunk));
                    }
                    this.ready.push_back(chunk);
                }
                Some(LoopEvent::End(end)) => {
                    this.mapper.end(&end, &mut this.ready);
                    this.end = Some(end);
                }
                Some(event) => {
                    match &event {
                        LoopEvent::StepStart(start) => this.target = Some(start.target.clone()),
                        LoopEvent::StepEnd(record, run) => {
                            let metadata = this.meter.as_mut().and_then(|meter| meter.step(record, run));
                            if let Some(metadata) = metadata {
                                this.mapper.metadata(metadata, &mut this.ready);
                            }
                        }
                        _ => {}
                    }
                    this.mapper.event(event, &mut this.ready);
                }
                None => return Poll::Ready(None),
            }
        }
    }
}

impl fmt::Debug for AgentStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AgentStream")
            .field("mapper", &self.mapper)
            .field("end", &self.end)
            .finish_non_exhaustive()
    }
}

/// The chunks of a run.
///
/// Attempts to call a model come as transient `data-attempt` chunks, `{"type": "started" | "failed" | "rotated" |
/// "fell-back" | "skipped" | "waiting" | "settled", "attempt", "provider", "model", …}`: shown, and never part of the
/// message. They name no key and no endpoint.
#[derive(Debug)]
pub struct Chunks(AgentStream);

impl Chunks {
    /// The stream beneath, for what it knows at its end.
    pub fn get_ref(&self) -> &AgentStream {
        &self.0
    }

    /// The stream beneath, to go on with all its events.
    pub fn into_inner(self) -> AgentStream {
        self.0
    }
}

impl Stream for Chunks {
    type Item = UiChunk;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<UiChunk>> {
        loop {
            return Poll::Ready(match ready!(Pin::new(&mut self.0).poll_next(cx)) {
                Some(AgentEvent::Chunk(chunk)) => Some(chunk),
                Some(AgentEvent::Attempt(attempt)) => Some(self.0.attempt_chunk(*attempt)),
                Some(AgentEvent::Step(..) | AgentEvent::End(_)) => continue,
                None => None,
            });
        }
    }
}

/// The events of a loop, on their way past its audit.
pub(crate) struct Events {
    events: LoopStream,
    auditing: Option<Auditing>,
}

impl Events {
    pub(crate) fn new(events: LoopStream, auditing: Option<Auditing>) -> Self {
        Self { events, auditing }
    }
}

impl Stream for Events {
    type Item = LoopEvent;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<LoopEvent>> {
        let event = ready!(Pin::new(&mut self.events).poll_next(cx));
        if let (Some(auditing), Some(event)) = (&self.auditing, &event) {
            auditing.hear(event);
        }
        Poll::Ready(event)
    }
}
