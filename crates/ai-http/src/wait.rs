//! Time spent waiting: the only time that is counted.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use ai_provider::{CallContext, CancelFlag, ErrorClass, ModelError};
use tokio::time::{Instant, Sleep, sleep_until};

#[cfg(test)]
mod tests;

/// A timer that is seen this long after it rang was not watched: the consumer was elsewhere, and the wait
/// begins anew. Under load a task comes late by milliseconds.
const UNWATCHED: Duration = Duration::from_secs(1);

/// How long a poll may wait for one thing. It is polled only while that thing is pending.
#[derive(Debug)]
pub(crate) struct Patience {
    limit: Option<Duration>,
    since: Option<Instant>,
    /// Set once per wait at most: a wait that ended early leaves it to ring for the next one to look.
    timer: Option<Pin<Box<Sleep>>>,
}

impl Patience {
    pub(crate) fn new(limit: Option<Duration>) -> Self {
        Self { limit, since: None, timer: None }
    }

    /// What was waited for came.
    pub(crate) fn rest(&mut self) {
        self.since = None;
    }

    /// Ready when the wait has lasted too long.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Some(limit) = self.limit else { return Poll::Pending };
        let now = Instant::now();
        let Some(mut due) = self.since.get_or_insert(now).checked_add(limit) else { return Poll::Pending };
        let timer = self.timer.get_or_insert_with(|| Box::pin(sleep_until(due)));
        loop {
            ready!(timer.as_mut().poll(cx));
            if due <= now {
                if now.duration_since(due) < UNWATCHED {
                    return Poll::Ready(());
                }
                self.since = Some(now);
                due = now + limit;
            }
            timer.as_mut().reset(due);
        }
    }

    /// The future's output, unless it takes too long.
    pub(crate) async fn wait<F: Future>(mut self, future: F) -> Option<F::Output> {
        let mut future = std::pin::pin!(future);
        std::future::poll_fn(|cx| match future.as_mut().poll(cx) {
            Poll::Ready(output) => Poll::Ready(Some(output)),
            Poll::Pending => self.poll(cx).map(|()| None),
        })
        .await
    }
}

/// What ends a call from outside: its token and its deadline.
#[derive(Debug)]
pub(crate) struct Guard {
    cancel: CancelFlag,
    deadline: Option<Instant>,
    timer: Option<Pin<Box<Sleep>>>,
}

impl Guard {
    pub(crate) fn new(ctx: &CallContext) -> Self {
        Self {
            cancel: CancelFlag::new(&ctx.cancel),
            deadline: ctx.deadline.map(Instant::from_std),
            timer: None,
        }
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancel.is_set()
    }

    pub(crate) fn is_late(&self) -> bool {
        self.deadline.is_some_and(|deadline| deadline <= Instant::now())
    }

    /// Whether the call is over by now.
    pub(crate) fn check(&self) -> Result<(), ModelError> {
        if self.is_cancelled() {
            Err(ModelError::cancelled())
        } else if self.is_late() {
            Err(deadline_passed())
        } else {
            Ok(())
        }
    }

    /// Wakes the task when the call is over. Polled only while the call waits.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<ModelError> {
        if self.cancel.poll(cx).is_ready() {
            return Poll::Ready(ModelError::cancelled());
        }
        let Some(deadline) = self.deadline else { return Poll::Pending };
        let timer = self.timer.get_or_insert_with(|| Box::pin(sleep_until(deadline)));
        timer.as_mut().poll(cx).map(|()| deadline_passed())
    }
}

pub(crate) fn deadline_passed() -> ModelError {
    // The same target has no more time than this one had.
    ModelError::new(ErrorClass::Timeout, "the deadline of the call has passed").with_retryable(false)
}
