use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use ai_core::{OnError, RunEnd, StepOverrides};
use ai_provider::{Message, RunScope};
use futures_util::FutureExt;

use super::{ErrorContext, Handler, Hooks, PrepareStep, RunFinish, RunStart, StepFinish, ToolEnd, ToolStart};

/// Calls the hooks of a run, each handler apart from the others.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    hooks: Hooks,
    /// How long a handler may take.
    limit: Option<Duration>,
}

impl Caller {
    pub(crate) fn new(hooks: Hooks, limit: Option<Duration>) -> Self {
        Self { hooks, limit }
    }

    pub(crate) fn prepares(&self) -> bool {
        !self.hooks.prepare_step.is_empty()
    }

    pub(crate) fn hears_steps(&self) -> bool {
        !self.hooks.step_finish.is_empty()
    }

    pub(crate) fn hears_tools(&self) -> bool {
        !self.hooks.tool_end.is_empty()
    }

    pub(crate) fn hears_ends(&self) -> bool {
        !(self.hooks.finish.is_empty() && self.hooks.abort.is_empty() && self.hooks.error.is_empty())
    }

    pub(crate) fn hears_errors(&self) -> bool {
        !self.hooks.error.is_empty()
    }

    pub(crate) async fn start(&self, start: RunStart) {
        self.each("on_start", &self.hooks.start, start).await;
    }

    pub(crate) async fn step_finish(&self, step: StepFinish) {
        self.each("on_step_finish", &self.hooks.step_finish, step).await;
    }

    pub(crate) async fn tool_start(&self, start: ToolStart) {
        self.each("on_tool_execution_start", &self.hooks.tool_start, start).await;
    }

    pub(crate) async fn tool_end(&self, end: ToolEnd) {
        self.each("on_tool_execution_end", &self.hooks.tool_end, end).await;
    }

    pub(crate) async fn finish(&self, finish: RunFinish) {
        self.each("on_finish", &self.hooks.finish, finish).await;
    }

    pub(crate) async fn abort(&self, finish: RunFinish) {
        self.each("on_abort", &self.hooks.abort, finish).await;
    }

    /// Asks all; one that says `Retry` is enough.
    pub(crate) async fn error(&self, error: ErrorContext) -> OnError {
        let mut all = OnError::Abort;
        for handler in &self.hooks.error {
            if self.call("on_error", handler, error.clone()).await == Some(OnError::Retry) {
                all = OnError::Retry;
            }
        }
        all
    }

    /// What all handlers together want of a step, on top of what it has otherwise already.
    pub(crate) async fn prepare_step(&self, view: PrepareStep, mut all: StepOverrides) -> StepOverrides {
        for handler in &self.hooks.prepare_step {
            let mut seen = view.clone();
            if let Some(messages) = all.messages.as_ref().or(all.history.as_ref()) {
                seen.messages = messages.clone();
            }
            if let Some(said) = self.call("prepare_step", handler, seen).await {
                merge(&mut all, said);
            }
        }
        all
    }

    pub(crate) fn settled(&self, end: &RunEnd, scope: &RunScope) {
        for handler in &self.hooks.settled {
            if catch_unwind(AssertUnwindSafe(|| handler(end, scope))).is_err() {
                tracing::warn!(hook = "on_settled", "a handler panicked");
            }
        }
    }

    async fn each<A: Clone>(&self, hook: &'static str, handlers: &[Handler<A, ()>], argument: A) {
        for handler in handlers {
            self.call(hook, handler, argument.clone()).await;
        }
    }

    /// What a handler says; nothing if it fails, panics or takes too long.
    async fn call<A, T>(&self, hook: &'static str, handler: &Handler<A, T>, argument: A) -> Option<T> {
        let run = async { handler(argument).await };
        match bounded(self.limit, AssertUnwindSafe(run).catch_unwind()).await {
            Some(Ok(Ok(said))) => Some(said),
            Some(Ok(Err(error))) => {
                tracing::warn!(hook, %error, "a handler failed");
                None
            }
            Some(Err(_)) => {
                tracing::warn!(hook, "a handler panicked");
                None
            }
            None => {
                tracing::warn!(hook, limit = ?self.limit, "a handler took too long and was dropped");
                None
            }
        }
    }
}

/// Takes over what a handler said. Its messages are those of the step: history it replaced without saying other
/// messages is what the step gets.
fn merge(all: &mut StepOverrides, said: StepOverrides) {
    let messages: Option<Vec<Arc<Message>>> = said.messages;
    if said.history.is_some() {
        all.history = said.history;
        all.messages = None;
    }
    all.messages = messages.or(all.messages.take());
    all.model = said.model.or(all.model.take());
    all.system = said.system.or(all.system.take());
    all.tool_choice = said.tool_choice.or(all.tool_choice.take());
    all.tools = said.tools.or(all.tools.take());
    all.active_tools = said.active_tools.or(all.active_tools.take());
    all.settings = said.settings.or(all.settings.take());
    all.options.merge(&said.options);
}

/// Awaits a future for so long; `None` if it takes longer. Most handlers are done at once: they need no timer.
async fn bounded<F: Future>(limit: Option<Duration>, future: F) -> Option<F::Output> {
    let mut future = pin!(future);
    let at_once = poll_fn(|cx| {
        Poll::Ready(match future.as_mut().poll(cx) {
            Poll::Ready(done) => Some(done),
            Poll::Pending => None,
        })
    });
    match (at_once.await, limit) {
        (Some(done), _) => Some(done),
        (None, None) => Some(future.await),
        (None, Some(limit)) => tokio::time::timeout(limit, future).await.ok(),
    }
}
