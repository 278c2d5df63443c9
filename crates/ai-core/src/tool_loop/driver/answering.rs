use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use ai_provider::{ErrorClass, ModelError, ModelStream, StreamPart};
use futures_core::Stream;
use tracing::Span;

use super::super::attempts::Attempts;
use super::super::event::LoopEvent;
use super::super::interrupt::Interrupt;
use super::Driver;
use crate::panic::model_panicked;
use crate::run::Interruption;

/// The model's answer while it comes: the part of a run that is polled for every delta.
pub(in super::super) struct Answering {
    driver: Box<Driver>,
    stream: ModelStream,
    /// That of the run, and that of the call.
    spans: (Span, Span),
    /// What the model has said, behind attempt events that came with it.
    held: Option<Said>,
    finished: bool,
    end: Ended,
}

/// How the answer ended.
pub(super) enum Ended {
    /// The model is done.
    Over,
    Failed(ModelError),
    Cut(Interruption),
}

type Said = Option<Result<StreamPart, ModelError>>;

impl Answering {
    pub(super) fn new(driver: Box<Driver>, stream: ModelStream, call: Span) -> Self {
        let spans = (driver.live.span().clone(), call);
        Self { driver, stream, spans, held: None, finished: false, end: Ended::Over }
    }

    /// The driver, the span of the call, and how it ended.
    pub(super) fn into_parts(self) -> (Box<Driver>, Span, Ended) {
        (self.driver, self.spans.1, self.end)
    }

    fn end(&mut self, end: Ended) -> Poll<Option<LoopEvent>> {
        self.end = end;
        Poll::Ready(None)
    }

    /// The next thing the model says, after the attempt events that came before it.
    fn hear(&mut self, cx: &mut Context<'_>) -> Poll<Result<Heard, Interruption>> {
        let driver = &mut *self.driver;
        loop {
            if let Some(attempt) = driver.attempts.pop() {
                return Poll::Ready(Ok(Heard::Attempt(LoopEvent::Attempt(Box::new(attempt)))));
            }
            if let Some(said) = self.held.take() {
                return Poll::Ready(Ok(Heard::Said(said)));
            }
            let said =
                poll_model(&mut driver.interrupt, &driver.attempts, &mut self.stream, &self.spans.1, cx);
            match ready!(said)? {
                Some(said) if driver.attempts.is_empty() => return Poll::Ready(Ok(Heard::Said(said))),
                said => self.held = said,
            }
        }
    }
}

enum Heard {
    Attempt(LoopEvent),
    Said(Said),
}

impl Stream for Answering {
    type Item = LoopEvent;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<LoopEvent>> {
        let this = &mut *self;
        let run = this.spans.0.clone();
        let _entered = run.enter();
        let mut part = match ready!(this.hear(cx)) {
            Ok(Heard::Attempt(event)) => return Poll::Ready(Some(event)),
            Ok(Heard::Said(Some(Ok(part)))) => part,
            Ok(Heard::Said(Some(Err(error)))) => return this.end(Ended::Failed(error)),
            Ok(Heard::Said(None)) if this.finished => return this.end(Ended::Over),
            Ok(Heard::Said(None)) => {
                let text = "the stream ended before the answer was complete";
                return this.end(Ended::Failed(ModelError::new(ErrorClass::Incomplete, text)));
            }
            Err(by) => return this.end(Ended::Cut(by)),
        };
        this.driver.ids.unify(&mut part);
        this.driver.mark(&mut part);
        if let Err(error) = this.driver.live.hear(&part) {
            return this.end(Ended::Failed(error));
        }
        this.finished |= matches!(part, StreamPart::Finish(_));
        Poll::Ready(Some(LoopEvent::Part(part)))
    }
}

/// One poll of the model: the interruption first, so that a cancel before a poll wins over an item that is
/// ready. `None` where only attempt events came.
fn poll_model(
    interrupt: &mut Interrupt,
    attempts: &Attempts,
    stream: &mut ModelStream,
    span: &Span,
    cx: &mut Context<'_>,
) -> Poll<Result<Option<Said>, Interruption>> {
    if let Poll::Ready(by) = interrupt.check(cx) {
        return Poll::Ready(Err(by));
    }
    let polled = catch_unwind(AssertUnwindSafe(|| span.in_scope(|| stream.as_mut().poll_next(cx))));
    match polled.unwrap_or_else(|panic| Poll::Ready(Some(Err(model_panicked(&*panic))))) {
        Poll::Ready(said) => Poll::Ready(Ok(Some(said))),
        Poll::Pending if attempts.is_empty() => interrupt.poll(cx).map(Err),
        Poll::Pending => Poll::Ready(Ok(None)),
    }
}
