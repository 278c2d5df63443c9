use std::collections::HashMap;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ai_core::run::{StepRecord, ToolRecord, ToolStatus, Verdict};
use ai_core::{
    LoopControl, OnError, RunEnd, StepFailure, StepOverrides, StepView, StopWhen, ToolContext, ToolStream,
};
use ai_provider::{AssistantMessage, AttemptEvent, Id, LanguageModel, RunScope, TargetId, ToolCall};
use async_trait::async_trait;
use futures_util::FutureExt;
use serde_json::Value;

use crate::ending::Ending;
use crate::failure::Failure;
use crate::hooks::{
    Caller, ErrorCause, ErrorContext, PrepareStep, RunFinish, RunStart, StepFinish, ToolEnd, ToolStart,
};
use crate::limits::{Spent, Timeouts};
use crate::step_model::StepModel;
use crate::usage::{Book, Costs, LedgerEntry};
use crate::views::Auditing;

pub(crate) type Ledger = Arc<dyn Fn(LedgerEntry) + Send + Sync>;

/// What takes part in one run: its hooks, limits and books, with the control of the caller's inside.
pub(crate) struct RunControl {
    pub(crate) caller: Caller,
    pub(crate) stops: Vec<StopWhen>,
    pub(crate) limits: Timeouts,
    pub(crate) media: bool,
    pub(crate) ledger: Option<Ledger>,
    pub(crate) costs: Costs,
    pub(crate) resets: bool,
    pub(crate) auditing: Option<Auditing>,
    pub(crate) model: Arc<dyn LanguageModel>,
    pub(crate) scope: RunScope,
    pub(crate) inner: Arc<dyn LoopControl>,
    pub(crate) state: Mutex<State>,
}

/// What the run has come to.
#[derive(Default)]
pub(crate) struct State {
    step: u32,
    target: Option<TargetId>,
    /// Whether the handlers of errors were told of the latest failure, and no step has begun since.
    told: bool,
    running: HashMap<Id, ToolStart>,
    spent: Arc<Spent>,
    book: Arc<Mutex<Book>>,
}

impl RunControl {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn book(&self) -> Arc<Mutex<Book>> {
        Arc::clone(&self.state().book)
    }

    /// The model of a step as this run wants it watched.
    fn watched(&self, step: u32, model: Arc<dyn LanguageModel>) -> Option<Arc<dyn LanguageModel>> {
        let mut state = self.state();
        state.step = step;
        state.told = false;
        state.target = Some(model.target().clone());
        state.spent = Arc::default();
        (self.media || self.ledger.is_some() || self.limits.limits_model()).then(|| {
            Arc::new(StepModel {
                model,
                step,
                media: self.media,
                limits: self.limits.limits_model().then_some(self.limits),
                spent: Arc::clone(&state.spent),
                book: self.ledger.is_some().then(|| Arc::clone(&state.book)),
            }) as _
        })
    }
}

#[async_trait]
impl LoopControl for RunControl {
    async fn on_start(&self) {
        self.caller.start(RunStart { scope: self.scope.clone() }).await;
        self.inner.on_start().await;
    }

    async fn prepare_step(&self, step: &StepView<'_>) -> StepOverrides {
        let mut overrides = quiet(self.inner.prepare_step(step)).await;
        if self.caller.prepares() {
            let messages = overrides.messages.as_ref().or(overrides.history.as_ref());
            let view = PrepareStep {
                step: step.step(),
                messages: messages.cloned().unwrap_or_else(|| step.messages().to_vec()),
                model: Arc::clone(&self.model),
                run: step.snapshot(),
                scope: self.scope.clone(),
            };
            overrides = self.caller.prepare_step(view, overrides).await;
        }
        let model = overrides.model.take().unwrap_or_else(|| Arc::clone(&self.model));
        overrides.model = Some(self.watched(step.step(), Arc::clone(&model)).unwrap_or(model));
        overrides
    }

    async fn on_tool_start(&self, call: &ToolCall, ctx: &ToolContext) {
        let start = ToolStart {
            call: call.clone(),
            messages: Arc::clone(&ctx.messages),
            target: ctx.target.clone(),
            scope: self.scope.clone(),
        };
        self.state().running.insert(call.id.clone(), start.clone());
        self.caller.tool_start(start).await;
        self.inner.on_tool_start(call, ctx).await;
    }

    fn around_tool(&self, call: &ToolCall, run: ToolStream) -> ToolStream {
        let spent = Arc::clone(&self.state().spent);
        self.inner.around_tool(call, self.limits.limit_tool(run, &spent))
    }

    async fn on_tool_end(&self, record: &ToolRecord) {
        let start = self.state().running.remove(&record.result.tool_call_id);
        if let Some(start) = start {
            report(&start, record);
            if self.caller.hears_tools() {
                self.caller.tool_end(ToolEnd { start, record: Arc::new(record.clone()) }).await;
            }
        }
        self.inner.on_tool_end(record).await;
    }

    fn on_attempt(&self, event: &AttemptEvent) {
        if self.ledger.is_some() {
            lock(&self.book()).attempt(event);
        }
        if let Some(auditing) = &self.auditing {
            auditing.attempt(event);
        }
        self.inner.on_attempt(event);
    }

    async fn on_step_end(&self, step: &Arc<StepRecord>) {
        if self.caller.hears_steps() {
            self.caller.step_finish(StepFinish { record: Arc::clone(step), scope: self.scope.clone() }).await;
        }
        self.inner.on_step_end(step).await;
    }

    async fn stop_when(&self, step: &StepView<'_>) -> Vec<Verdict> {
        let mut verdicts = quiet(self.inner.stop_when(step)).await;
        for condition in &self.stops {
            verdicts.extend(quiet(condition.ask(step, &self.scope)).await);
        }
        verdicts
    }

    async fn on_step_error(&self, failure: &StepFailure<'_>) -> OnError {
        let record = failure.error.record();
        if self.ledger.is_some() {
            lock(&self.book()).failed(&record);
        }
        // What was shown is taken back by a chunk that not every client knows.
        let may_retry = failure.may_retry && (self.resets || failure.partial.parts.is_empty());
        let mut heard = OnError::Abort;
        if self.caller.hears_errors() {
            let target = self.state().target.clone();
            let context = ErrorContext {
                step: failure.step,
                cause: ErrorCause::Model(failure.error.clone()),
                failure: Failure::of_model(&record, target),
                partial: failure.partial.clone(),
                may_retry,
                scope: self.scope.clone(),
            };
            heard = self.caller.error(context).await;
        }
        let failure = StepFailure::new(failure.step, failure.error, failure.partial, may_retry);
        if quiet(self.inner.on_step_error(&failure)).await == OnError::Retry {
            heard = OnError::Retry;
        }
        self.state().told = true;
        if may_retry { heard } else { OnError::Abort }
    }

    async fn on_end(&self, end: &RunEnd) {
        if self.caller.hears_ends() {
            let finish = || RunFinish { end: Arc::new(end.clone()), scope: self.scope.clone() };
            match Ending::of(&end.outcome) {
                Ending::Finish => self.caller.finish(finish()).await,
                Ending::Abort => self.caller.abort(finish()).await,
                Ending::Error => {
                    let (told, step, target) = {
                        let state = self.state();
                        (state.told, state.step, state.target.clone())
                    };
                    if let (false, Some(failure)) = (told, Failure::of(end, target)) {
                        let cause = match &end.error {
                            Some(error) => ErrorCause::Model(error.clone()),
                            None => ErrorCause::Ended(end.outcome.clone()),
                        };
                        let context = ErrorContext {
                            step,
                            cause,
                            failure,
                            partial: AssistantMessage::default(),
                            may_retry: false,
                            scope: self.scope.clone(),
                        };
                        self.caller.error(context).await;
                    }
                }
            }
        }
        self.inner.on_end(end).await;
    }

    fn settled(&self, end: &RunEnd) {
        self.caller.settled(end, &self.scope);
        if let Some(auditing) = &self.auditing {
            auditing.settled(end);
        }
        if let Some(ledger) = &self.ledger {
            let entry = lock(&self.book()).close(end, &self.costs);
            if catch_unwind(AssertUnwindSafe(|| ledger(entry))).is_err() {
                tracing::error!("the ledger panicked");
            }
        }
        self.inner.settled(end);
    }
}

/// Somebody else's word; one who panics has said nothing.
async fn quiet<T: Default>(said: impl Future<Output = T>) -> T {
    AssertUnwindSafe(said).catch_unwind().await.unwrap_or_else(|_| {
        tracing::error!("a control of the run panicked");
        T::default()
    })
}

fn lock(book: &Mutex<Book>) -> MutexGuard<'_, Book> {
    book.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Logs a tool that failed, without a word of what it was given or what it said.
fn report(start: &ToolStart, record: &ToolRecord) {
    match record.status {
        ToolStatus::Ok | ToolStatus::Cancelled | ToolStatus::Denied | ToolStatus::Skipped => {}
        _ => tracing::warn!(
            tool = start.call.name,
            call = %start.call.id,
            status = record.status.as_str(),
            duration_ms = record.duration.as_millis(),
            input = shape(&start.input(), SHAPE_DEPTH),
            "a tool failed"
        ),
    }
}

/// Levels of an input that are told apart in a log: enough to see what was wrong, and no book.
const SHAPE_DEPTH: usize = 3;

/// The most fields of a level that are named.
const SHAPE_FIELDS: usize = 16;

/// What a value is made of, without any of its values: `{city: string, days: [number]}`.
fn shape(value: &Value, depth: usize) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(_) => "boolean".to_owned(),
        Value::Number(_) => "number".to_owned(),
        Value::String(_) => "string".to_owned(),
        Value::Array(_) | Value::Object(_) if depth == 0 => "…".to_owned(),
        Value::Array(items) => match items.first() {
            Some(first) => format!("[{}]", shape(first, depth - 1)),
            None => "[]".to_owned(),
        },
        Value::Object(fields) => {
            let named = fields.iter().take(SHAPE_FIELDS).map(|(name, value)| {
                let name: String = name.chars().take(40).collect();
                format!("{name}: {}", shape(value, depth - 1))
            });
            let more = if fields.len() > SHAPE_FIELDS { ", …" } else { "" };
            format!("{{{}{more}}}", named.collect::<Vec<_>>().join(", "))
        }
    }
}
