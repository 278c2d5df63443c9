use std::collections::HashSet;
use std::future::{Future, poll_fn};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::task::{Context, Poll};

use ai_provider::{
    CallContext, ErrorClass, Id, LanguageModel, Message, ModelError, ModelStream, Request, RequestId,
    StreamPart, ToolApprovalResponse, ToolCall, ToolOutput, ToolResult,
};
use futures_util::FutureExt;

use super::attempts::Attempts;
use super::co::Co;
use super::control::{OnError, StepFailure, StepOverrides, StepView};
use super::event::{LoopEvent, StepReset, StepStart, ToolEvent};
use super::handle::{Decision, Decisions};
use super::ids::Ids;
use super::interrupt::Interrupt;
use super::live::Live;
use super::options::{Approvals, RunOptions};
use super::tools::{Job, Tools};
use super::{Config, system};
use crate::run::{
    Answer, ApprovalVerdict, Input, Interruption, Next, PendingApproval, Prepared, Run, ToolRecord,
    ToolStatus,
};
use crate::tool::{ToolContext, ToolError};

/// Drives one run from its first poll to its end.
pub(super) struct Driver {
    config: Arc<Config>,
    live: Live,
    options: RunOptions,
    interrupt: Interrupt,
    decisions: Arc<Decisions>,
    attempts: Arc<Attempts>,
    ids: Ids,
    step: Step,
    held: Option<Said>,
}

/// What holds for the step under way.
struct Step {
    model: Arc<dyn LanguageModel>,
    overrides: StepOverrides,
    request_id: RequestId,
    /// Calls whose end was shown.
    finished: HashSet<Id>,
}

enum Said {
    Part(StreamPart),
    Failed(ModelError),
    Over,
}

/// What the machine asked for, without a borrow of it.
enum Todo {
    Prepare,
    CallModel,
    Repair(Vec<Id>),
    Decide(Vec<ToolCall>),
    CallTools(Vec<ToolCall>),
    CheckStop,
    AwaitApproval(Vec<PendingApproval>),
    Finish,
}

impl Driver {
    pub(super) fn new(config: Arc<Config>, run: Run, options: RunOptions, decisions: Arc<Decisions>) -> Self {
        Self {
            ids: Ids::beside(run.messages()),
            live: Live::new(run, Arc::clone(&options.control), Arc::clone(&decisions)),
            step: Step {
                model: Arc::clone(&config.model),
                overrides: StepOverrides::default(),
                request_id: RequestId::random(),
                finished: HashSet::new(),
            },
            interrupt: Interrupt::new(options.cancel.clone(), options.deadline),
            attempts: Arc::default(),
            held: None,
            config,
            options,
            decisions,
        }
    }

    pub(super) async fn drive(mut self, co: Co<LoopEvent>) {
        loop {
            let done = match self.todo() {
                Todo::Prepare => self.prepare().await,
                Todo::CallModel => self.call_model(&co).await,
                Todo::Repair(calls) => {
                    // This loop offers no repair: the error goes to the model.
                    self.live.feed(Input::Repaired(calls.into_iter().map(|id| (id, None)).collect()));
                    Ok(())
                }
                Todo::Decide(calls) => self.decide(&co, calls).await,
                Todo::CallTools(calls) => self.call_tools(&co, calls).await,
                Todo::CheckStop => self.check_stop().await,
                Todo::AwaitApproval(pending) if self.config.approvals == Approvals::EndRun => {
                    match self.decisions.take() {
                        Some(decision) => self.answer(&co, pending, decision).await,
                        None => {
                            self.live.park();
                            break;
                        }
                    }
                    Ok(())
                }
                Todo::AwaitApproval(pending) => self.await_approval(&co, pending).await,
                Todo::Finish => break,
            };
            if let Err(by) = done {
                self.live.interrupt(by);
            }
            self.hand_out_steps(&co).await;
        }
        self.finish(&co).await;
    }

    fn todo(&self) -> Todo {
        let owned = |calls: Vec<&ToolCall>| calls.into_iter().cloned().collect();
        match self.live.run().next() {
            Next::Prepare { .. } => Todo::Prepare,
            Next::CallModel => Todo::CallModel,
            Next::Repair { calls } => Todo::Repair(calls.into_iter().map(|call| call.id.clone()).collect()),
            Next::DecideApproval { calls } => Todo::Decide(owned(calls)),
            Next::CallTools { calls } => Todo::CallTools(owned(calls)),
            Next::CheckStop => Todo::CheckStop,
            Next::AwaitApproval { pending } => Todo::AwaitApproval(pending),
            Next::Done(_) => Todo::Finish,
        }
    }

    async fn prepare(&mut self) -> Result<(), Interruption> {
        let view = StepView::new(self.live.run());
        let mut overrides = self.interrupt.race(guarded(self.options.control.prepare_step(&view))).await?;
        let history = overrides.history.take();
        let active = |name: &str| {
            overrides.active_tools.as_ref().is_none_or(|active| active.iter().any(|tool| tool == name))
        };
        let tools = self.config.tools.facts(active);
        self.step = Step {
            model: overrides.model.take().unwrap_or_else(|| Arc::clone(&self.config.model)),
            overrides,
            request_id: RequestId::random(),
            finished: HashSet::new(),
        };
        self.live.feed(Input::Prepared(Prepared { tools, repair: false, history }));
        Ok(())
    }

    /// The request of the step: instructions first, then the history.
    fn request(&self) -> Request {
        let (config, overrides) = (&self.config, &self.step.overrides);
        let mut request = config.request.clone();
        let instructions = overrides.system.clone().map(system).or_else(|| config.system.clone());
        let history = overrides.messages.as_deref().unwrap_or_else(|| self.live.run().messages());
        request.messages = Vec::with_capacity(history.len() + 1);
        request.messages.extend(instructions);
        request.messages.extend_from_slice(history);
        request.delivery = self.options.delivery;
        if let Some(choice) = &overrides.tool_choice {
            request.tool_choice = choice.clone();
        }
        if let Some(active) = &overrides.active_tools {
            let shown = request.tools.iter().filter(|tool| active.iter().any(|name| name == tool.name()));
            request.tools = shown.cloned().collect();
        }
        if let Some(settings) = &overrides.settings {
            request.settings = settings.clone();
        }
        request.options.merge(&overrides.options);
        request
    }

    async fn call_model(&mut self, co: &Co<LoopEvent>) -> Result<(), Interruption> {
        let target = self.step.model.target().clone();
        co.give(LoopEvent::StepStart(StepStart::new(self.live.run().step(), target.clone()))).await;
        let ctx = CallContext::new()
            .with_cancel(self.options.cancel.clone())
            .with_deadline(self.interrupt.deadline())
            .with_request_id(self.step.request_id.as_str())
            .with_scope(self.options.scope.clone())
            .with_events(Arc::clone(&self.attempts) as _);
        let mut stream = self.step.model.stream(self.request(), ctx);
        self.live.begin_answer();
        self.ids.begin();
        let mut finished = false;
        loop {
            match self.hear(&mut stream, co).await? {
                Said::Part(mut part) => {
                    self.ids.unify(&mut part);
                    if let Err(error) = self.live.hear(&part) {
                        return self.model_failed(co, error).await;
                    }
                    finished |= matches!(part, StreamPart::Finish(_));
                    co.give(LoopEvent::Part(part)).await;
                }
                Said::Failed(error) => return self.model_failed(co, error).await,
                Said::Over if finished => break,
                Said::Over => {
                    let text = "the stream ended before the answer was complete";
                    return self.model_failed(co, ModelError::new(ErrorClass::Incomplete, text)).await;
                }
            }
        }
        let assembled = self.live.end_answer();
        self.live.feed(Input::Answered(Box::new(Answer { target, assembled })));
        Ok(())
    }

    /// The next item of the model, after the attempt events that came before it.
    async fn hear(&mut self, stream: &mut ModelStream, co: &Co<LoopEvent>) -> Result<Said, Interruption> {
        loop {
            while let Some(attempt) = self.attempts.pop() {
                co.give(LoopEvent::Attempt(Box::new(attempt))).await;
            }
            if let Some(said) = self.held.take() {
                return Ok(said);
            }
            let (interrupt, attempts) = (&mut self.interrupt, &self.attempts);
            let said = poll_fn(|cx| poll_model(interrupt, attempts, stream, cx)).await?;
            match said {
                Some(said) if self.attempts.is_empty() => return Ok(said),
                said => self.held = said,
            }
        }
    }

    async fn model_failed(&mut self, co: &Co<LoopEvent>, error: ModelError) -> Result<(), Interruption> {
        if error.is_cancelled() && self.interrupt.is_cancelled() {
            return Err(Interruption::Cancelled);
        }
        if error.is_timeout() && self.interrupt.is_time_up() {
            return Err(Interruption::TimeUp);
        }
        let partial = self.live.partial();
        let step = self.live.run().step();
        let may_retry = self.live.run().may_retry();
        let failure = StepFailure { step, error: &error, partial: &partial, may_retry };
        let decided = self.interrupt.race(guarded(self.options.control.on_step_error(&failure))).await?;
        let retry = may_retry && decided == OnError::Retry;
        self.live.abandon_answer();
        self.live.feed(Input::ModelFailed { error: error.record(), partial, retry });
        if retry {
            co.give(LoopEvent::StepReset(StepReset::new(step, error.record()))).await;
        } else {
            self.live.failed(error);
        }
        Ok(())
    }

    async fn decide(&mut self, co: &Co<LoopEvent>, calls: Vec<ToolCall>) -> Result<(), Interruption> {
        let mut verdicts = Vec::with_capacity(calls.len());
        for job in self.jobs(calls) {
            let verdict = match job {
                Ok(Job { call, tool, ctx, .. }) => {
                    let input = call.input_json().unwrap_or_default();
                    let asked = AssertUnwindSafe(tool.approve(&input, &ctx)).catch_unwind();
                    let verdict =
                        self.interrupt.race(asked).await?.unwrap_or_else(|_| ApprovalVerdict::Denied {
                            reason: Some("the approval policy of the tool failed".to_owned()),
                        });
                    (call.id, verdict)
                }
                // What cannot run needs no consent; running it gives the error.
                Err(record) => (record.result.tool_call_id, ApprovalVerdict::Approved),
            };
            verdicts.push(verdict);
        }
        let asked: Vec<_> = verdicts
            .iter()
            .filter(|(_, verdict)| matches!(verdict, ApprovalVerdict::AskUser { .. }))
            .map(|(id, _)| id.clone())
            .collect();
        for id in &asked {
            self.decisions.ask(id.clone());
        }
        self.live.feed(Input::Decided(verdicts));
        for pending in self.live.run().pending_approvals() {
            if asked.contains(&pending.call.id) {
                co.give(LoopEvent::Tool(ToolEvent::ApprovalRequested(pending))).await;
            }
        }
        Ok(())
    }

    async fn call_tools(&mut self, co: &Co<LoopEvent>, calls: Vec<ToolCall>) -> Result<(), Interruption> {
        let mut jobs = Vec::with_capacity(calls.len());
        for job in self.jobs(calls) {
            match job {
                Ok(job) => jobs.push(job),
                Err(record) => self.tool_finished(co, record).await,
            }
        }
        self.live.begin_tools(Tools::new(jobs, Arc::clone(&self.options.control), self.config.policy));
        loop {
            let (interrupt, live) = (&mut self.interrupt, &mut self.live);
            let event = poll_fn(|cx| match interrupt.poll(cx) {
                Poll::Ready(by) => Poll::Ready(Err(by)),
                Poll::Pending => live.poll_tools(cx).map(Ok),
            });
            match event.await? {
                Some(ToolEvent::Finished(record)) => self.tool_finished(co, record).await,
                Some(event) => co.give(LoopEvent::Tool(event)).await,
                None => return Ok(()),
            }
        }
    }

    async fn tool_finished(&mut self, co: &Co<LoopEvent>, record: Box<ToolRecord>) {
        self.step.finished.insert(record.result.tool_call_id.clone());
        self.live.feed(Input::ToolFinished(record.clone()));
        co.give(LoopEvent::Tool(ToolEvent::Finished(record))).await;
    }

    /// The calls with their tools; a record for each call whose tool this loop does not have (a stored run may
    /// come from a loop that had it).
    fn jobs(&self, calls: Vec<ToolCall>) -> Vec<Result<Job, Box<ToolRecord>>> {
        let messages: Arc<[Arc<Message>]> = self.live.run().messages().into();
        let job = |call: ToolCall| match self.config.tools.get(&call.name) {
            Some(entry) => Ok(Job {
                ctx: ToolContext {
                    call_id: call.id.clone(),
                    tool_name: call.name.clone(),
                    target: self.step.model.target().clone(),
                    request_id: self.step.request_id.clone(),
                    messages: Arc::clone(&messages),
                    cancel: self.options.cancel.clone(),
                    scope: self.options.scope.clone(),
                    trusted: entry.trusted,
                    effects: Arc::default(),
                },
                tool: Arc::clone(&entry.tool),
                effect: entry.effect,
                timeout: entry.timeout,
                call,
            }),
            None => {
                let text = format!("There is no tool `{}`.", call.name);
                let result = ToolResult::new(call.id, call.name, ToolOutput::ErrorText(text));
                Err(Box::new(ToolRecord::not_run(result, ToolStatus::Unknown)))
            }
        };
        calls.into_iter().map(job).collect()
    }

    async fn check_stop(&mut self) -> Result<(), Interruption> {
        let view = StepView::new(self.live.run());
        let verdicts = self.interrupt.race(guarded(self.options.control.stop_when(&view))).await?;
        self.live.feed(Input::Verdicts(verdicts));
        Ok(())
    }

    async fn await_approval(
        &mut self,
        co: &Co<LoopEvent>,
        pending: Vec<PendingApproval>,
    ) -> Result<(), Interruption> {
        for pending in &pending {
            self.decisions.expect(pending.call.id.clone());
        }
        let left = self.interrupt.suspend();
        let decisions = &self.decisions;
        let decided = self.interrupt.race(poll_fn(|cx| decisions.poll(cx))).await;
        self.interrupt.resume(left);
        self.answer(co, pending, decided?).await;
        Ok(())
    }

    async fn answer(&mut self, co: &Co<LoopEvent>, pending: Vec<PendingApproval>, decision: (Id, Decision)) {
        let (call_id, Decision { approved, reason }) = decision;
        if let Some(pending) = pending.into_iter().find(|pending| pending.call.id == call_id) {
            self.live.feed(Input::Answer { call_id, approved, reason: reason.clone() });
            let answer = ToolApprovalResponse { approval_id: pending.approval_id, approved, reason };
            co.give(LoopEvent::Tool(ToolEvent::ApprovalAnswered(answer))).await;
        }
    }

    /// Hands out the steps that have become complete. Calls that never ran have results too: they are shown
    /// before the step ends.
    async fn hand_out_steps(&mut self, co: &Co<LoopEvent>) {
        while let Some(record) = self.live.next_complete_step() {
            for tool in &record.tools {
                if self.step.finished.insert(tool.result.tool_call_id.clone()) {
                    co.give(LoopEvent::Tool(ToolEvent::Finished(Box::new(tool.clone())))).await;
                }
            }
            self.interrupt.last_word(guarded(self.options.control.on_step_end(&record))).await;
            co.give(LoopEvent::StepEnd(record, self.live.run().snapshot())).await;
        }
    }

    /// The consumer has asked for more and only the end is left: the finish is claimed.
    async fn finish(&mut self, co: &Co<LoopEvent>) {
        if self.interrupt.is_cancelled() {
            self.live.interrupt(Interruption::Cancelled);
            self.hand_out_steps(co).await;
        }
        let end = self.live.claim();
        self.interrupt.last_word(guarded(self.options.control.on_end(&end))).await;
        co.give(LoopEvent::End(Box::new(end))).await;
    }
}

/// A hook that panics has said nothing.
async fn guarded<T: Default>(hook: impl Future<Output = T>) -> T {
    AssertUnwindSafe(hook).catch_unwind().await.unwrap_or_else(|panic| {
        tracing::error!(error = %ToolError::panicked(&*panic), "a hook of the run panicked");
        T::default()
    })
}

/// One poll of the model: the interruption first, so that a cancel before a poll wins over an item that is
/// ready. `None` where only attempt events came.
fn poll_model(
    interrupt: &mut Interrupt,
    attempts: &Attempts,
    stream: &mut ModelStream,
    cx: &mut Context<'_>,
) -> Poll<Result<Option<Said>, Interruption>> {
    if let Poll::Ready(by) = interrupt.check(cx) {
        return Poll::Ready(Err(by));
    }
    match stream.as_mut().poll_next(cx) {
        Poll::Ready(Some(Ok(part))) => Poll::Ready(Ok(Some(Said::Part(part)))),
        Poll::Ready(Some(Err(error))) => Poll::Ready(Ok(Some(Said::Failed(error)))),
        Poll::Ready(None) => Poll::Ready(Ok(Some(Said::Over))),
        Poll::Pending if attempts.is_empty() => interrupt.poll(cx).map(Err),
        Poll::Pending => Poll::Ready(Ok(None)),
    }
}
