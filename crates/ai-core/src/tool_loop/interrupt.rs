use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use ai_provider::{CancelFlag, CancellationToken};
use tokio::time::Sleep;

use crate::run::Interruption;

/// What a hook has left of an interrupted run: enough to store what it was told, little enough to wait for.
const GRACE: Duration = Duration::from_secs(5);

/// What can cut a run at any point: the caller's token, and the deadline. Runs only while polled.
pub(super) struct Interrupt {
    cancel: CancelFlag,
    deadline: Option<Pin<Box<Sleep>>>,
}

impl Interrupt {
    pub(super) fn new(token: &CancellationToken, deadline: Option<Instant>) -> Self {
        let deadline = deadline.map(|at| Box::pin(tokio::time::sleep_until(at.into())));
        Self { cancel: CancelFlag::new(token), deadline }
    }

    pub(super) fn is_cancelled(&self) -> bool {
        self.cancel.is_set()
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        self.deadline.as_ref().map(|sleep| sleep.deadline().into_std())
    }

    /// Whether the deadline has passed.
    pub(super) fn is_time_up(&self) -> bool {
        self.deadline.as_ref().is_some_and(|sleep| sleep.deadline() <= tokio::time::Instant::now())
    }

    /// Whether the run is cut by now. Costs less than [`poll`](Self::poll), and wakes nobody for a cancel: for where
    /// something else is ready most of the time.
    pub(super) fn check(&mut self, cx: &mut Context<'_>) -> Poll<Interruption> {
        if self.cancel.is_set() {
            return Poll::Ready(Interruption::Cancelled);
        }
        match &mut self.deadline {
            Some(sleep) => sleep.as_mut().poll(cx).map(|()| Interruption::TimeUp),
            None => Poll::Pending,
        }
    }

    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Interruption> {
        match self.check(cx) {
            Poll::Pending => self.cancel.poll(cx).map(|()| Interruption::Cancelled),
            ready => ready,
        }
    }

    /// Awaits a future unless the run is cut first.
    pub(super) async fn race<F: Future>(&mut self, future: F) -> Result<F::Output, Interruption> {
        let mut future = pin!(future);
        poll_fn(|cx| match self.poll(cx) {
            Poll::Ready(by) => Poll::Ready(Err(by)),
            Poll::Pending => future.as_mut().poll(cx).map(Ok),
        })
        .await
    }

    /// Awaits a future that is to hear of something that has happened, whether or not the run is cut. Once it is,
    /// the future has [`GRACE`] left, so that one that hangs does not hold the run.
    pub(super) async fn last_word<F: Future>(&mut self, future: F) -> Option<F::Output> {
        let mut future = pin!(future);
        let first = poll_fn(|cx| match future.as_mut().poll(cx) {
            Poll::Ready(said) => Poll::Ready(Some(said)),
            Poll::Pending => self.poll(cx).map(|_| None),
        });
        if let Some(said) = first.await {
            return Some(said);
        }
        let said = tokio::time::timeout(GRACE, future).await.ok();
        if said.is_none() {
            tracing::warn!(grace = ?GRACE, "a hook of an interrupted run did not end in time and was dropped");
        }
        said
    }

    /// Stops the clock: the time until [`resume`](Self::resume) does not count.
    pub(super) fn suspend(&mut self) -> Option<Duration> {
        let sleep = self.deadline.take()?;
        Some(sleep.deadline().saturating_duration_since(tokio::time::Instant::now()))
    }

    pub(super) fn resume(&mut self, left: Option<Duration>) {
        self.deadline = left.map(|left| Box::pin(tokio::time::sleep(left)));
    }
}
