//! What programs hear of a run, and where they take part in it.

mod call;
mod compose;
mod payload;

use std::error::Error;
use std::fmt;
use std::future::Future;
use std::sync::Arc;

use ai_core::{OnError, RunEnd, StepOverrides};
use ai_provider::RunScope;
use futures_util::future::BoxFuture;

pub(crate) use call::Caller;
pub use compose::compose_hooks;
pub use payload::{
    ErrorCause, ErrorContext, PrepareStep, RunFinish, RunStart, StepFinish, ToolEnd, ToolStart,
};

/// Why a hook failed: any error, by `?`.
pub type HookError = Box<dyn Error + Send + Sync>;

type Handler<A, T> = Arc<dyn Fn(A) -> BoxFuture<'static, Result<T, HookError>> + Send + Sync>;
type Settled = Arc<dyn Fn(&RunEnd, &RunScope) + Send + Sync>;

/// Handlers for what happens in a run.
///
/// Each hook may have any number of handlers: they run one after the other, in the order in which they were added. A
/// handler that fails, panics, or takes longer than the [limit](crate::Agent::with_hook_timeout) is logged and loses
/// only what it would have said itself; the others and the run go on.
///
/// Handlers are awaited in the run's own future: they run only while its stream is polled, and the run waits for
/// them. What must not be missed when a stream is dropped belongs into [`on_settled`](Self::on_settled).
///
/// ```
/// use agent_loop::{Agent, Hooks};
///
/// # fn f(agent: Agent) -> Agent {
/// agent.with_hooks(
///     Hooks::new()
///         .on_step_finish(|step| async move {
///             println!("step {} took {:?} tokens", step.record.step, step.record.usage.total());
///             Ok(())
///         })
///         .on_error(|failure| async move {
///             // Worth another try, if the run can have one.
///             Ok(if failure.may_retry { ai_core::OnError::Retry } else { ai_core::OnError::Abort })
///         }),
/// )
/// # }
/// ```
#[derive(Clone, Default)]
pub struct Hooks {
    start: Vec<Handler<RunStart, ()>>,
    prepare_step: Vec<Handler<PrepareStep, StepOverrides>>,
    step_finish: Vec<Handler<StepFinish, ()>>,
    tool_start: Vec<Handler<ToolStart, ()>>,
    tool_end: Vec<Handler<ToolEnd, ()>>,
    finish: Vec<Handler<RunFinish, ()>>,
    abort: Vec<Handler<RunFinish, ()>>,
    error: Vec<Handler<ErrorContext, OnError>>,
    settled: Vec<Settled>,
}

fn handler<A, T, F, Fut>(f: F) -> Handler<A, T>
where
    F: Fn(A) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<T, HookError>> + Send + 'static,
{
    Arc::new(move |argument| Box::pin(f(argument)))
}

impl Hooks {
    /// No handlers.
    pub fn new() -> Self {
        Self::default()
    }

    /// Once, before anything else of the run.
    #[must_use]
    pub fn on_start<F, Fut>(mut self, f: F) -> Self
    where
        F: Fn(RunStart) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<(), HookError>> + Send + 'static,
    {
        self.start.push(handler(f));
        self
    }

    /// Before each step: what it shall have otherwise.
    ///
    /// Of several handlers, each sees the messages as the one before left them, and nothing else of what that one
    /// said. Of all other overrides the last one counts, each by itself; options are merged.
    #[must_use]
    pub fn prepare_step<F, Fut>(mut self, f: F) -> Self
    where
        F: Fn(PrepareStep) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<StepOverrides, HookError>> + Send + 'static,
    {
        self.prepare_step.push(handler(f));
        self
    }

    /// After each complete step.
    #[must_use]
    pub fn on_step_finish<F, Fut>(mut self, f: F) -> Self
    where
        F: Fn(StepFinish) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<(), HookError>> + Send + 'static,
    {
        self.step_finish.push(handler(f));
        self
    }

    /// Before a tool of this side runs. Calls of a step run side by side, and so do these.
    #[must_use]
    pub fn on_tool_execution_start<F, Fut>(mut self, f: F) -> Self
    where
        F: Fn(ToolStart) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<(), HookError>> + Send + 'static,
    {
        self.tool_start.push(handler(f));
        self
    }

    /// After a tool of this side has run: once for each call that was started, however it ended.
    #[must_use]
    pub fn on_tool_execution_end<F, Fut>(mut self, f: F) -> Self
    where
        F: Fn(ToolEnd) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<(), HookError>> + Send + 'static,
    {
        self.tool_end.push(handler(f));
        self
    }

    /// When the run has come to an end of its own.
    #[must_use]
    pub fn on_finish<F, Fut>(mut self, f: F) -> Self
    where
        F: Fn(RunFinish) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<(), HookError>> + Send + 'static,
    {
        self.finish.push(handler(f));
        self
    }

    /// When the run was cancelled.
    #[must_use]
    pub fn on_abort<F, Fut>(mut self, f: F) -> Self
    where
        F: Fn(RunFinish) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<(), HookError>> + Send + 'static,
    {
        self.abort.push(handler(f));
        self
    }

    /// When something failed, or a limit ended the run. If any handler says [`OnError::Retry`] and
    /// [`may_retry`](ErrorContext::may_retry) is set, the step is tried again and the run goes on; else this is its
    /// end.
    #[must_use]
    pub fn on_error<F, Fut>(mut self, f: F) -> Self
    where
        F: Fn(ErrorContext) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<OnError, HookError>> + Send + 'static,
    {
        self.error.push(handler(f));
        self
    }

    /// Exactly once for every run, also for one whose stream is dropped. Must not block: it may be called while
    /// something is dropped.
    #[must_use]
    pub fn on_settled(mut self, f: impl Fn(&RunEnd, &RunScope) + Send + Sync + 'static) -> Self {
        self.settled.push(Arc::new(f));
        self
    }

    /// Whether there is no handler.
    pub fn is_empty(&self) -> bool {
        let Self { start, prepare_step, step_finish, tool_start, tool_end, finish, abort, error, settled } =
            self;
        start.is_empty()
            && prepare_step.is_empty()
            && step_finish.is_empty()
            && tool_start.is_empty()
            && tool_end.is_empty()
            && finish.is_empty()
            && abort.is_empty()
            && error.is_empty()
            && settled.is_empty()
    }
}

impl fmt::Debug for Hooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hooks")
            .field("on_start", &self.start.len())
            .field("prepare_step", &self.prepare_step.len())
            .field("on_step_finish", &self.step_finish.len())
            .field("on_tool_execution_start", &self.tool_start.len())
            .field("on_tool_execution_end", &self.tool_end.len())
            .field("on_finish", &self.finish.len())
            .field("on_abort", &self.abort.len())
            .field("on_error", &self.error.len())
            .field("on_settled", &self.settled.len())
            .finish()
    }
}
