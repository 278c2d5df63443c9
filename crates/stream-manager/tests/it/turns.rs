//! A source of turns that does what a test says, step by step.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use agent_loop::UiChunk;
use ai_provider::{Message, UserMessage};
use async_trait::async_trait;
use futures_core::Stream;
use stream_manager::record::InputId;
use stream_manager::{OpenError, Redirect, TurnEnd, TurnEnding, TurnEvent, TurnRequest, TurnRun, TurnSource};
use tokio::sync::mpsc;
use tokio_util::sync::WaitForCancellationFutureOwned;

/// Opens runs that a test then drives.
pub(crate) struct ScriptedSource {
    opened: mpsc::UnboundedSender<Turn>,
    redirects: bool,
    stubborn: bool,
    panicking: bool,
}

/// The runs that were opened, in order.
pub(crate) struct Turns(mpsc::UnboundedReceiver<Turn>);

/// A run in the hands of a test.
#[derive(Debug)]
pub(crate) struct Turn {
    pub(crate) request: TurnRequest,
    events: mpsc::UnboundedSender<TurnEvent>,
    redirected: mpsc::UnboundedReceiver<InputId>,
}

pub(crate) fn scripted() -> (ScriptedSource, Turns) {
    let (opened, turns) = mpsc::unbounded_channel();
    (ScriptedSource { opened, redirects: false, stubborn: false, panicking: false }, Turns(turns))
}

impl ScriptedSource {
    /// Runs take up what the user says.
    pub(crate) fn redirecting(mut self) -> Self {
        self.redirects = true;
        self
    }

    /// Runs panic at what they are to say.
    pub(crate) fn panicking(mut self) -> Self {
        self.panicking = true;
        self
    }

    /// Runs do not look at their token.
    pub(crate) fn stubborn(mut self) -> Self {
        self.stubborn = true;
        self
    }
}

impl Turns {
    pub(crate) async fn next(&mut self) -> Turn {
        let wait = std::time::Duration::from_secs(3600);
        tokio::time::timeout(wait, self.0.recv())
            .await
            .expect("a turn is opened")
            .expect("the source is there")
    }

    pub(crate) fn none(&mut self) -> bool {
        self.0.try_recv().is_err()
    }
}

impl Turn {
    pub(crate) fn chunk(&self, chunk: UiChunk) -> &Self {
        let _ = self.events.send(TurnEvent::Chunk(chunk));
        self
    }

    /// Says this in a block of its own.
    pub(crate) fn text(&self, text: &str) -> &Self {
        let id = ai_provider::Id::from(format!("t{}", self.request.attempt));
        self.chunk(UiChunk::TextStart { id: id.clone(), provider_metadata: None })
            .chunk(UiChunk::TextDelta { id: id.clone(), delta: text.to_owned(), provider_metadata: None })
            .chunk(UiChunk::TextEnd { id, citations: None, provider_metadata: None })
    }

    pub(crate) fn event(&self, event: TurnEvent) -> &Self {
        let _ = self.events.send(event);
        self
    }

    pub(crate) fn step(&self, text: &str) -> &Self {
        self.event(TurnEvent::Step(vec![Arc::new(Message::assistant(text))]))
    }

    pub(crate) fn end(&self, ending: TurnEnding) {
        let _ = self.events.send(TurnEvent::End(Box::new(ending)));
    }

    /// Answers with this and is done.
    pub(crate) fn answer(&self, text: &str) {
        self.text(text).chunk(UiChunk::Finish { finish_reason: None, message_metadata: None });
        self.end(TurnEnding::new(TurnEnd::Complete).with_messages(vec![Arc::new(Message::assistant(text))]));
    }

    pub(crate) fn fail(&self) {
        self.chunk(UiChunk::Error { error_text: "failed".to_owned() });
        self.end(TurnEnding::new(TurnEnd::Failed));
    }

    /// What the model was given, as text, a line for each message.
    pub(crate) fn prompt(&self) -> Vec<String> {
        self.request.history.iter().map(|message| said(message)).collect()
    }

    /// What was handed to it while it ran.
    pub(crate) async fn redirected(&mut self) -> InputId {
        self.redirected.recv().await.expect("the run is there")
    }

    /// Whether the run was dropped.
    pub(crate) fn is_dropped(&self) -> bool {
        self.events.is_closed()
    }

    pub(crate) async fn waits(&self) {
        while !self.request.input_waits.get() {
            tokio::task::yield_now().await;
        }
    }
}

pub(crate) fn said(message: &Message) -> String {
    match message {
        Message::User(user) => {
            let texts = user.parts.iter().filter_map(|part| match part {
                ai_provider::UserPart::Text(text) => Some(text.text.as_str()),
                _ => None,
            });
            format!("u: {}", texts.collect::<String>())
        }
        Message::Assistant(answer) => format!("a: {}", answer.text()),
        other => format!("{other:?}"),
    }
}

#[async_trait]
impl TurnSource for ScriptedSource {
    async fn open(&self, request: TurnRequest) -> Result<TurnRun, OpenError> {
        if request.model.as_deref() == Some("missing") {
            return Err(OpenError::NoSuchModel("missing".to_owned()));
        }
        let (events, taken) = mpsc::unbounded_channel();
        let (redirect, redirected) = mpsc::unbounded_channel();
        let cancelled = (!self.stubborn).then(|| Box::pin(request.cancel.clone().cancelled_owned()));
        let run = TurnRun::new(Events { taken, cancelled, last: None, panicking: self.panicking });
        let _ = self.opened.send(Turn { request, events, redirected });
        Ok(if self.redirects { run.with_redirect(Redirected(redirect)) } else { run })
    }
}

struct Redirected(mpsc::UnboundedSender<InputId>);

impl Redirect for Redirected {
    fn redirect(&self, input: &InputId, _message: &UserMessage) {
        let _ = self.0.send(input.clone());
    }
}

/// What the test says, until it is cancelled.
struct Events {
    taken: mpsc::UnboundedReceiver<TurnEvent>,
    cancelled: Option<Pin<Box<WaitForCancellationFutureOwned>>>,
    last: Option<TurnEvent>,
    panicking: bool,
}

impl Stream for Events {
    type Item = TurnEvent;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<TurnEvent>> {
        if let Some(last) = self.last.take() {
            return Poll::Ready(Some(last));
        }
        if let Some(cancelled) = &mut self.cancelled
            && cancelled.as_mut().poll(cx).is_ready()
        {
            self.cancelled = None;
            self.last = Some(TurnEvent::End(Box::new(TurnEnding::new(TurnEnd::Stopped))));
            return Poll::Ready(Some(TurnEvent::Chunk(UiChunk::Abort { reason: None })));
        }
        let event = std::task::ready!(self.taken.poll_recv(cx));
        assert!(!self.panicking, "the source panics");
        Poll::Ready(event)
    }
}
