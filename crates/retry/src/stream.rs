//! The stream of one call: attempts first, then the answer, passed through.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Instant;

use ai_provider::{ErrorClass, ModelError, ModelStream, StreamPart};
use futures_core::Stream;
use tokio::time::Sleep;

use crate::engine::{Engine, Served};
use crate::open::{out_of_time, timer};
use crate::report::Report;

pub(crate) struct RetryStream(State);

enum State {
    Opening(Pin<Box<dyn Future<Output = Result<Passing, ModelError>> + Send>>),
    Passing(Box<Passing>),
    Over,
}

/// An answer that has begun: from here on nothing is tried again.
pub(crate) struct Passing {
    /// What came before the answer could be told from a failure.
    held: VecDeque<StreamPart>,
    inner: ModelStream,
    limit: Option<Pin<Box<Sleep>>>,
    report: Report,
    served: Served,
    finished: bool,
}

impl RetryStream {
    pub(crate) fn new(engine: Engine) -> Self {
        Self(State::Opening(Box::pin(engine.open())))
    }
}

impl Stream for RetryStream {
    type Item = Result<StreamPart, ModelError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            match &mut self.0 {
                State::Passing(passing) => {
                    let item = std::task::ready!(passing.poll(cx));
                    if !matches!(item, Some(Ok(_))) {
                        self.0 = State::Over;
                    }
                    return Poll::Ready(item);
                }
                State::Opening(opening) => match std::task::ready!(opening.as_mut().poll(cx)) {
                    Ok(passing) => self.0 = State::Passing(Box::new(passing)),
                    Err(error) => {
                        self.0 = State::Over;
                        return Poll::Ready(Some(Err(error)));
                    }
                },
                State::Over => return Poll::Ready(None),
            }
        }
    }
}

impl Passing {
    pub(crate) fn new(
        held: VecDeque<StreamPart>,
        inner: ModelStream,
        limit: Option<Instant>,
        report: Report,
        served: Served,
    ) -> Self {
        Self { held, inner, limit: timer(limit), report, served, finished: false }
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<StreamPart, ModelError>>> {
        let item = match self.held.pop_front() {
            Some(part) => Some(Ok(part)),
            None => match self.inner.as_mut().poll_next(cx) {
                // Nothing follows a finish, whatever a model does.
                Poll::Ready(_) if self.finished => return Poll::Ready(None),
                Poll::Ready(item) => item,
                Poll::Pending => {
                    let limit = self.limit.as_mut().filter(|_| !self.finished);
                    let over = limit.is_some_and(|limit| limit.as_mut().poll(cx).is_ready());
                    if !over {
                        return Poll::Pending;
                    }
                    Some(Err(out_of_time()))
                }
            },
        };
        match &item {
            Some(Ok(StreamPart::Finish(finish))) => {
                self.finished = true;
                self.served.worked();
                self.report.answered(finish.reason.unified);
            }
            Some(Ok(_)) => {}
            Some(Err(error)) => self.broke(error.clone()),
            None if self.finished => {}
            None => self.broke(ModelError::new(
                ErrorClass::Incomplete,
                "the stream ended before the answer was complete",
            )),
        }
        Poll::Ready(item)
    }

    fn broke(&mut self, error: ModelError) {
        if !error.is_cancelled() {
            self.served.broke(&error);
            self.report.failed(&error, false, None);
        }
        self.report.gave_up(&error);
    }
}
