mod answering;
mod calls;
mod model;

use std::collections::{HashMap, HashSet};
use std::future::{Future, poll_fn};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use ai_provider::{
    Id, LanguageModel, Message, Request, RequestId, ToolApprovalResponse, ToolCall, ToolChoice, ToolOutput,
};
use futures_util::FutureExt;
use tracing::{Instrument, Span};

use super::attempts::Attempts;
use super::co::{Co, CoStream};
use super::control::{StepOverrides, StepView};
use super::event::{LoopEvent, ToolEvent};
use super::handle::{Decision, Decisions};
use super::ids::Ids;
use super::interrupt::Interrupt;
use super::live::Live;
use super::options::{Approvals, RunOptions};
use super::{Config, system};
use crate::plugin::{AgentPlugins, RunPlugins};
use crate::run::{Input, Interruption, Invalid, Next, PendingApproval, Prepared, Run, ToolRecord};
use crate::tool::{Entry, ToolError, ToolSet};
use answering::Answering;

type LoopCo = Co<LoopEvent, Answering>;
pub(super) type DriverStream = CoStream<LoopEvent, Answering>;

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
    plugins: Option<RunPlugins>,
}

/// What holds for the step under way.
struct Step {
    model: Arc<dyn LanguageModel>,
    tools: ToolSet,
    /// The names of the active tools; all if absent.
    active: Option<HashSet<String>>,
    overrides: StepOverrides,
    request_id: RequestId,
    /// Calls whose end was shown.
    finished: HashSet<Id>,
}

impl Step {
    fn new(
        config: &Config,
        active: Option<HashSet<String>>,
        mut overrides: StepOverrides,
        request_id: RequestId,
    ) -> Self {
        Self {
            model: overrides.model.take().unwrap_or_else(|| Arc::clone(&config.model)),
            tools: overrides.tools.clone().unwrap_or_else(|| config.tools.clone()),
            active,
            overrides,
            request_id,
            finished: HashSet::new(),
        }
    }

    fn is_active(&self, name: &str) -> bool {
        self.active.as_ref().is_none_or(|active| active.contains(name))
    }

    /// The tool of this name, if it is active.
    fn tool(&self, name: &str) -> Option<&Entry> {
        self.tools.get(name).filter(|_| self.is_active(name))
    }
}

/// What the machine asked for, without a borrow of it.
enum Todo {
    Prepare,
    CallModel,
    Repair(Vec<(ToolCall, String)>),
    Decide(Vec<ToolCall>),
    CallTools(Vec<ToolCall>),
    CheckStop,
    AwaitApproval(Vec<PendingApproval>),
    Finish,
}

impl Driver {
    pub(super) fn new(
        config: Arc<Config>,
        run: Run,
        mut options: RunOptions,
        decisions: Arc<Decisions>,
    ) -> Self {
        let plugins = config.plugins.as_ref().map(AgentPlugins::begin);
        if let Some(plugins) = &plugins {
            options.control = plugins.around(options.control);
        }
        for pending in run.pending_approvals() {
            decisions.expect(pending.call.id);
        }
        Self {
            ids: Ids::beside(run.messages().iter().chain(run.new_messages())),
            live: Live::new(run, Arc::clone(&options.control), Arc::clone(&decisions)),
            step: Step::new(&config, None, StepOverrides::default(), options.request_ids.next()),
            interrupt: Interrupt::new(&options.cancel, options.deadline),
            attempts: Arc::new(Attempts::new(Arc::clone(&options.control))),
            plugins,
            config,
            options,
            decisions,
        }
    }

    pub(super) async fn drive(self: Box<Self>, co: LoopCo) {
        let span = self.config.traced.agent(self.config.name.as_deref(), self.config.model.target());
        self.run(co, span.clone()).instrument(span).await;
    }

    async fn run(mut self: Box<Self>, co: LoopCo, span: Span) {
        self.live.trace(self.config.traced, span);
        if let Err(by) = self.begin().await {
            self.live.interrupt(by);
        }
        loop {
            let done = match self.todo() {
                Todo::Prepare => self.prepare().await,
                Todo::CallModel => {
                    let (driver, done) = self.call_model(&co).await;
                    self = driver;
                    done
                }
                Todo::Repair(calls) => self.repair(calls).await,
                Todo::Decide(calls) => self.decide(&co, calls).await,
                Todo::CallTools(calls) => self.call_tools(&co, calls).await,
                Todo::CheckStop => self.check_stop().await,
                Todo::AwaitApproval(pending) if self.config.approvals == Approvals::EndRun => {
                    match self.decisions.take_or_close() {
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

    /// Announces the run, and lets the plugins change what holds for all of it.
    async fn begin(&mut self) -> Result<(), Interruption> {
        self.interrupt.last_word(guarded(self.options.control.on_start())).await;
        let Some(plugins) = &self.plugins else { return Ok(()) };
        match self.interrupt.race(plugins.start(self.config.params())).await? {
            Ok(params) => {
                self.config = Arc::new(self.config.with_params(params));
                // A stored run goes on in the middle of a step, with the tools that the plugins gave it.
                let id = self.step.request_id.clone();
                self.step = Step::new(&self.config, None, StepOverrides::default(), id);
            }
            Err(error) => {
                self.live.feed(Input::Broken(error.record()));
                self.live.failed(error);
            }
        }
        Ok(())
    }

    fn todo(&self) -> Todo {
        let owned = |calls: Vec<&ToolCall>| calls.into_iter().cloned().collect();
        match self.live.run().next() {
            Next::Prepare { .. } => Todo::Prepare,
            Next::CallModel => Todo::CallModel,
            Next::Repair { calls } => Todo::Repair(
                calls.into_iter().map(|Invalid { call, record, .. }| (call.clone(), told(record))).collect(),
            ),
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
        let active = both(&self.options.active_tools, &overrides.active_tools);
        self.step = Step::new(&self.config, active, overrides, self.options.request_ids.next());
        let mut tools = self.step.tools.facts(|name| self.step.is_active(name));
        if self.config.approval_policy.is_some() {
            tools.iter_mut().for_each(|tool| tool.approval |= tool.executable);
        }
        self.live.feed(Input::Prepared(Prepared { tools, repair: self.config.repair.is_some(), history }));
        Ok(())
    }

    /// The request of the step: instructions first, then the history.
    fn request(&self) -> Request {
        let (config, overrides) = (&self.config, &self.step.overrides);
        let mut request = config.request.clone();
        let instructions = overrides.system.clone().map(system).or_else(|| config.system.clone());
        let history = overrides.messages.as_deref().unwrap_or_else(|| self.live.run().messages());
        request.messages = Vec::with_capacity(history.len() + 2);
        request.messages.extend(instructions);
        request.messages.extend_from_slice(history);
        request.messages.extend(self.live.run().note().map(|note| Arc::new(Message::user(note))));
        request.delivery = self.options.delivery;
        if let Some(choice) = &overrides.tool_choice {
            request.tool_choice = choice.clone();
        }
        if let Some(tools) = &overrides.tools {
            request.tools = tools.definitions();
        }
        if self.step.active.is_some() {
            let shown = request.tools.iter().filter(|tool| self.step.is_active(tool.name()));
            request.tools = shown.cloned().collect();
        }
        // The tools stay in the request: its beginning shall be the same in each step.
        if self.live.run().is_closing_step() && !request.tools.is_empty() {
            request.tool_choice = ToolChoice::None;
        }
        if let Some(settings) = &overrides.settings {
            request.settings = settings.clone();
        }
        request.options.merge(&overrides.options);
        request
    }

    async fn check_stop(&mut self) -> Result<(), Interruption> {
        let view = StepView::new(self.live.run());
        let mut verdicts = self.interrupt.race(guarded(self.options.control.stop_when(&view))).await?;
        for condition in &self.config.stop {
            let asked = guarded(async { condition.ask(&view, &self.options.scope).await });
            verdicts.extend(self.interrupt.race(asked).await?);
        }
        self.live.feed(Input::Verdicts(verdicts));
        Ok(())
    }

    async fn await_approval(
        &mut self,
        co: &LoopCo,
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

    /// Takes a decision, and those that came with it.
    async fn answer(&mut self, co: &LoopCo, pending: Vec<PendingApproval>, decision: (Id, Decision)) {
        let mut pending: HashMap<_, _> =
            pending.into_iter().map(|pending| (pending.call.id, pending.approval_id)).collect();
        let mut next = Some(decision);
        while let Some((call_id, Decision { approved, reason })) = next {
            if let Some(approval_id) = pending.remove(&call_id) {
                self.live.feed(Input::Answer { call_id, approved, reason: reason.clone() });
                let answer = ToolApprovalResponse { approval_id, approved, reason };
                co.give(LoopEvent::Tool(ToolEvent::ApprovalAnswered(answer))).await;
            }
            // Once all are answered the step goes on, and what comes then is about another one.
            next = if pending.is_empty() { None } else { self.decisions.take() };
        }
    }

    /// Hands out the steps that have become complete. Calls that never ran have results too: they are shown
    /// before the step ends.
    async fn hand_out_steps(&mut self, co: &LoopCo) {
        while let Some(record) = self.live.next_complete_step() {
            for tool in &record.tools {
                if self.step.finished.insert(tool.result.tool_call_id.clone()) {
                    self.interrupt.last_word(guarded(self.options.control.on_tool_end(tool))).await;
                    co.give(LoopEvent::Tool(ToolEvent::Finished(Box::new(tool.clone())))).await;
                }
            }
            self.interrupt.last_word(guarded(self.options.control.on_step_end(&record))).await;
            co.give(LoopEvent::StepEnd(record, self.live.run().snapshot())).await;
        }
    }

    /// The consumer has asked for more and only the end is left: the finish is claimed.
    async fn finish(&mut self, co: &LoopCo) {
        if self.interrupt.is_cancelled() {
            self.live.interrupt(Interruption::Cancelled);
            self.hand_out_steps(co).await;
        }
        let end = self.live.claim();
        self.interrupt.last_word(guarded(self.options.control.on_end(&end))).await;
        co.give(LoopEvent::End(Box::new(end))).await;
    }
}

/// The names that are in both lists; all where there is none.
fn both(first: &Option<Vec<String>>, second: &Option<Vec<String>>) -> Option<HashSet<String>> {
    let (first, second) = match (first, second) {
        (None, None) => return None,
        (Some(only), None) | (None, Some(only)) => return Some(only.iter().cloned().collect()),
        (Some(first), Some(second)) => (first, second),
    };
    let first: HashSet<_> = first.iter().collect();
    Some(second.iter().filter(|name| first.contains(name)).cloned().collect())
}

/// What the model reads of a call that failed.
fn told(record: &ToolRecord) -> String {
    match &record.result.output {
        ToolOutput::ErrorText(text) => text.clone(),
        _ => String::new(),
    }
}

/// A hook that panics has said nothing.
async fn guarded<T: Default>(hook: impl Future<Output = T>) -> T {
    AssertUnwindSafe(hook).catch_unwind().await.unwrap_or_else(|panic| {
        tracing::error!(error = %ToolError::panicked(&*panic), "a hook of the run panicked");
        T::default()
    })
}
