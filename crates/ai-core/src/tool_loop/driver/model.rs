use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use ai_provider::{
    Assembled, AssistantMessage, CallContext, Id, ModelError, ModelStream, Request, RetryError, StreamPart,
    ToolCall,
};
use futures_util::stream;
use serde_json::Value;
use tracing::Span;

use super::super::control::{OnError, StepFailure};
use super::super::event::{LoopEvent, StepReset, StepStart};
use super::answering::{Answering, Ended};
use super::{Driver, LoopCo, guarded};
use crate::panic::model_panicked;
use crate::run::{Answer, Input, Interruption};
use crate::tool::ToolError;

/// The model's part of a step.
impl Driver {
    pub(super) async fn call_model(
        mut self: Box<Self>,
        co: &LoopCo,
    ) -> (Box<Self>, Result<(), Interruption>) {
        let (stream, span) = match self.ask(co).await {
            Ok(Some(asked)) => asked,
            Ok(None) => return (self, Ok(())),
            Err(by) => return (self, Err(by)),
        };
        let answering = co.lend(Box::new(Answering::new(self, stream, span))).await;
        let (mut driver, span, end) = answering.into_parts();
        let done = match end {
            Ended::Over => {
                driver.answered(&span);
                Ok(())
            }
            Ended::Failed(error) => driver.model_failed(co, &span, error).await,
            Ended::Cut(by) => Err(by),
        };
        (driver, done)
    }

    /// Calls the model. Nothing comes of it where the request could not be made.
    async fn ask(&mut self, co: &LoopCo) -> Result<Option<(ModelStream, Span)>, Interruption> {
        let target = self.step.model.target().clone();
        co.give(LoopEvent::StepStart(StepStart::new(self.live.run().step(), target.clone()))).await;
        let (cancel, scope) = (self.options.cancel.clone(), self.options.scope.clone());
        let ctx = CallContext::of_run(cancel, scope, self.step.request_id.clone())
            .with_deadline(self.interrupt.deadline())
            .with_step(self.live.run().step())
            .with_events(Arc::clone(&self.attempts) as _);
        let request = match self.changed_request().await? {
            Ok(request) => request,
            Err(error) => {
                self.model_failed(co, &Span::none(), error).await?;
                return Ok(None);
            }
        };
        let span = self.config.traced.chat(&target, &request);
        let call = || span.in_scope(|| self.step.model.stream(request, ctx));
        let mut stream = catch_unwind(AssertUnwindSafe(call))
            .unwrap_or_else(|panic| Box::pin(stream::once(std::future::ready(Err(model_panicked(&*panic))))));
        if let Some(plugins) = &self.plugins {
            stream = plugins.stream(stream);
        }
        self.live.begin_answer();
        self.ids.begin();
        Ok(Some((stream, span)))
    }

    /// The answer is whole.
    fn answered(&mut self, span: &Span) {
        let assembled = self.live.end_answer();
        self.config.traced.chat_ended(span, &assembled);
        let mut answer = Answer::new(self.step.model.target().clone(), assembled);
        answer.invalid = self.invalid(&answer.assembled);
        self.live.feed(Input::Answered(Box::new(answer)));
        // Nobody here decides about calls at the provider that ask for consent: a person does.
        for pending in self.live.run().pending_approvals() {
            self.decisions.ask(pending.call.id);
        }
    }

    /// The request of the step as the plugins have it.
    async fn changed_request(&mut self) -> Result<Result<Request, ModelError>, Interruption> {
        let request = self.request();
        match &self.plugins {
            Some(plugins) => self.interrupt.race(plugins.step(request, self.live.run().step())).await,
            None => Ok(Ok(request)),
        }
    }

    /// Calls of tools that are known only at run time say so.
    pub(super) fn mark(&self, part: &mut StreamPart) {
        let (name, dynamic) = match part {
            StreamPart::ToolCall(call) => (&call.name, &mut call.dynamic),
            StreamPart::ToolInputStart { tool_name, dynamic, .. } => (&*tool_name, dynamic),
            _ => return,
        };
        *dynamic |= self.step.tool(name).is_some_and(|tool| tool.dynamic);
    }

    /// The calls whose input their tools do not take.
    fn invalid(&self, answer: &Assembled) -> Vec<(Id, String)> {
        let client = answer.message.tool_calls().filter(|call| !call.provider_executed);
        client.filter_map(|call| Some((call.id.clone(), self.problem(call)?))).collect()
    }

    /// What the tool of this call says against its input; nothing of what the run itself checks.
    pub(super) fn problem(&self, call: &ToolCall) -> Option<String> {
        let tool = self.step.tool(&call.name)?;
        let input = call.input_json().ok().filter(Value::is_object)?;
        match catch_unwind(AssertUnwindSafe(|| tool.tool.check(&input))) {
            Ok(checked) => checked.err(),
            Err(panic) => Some(format!("{} could not look at it", ToolError::panicked(&*panic))),
        }
    }

    async fn model_failed(
        &mut self,
        co: &LoopCo,
        span: &Span,
        error: ModelError,
    ) -> Result<(), Interruption> {
        self.config.traced.chat_failed(span, &error);
        if error.is_cancelled() && self.interrupt.is_cancelled() {
            return Err(Interruption::Cancelled);
        }
        if error.is_timeout() && self.interrupt.is_time_up() {
            return Err(Interruption::TimeUp);
        }
        let partial = self.live.partial();
        let step = self.live.run().step();
        let may_retry = self.live.run().may_retry() && repeatable(&error, &partial);
        let failure = StepFailure::new(step, &error, &partial, may_retry);
        // The error came first: a cancel from here on keeps the step from being tried again, and nothing else.
        let heard = self.interrupt.last_word(guarded(self.options.control.on_step_error(&failure))).await;
        let cut = self.interrupt.is_cancelled() || self.interrupt.is_time_up();
        let retry = may_retry && !cut && heard == Some(OnError::Retry);
        self.live.abandon_answer();
        self.live.feed(Input::ModelFailed { error: error.record(), partial, retry });
        if retry {
            co.give(LoopEvent::StepReset(StepReset::new(step, error.record()))).await;
        } else {
            self.live.failed(error);
        }
        Ok(())
    }
}

/// Whether a step that failed like this can be made again without doing anything twice. Below this loop all attempts
/// were made already where there is a [`RetryError`]; and what the provider's own tools do is not known.
fn repeatable(error: &ModelError, partial: &AssistantMessage) -> bool {
    RetryError::of(error).is_none() && !partial.tool_calls().any(|call| call.provider_executed)
}
