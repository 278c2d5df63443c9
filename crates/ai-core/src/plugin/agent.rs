use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ai_provider::{AttemptEvent, ModelError, ModelStream, Request, ToolCall};
use async_trait::async_trait;
use futures_util::FutureExt;

use super::{CallParams, Pipeline, Plugins, RequestContext, RequestResult, StreamEnd};
use crate::error::Error;
use crate::run::{Outcome, StepRecord, ToolRecord, Verdict};
use crate::tool::{ToolContext, ToolStream};
use crate::tool_loop::{LoopControl, OnError, RunEnd, StepFailure, StepOverrides, StepView};

/// The plugins of an agent, with the context it was made with.
#[derive(Clone, Debug)]
pub(crate) struct AgentPlugins {
    plugins: Plugins,
    ctx: Arc<RequestContext>,
}

impl AgentPlugins {
    pub(crate) fn new(plugins: Plugins, ctx: Arc<RequestContext>) -> Self {
        Self { plugins, ctx }
    }

    /// Those of one run.
    pub(crate) fn begin(&self) -> RunPlugins {
        let ctx = Arc::new(RequestContext::child(&self.ctx));
        RunPlugins(Arc::new(Pipeline::new(self.plugins.clone(), ctx)))
    }
}

/// The plugins of one run.
#[derive(Clone, Debug)]
pub(crate) struct RunPlugins(Arc<Pipeline>);

impl RunPlugins {
    /// Announces the run and changes its parameters.
    pub(crate) async fn start(&self, params: CallParams) -> Result<CallParams, ModelError> {
        self.0.start().await;
        self.0.params(params).await.map_err(ModelError::from)
    }

    pub(crate) async fn step(&self, request: Request, step: u32) -> Result<Request, ModelError> {
        self.0.step(request, step).await.map_err(ModelError::from)
    }

    pub(crate) fn stream(&self, stream: ModelStream) -> ModelStream {
        self.0.stream(stream)
    }

    /// The control of the run with the plugins around it: what it says of the run's end, they hear behind it.
    pub(crate) fn around(&self, control: Arc<dyn LoopControl>) -> Arc<dyn LoopControl> {
        Arc::new(Around { control, plugins: Arc::clone(&self.0), ended: AtomicBool::new(false) })
    }
}

struct Around {
    control: Arc<dyn LoopControl>,
    plugins: Arc<Pipeline>,
    /// Whether the end of the run was asked for; if not, it was dropped.
    ended: AtomicBool,
}

#[async_trait]
impl LoopControl for Around {
    async fn on_start(&self) {
        self.control.on_start().await;
    }

    async fn on_tool_start(&self, call: &ToolCall, ctx: &ToolContext) {
        self.control.on_tool_start(call, ctx).await;
    }

    async fn on_tool_end(&self, record: &ToolRecord) {
        self.control.on_tool_end(record).await;
    }

    fn on_attempt(&self, event: &AttemptEvent) {
        self.control.on_attempt(event);
    }

    async fn prepare_step(&self, step: &StepView<'_>) -> StepOverrides {
        self.control.prepare_step(step).await
    }

    fn around_tool(&self, call: &ToolCall, run: ToolStream) -> ToolStream {
        self.control.around_tool(call, run)
    }

    async fn on_step_end(&self, step: &Arc<StepRecord>) {
        self.control.on_step_end(step).await;
    }

    async fn stop_when(&self, step: &StepView<'_>) -> Vec<Verdict> {
        self.control.stop_when(step).await
    }

    async fn on_step_error(&self, failure: &StepFailure<'_>) -> OnError {
        self.control.on_step_error(failure).await
    }

    async fn on_end(&self, end: &RunEnd) {
        self.ended.store(true, Ordering::Release);
        let heard = AssertUnwindSafe(self.control.on_end(end)).catch_unwind().await;
        match failure(end) {
            Some(error) => self.plugins.failed(&error).await,
            None => self.plugins.answered(RequestResult::Agent(end)).await,
        }
        if let Err(panic) = heard {
            resume_unwind(panic);
        }
    }

    fn settled(&self, end: &RunEnd) {
        let heard = catch_unwind(AssertUnwindSafe(|| self.control.settled(end)));
        match failure(end) {
            _ if !self.ended.load(Ordering::Acquire) => self.plugins.end(StreamEnd::Dropped),
            Some(error) => self.plugins.end(StreamEnd::Failed(&error)),
            None => self.plugins.end(StreamEnd::Finished { usage: &end.usage }),
        }
        if let Err(panic) = heard {
            resume_unwind(panic);
        }
    }
}

fn failure(end: &RunEnd) -> Option<Error> {
    match &end.outcome {
        Outcome::Failed { error, .. } => {
            Some(end.error.clone().unwrap_or_else(|| ModelError::from(error.clone())).into())
        }
        Outcome::Cancelled { .. } => Some(ModelError::cancelled().into()),
        _ => None,
    }
}
