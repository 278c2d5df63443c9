use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ai_provider::{CancellationToken, Delivery, RequestId, RunScope};

use super::control::{LoopControl, NoControl};

/// What belongs to one run.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RunOptions {
    /// Cancelling it ends the run cleanly, with what it has.
    pub cancel: CancellationToken,
    /// When the run must be over, read off tokio's clock. It is suspended while a person decides.
    pub deadline: Option<Instant>,
    /// How answers shall come over the wire.
    pub delivery: Delivery,
    /// Where layers keep what lasts for one run.
    pub scope: RunScope,
    /// Only the tools with these names: the others are neither shown nor run. All if absent.
    pub active_tools: Option<Vec<String>>,
    /// Who takes part in the run.
    pub control: Arc<dyn LoopControl>,
    /// Where the ids of its requests come from.
    pub request_ids: RequestIds,
}

impl Default for RunOptions {
    fn default() -> Self {
        Self {
            cancel: CancellationToken::new(),
            deadline: None,
            delivery: Delivery::Stream,
            scope: RunScope::new(),
            active_tools: None,
            control: Arc::new(NoControl),
            request_ids: RequestIds::default(),
        }
    }
}

impl RunOptions {
    /// Sets the token.
    #[must_use]
    pub fn with_cancel(mut self, cancel: CancellationToken) -> Self {
        self.cancel = cancel;
        self
    }

    /// Sets the deadline, from now on. A time beyond what a clock can hold is no limit.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.deadline = tokio::time::Instant::now().checked_add(timeout).map(tokio::time::Instant::into_std);
        self
    }

    /// Sets the delivery.
    #[must_use]
    pub fn with_delivery(mut self, delivery: Delivery) -> Self {
        self.delivery = delivery;
        self
    }

    /// Sets the tools of this run, out of those of the loop.
    #[must_use]
    pub fn with_active_tools<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.active_tools = Some(names.into_iter().map(Into::into).collect());
        self
    }

    /// Sets who takes part.
    #[must_use]
    pub fn with_control(mut self, control: Arc<dyn LoopControl>) -> Self {
        self.control = control;
        self
    }

    /// Sets where the ids of requests come from: one is asked for at each step, so they must not repeat. Adapters make the
    /// ids of calls and sources, where a server gives none, of the request's: with ids that are known, so are those.
    #[must_use]
    pub fn with_request_ids(mut self, new_id: impl Fn() -> RequestId + Send + Sync + 'static) -> Self {
        self.request_ids = RequestIds(Some(Arc::new(new_id)));
        self
    }
}

/// Where the ids of requests come from. Default: random UUIDs.
#[derive(Clone, Default)]
pub struct RequestIds(Option<Arc<dyn Fn() -> RequestId + Send + Sync>>);

impl RequestIds {
    pub(super) fn next(&self) -> RequestId {
        self.0.as_ref().map_or_else(RequestId::random, |new_id| new_id())
    }
}

impl fmt::Debug for RequestIds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "RequestIds(given)" } else { "RequestIds(random)" })
    }
}

/// What happens when a call needs a person's consent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Approvals {
    /// The run ends; it goes on from its stored form once the decisions are there.
    #[default]
    EndRun,
    /// The run waits for [`RunHandle::decide`](super::RunHandle::decide).
    InPlace,
}
