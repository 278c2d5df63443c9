use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use ai_provider::{ToolCall, ToolContent, ToolOutput, ToolResult};
use futures_core::Stream;
use futures_util::{StreamExt, future, stream};
use serde_json::Value;
use tokio::time::{Instant, Sleep};

use super::co::{Co, CoStream};
use super::control::LoopControl;
use super::event::ToolEvent;
use crate::run::{DeliveryUnknown, ToolRecord, ToolStatus};
use crate::tool::{Effect, Tool, ToolContext, ToolError, ToolStream, ToolYield};

/// How tools are run.
#[derive(Clone, Copy, Debug)]
pub(super) struct ToolPolicy {
    pub(super) timeout: Option<Duration>,
    pub(super) concurrency: usize,
    pub(super) output_bytes: usize,
}

/// A call ready to run.
pub(super) struct Job {
    pub(super) call: ToolCall,
    pub(super) tool: Arc<dyn Tool>,
    pub(super) effect: Effect,
    /// The tool's own limit.
    pub(super) timeout: Option<Duration>,
    pub(super) ctx: ToolContext,
}

/// The calls of one step, running side by side in the run's own future. Dropping it drops the tools where they
/// stand.
pub(super) struct Tools {
    waiting: VecDeque<Job>,
    running: Vec<Running>,
    /// Where the next look begins, so that a tool that always has something does not starve the others.
    turn: usize,
    control: Arc<dyn LoopControl>,
    policy: ToolPolicy,
}

struct Running {
    call: ToolCall,
    effect: Effect,
    ctx: ToolContext,
    started: Instant,
    events: CoStream<ToolEvent>,
}

impl Tools {
    pub(super) fn new(jobs: Vec<Job>, control: Arc<dyn LoopControl>, policy: ToolPolicy) -> Self {
        Self { waiting: jobs.into(), running: Vec::new(), turn: 0, control, policy }
    }

    /// The next event of any call; `None` when all are over.
    pub(super) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<ToolEvent>> {
        while self.running.len() < self.policy.concurrency.max(1)
            && let Some(job) = self.waiting.pop_front()
        {
            self.running.push(start(job, Arc::clone(&self.control), self.policy));
        }
        let count = self.running.len();
        for step in 0..count {
            let at = (self.turn + step) % count;
            let Some(running) = self.running.get_mut(at) else { break };
            match Pin::new(&mut running.events).poll_next(cx) {
                Poll::Ready(Some(event)) => {
                    self.turn = at + 1;
                    if matches!(event, ToolEvent::Finished(_)) {
                        self.running.remove(at);
                    }
                    return Poll::Ready(Some(event));
                }
                Poll::Ready(None) => {
                    let Running { call, started, .. } = self.running.remove(at);
                    let output = ToolOutput::ErrorText("the tool ended without a result".to_owned());
                    let record = record(&call, output, ToolStatus::Failed, started.elapsed());
                    return Poll::Ready(Some(ToolEvent::Finished(Box::new(record))));
                }
                Poll::Pending => {}
            }
        }
        if self.running.is_empty() { Poll::Ready(None) } else { Poll::Pending }
    }

    /// What is to be said of the calls that were running when the run was cut.
    pub(super) fn cut(&mut self) -> Vec<ToolRecord> {
        self.waiting.clear();
        let cut = self.running.drain(..).map(|running| {
            let Running { call, effect, ctx, started, .. } = running;
            let text = match effect {
                Effect::SideEffect => format!(
                    "The run was interrupted while `{}` was running. Whether it took effect is unknown: do not \
                     repeat the call blindly.",
                    call.name
                ),
                Effect::ReadOnly | Effect::Idempotent => {
                    format!("The run was interrupted before `{}` gave a result.", call.name)
                }
            };
            let status = match effect {
                Effect::SideEffect => ToolStatus::DeliveryUnknown(unknown(&ctx)),
                Effect::ReadOnly | Effect::Idempotent => ToolStatus::Cancelled,
            };
            record(&call, ToolOutput::ErrorText(text), status, started.elapsed())
        });
        cut.collect()
    }
}

fn start(job: Job, control: Arc<dyn LoopControl>, policy: ToolPolicy) -> Running {
    let (call, effect, ctx) = (job.call.clone(), job.effect, job.ctx.clone());
    let events = CoStream::new(move |co| run(co, job, control, policy));
    Running { call, effect, ctx, started: Instant::now(), events }
}

async fn run(co: Co<ToolEvent>, job: Job, control: Arc<dyn LoopControl>, policy: ToolPolicy) {
    let Job { call, tool, effect, timeout, ctx } = job;
    co.give(ToolEvent::Started(call.clone())).await;
    let elapsed = Arc::new(Mutex::new(Duration::ZERO));
    let limit = timeout.or(policy.timeout);
    let inner = timed(guarded(tool, &call, ctx.clone(), limit), Arc::clone(&elapsed));
    // A panic of a hook around the tool stays in this call as well, whether it wraps or runs.
    let wrapped = catch_unwind(AssertUnwindSafe(|| control.around_tool(&call, inner)))
        .unwrap_or_else(|panic| failing(ToolError::panicked(&*panic)));
    let mut wrapped = pin!(AssertUnwindSafe(wrapped).catch_unwind());
    let last = loop {
        match wrapped.next().await {
            Some(Ok(ToolYield::Preliminary(output))) => {
                let mut result = ToolResult::new(call.id.clone(), &*call.name, output);
                result.preliminary = true;
                co.give(ToolEvent::Preliminary(result)).await;
            }
            Some(Ok(ToolYield::Final(result))) => break result,
            Some(Err(panic)) => break Err(ToolError::panicked(&*panic)),
            None => break Err(ToolError::new("the tool ended without a result")),
        }
    };
    let duration = *elapsed.lock().unwrap_or_else(PoisonError::into_inner);
    let record = conclude(&call, effect, &ctx, last, duration, policy.output_bytes);
    co.give(ToolEvent::Finished(Box::new(record))).await;
}

/// The tool's own stream: lazy, its panics caught, its time bounded.
fn guarded(tool: Arc<dyn Tool>, call: &ToolCall, ctx: ToolContext, limit: Option<Duration>) -> ToolStream {
    let input = call.input_json();
    let execute = stream::once(async move {
        match input {
            Ok(input) => tool.execute(input, ctx),
            Err(error) => failing(ToolError::invalid_input(format!("the input is not JSON: {error}"))),
        }
    });
    let mut yields = Box::pin(AssertUnwindSafe(execute.flatten()).catch_unwind());
    Box::pin(CoStream::new(move |co| async move {
        let mut clock = Clock::start(limit);
        loop {
            let next = future::poll_fn(|cx| match clock.poll(cx) {
                Poll::Ready(late) => Poll::Ready(Err(late)),
                Poll::Pending => yields.poll_next_unpin(cx).map(Ok),
            })
            .await;
            let item = match next {
                Ok(Some(Ok(item))) => item,
                Ok(Some(Err(panic))) => ToolYield::Final(Err(ToolError::panicked(&*panic))),
                Ok(None) => return,
                Err(late) => ToolYield::Final(Err(late)),
            };
            let last = matches!(item, ToolYield::Final(_));
            co.give(item).await;
            if last {
                return;
            }
        }
    }))
}

/// A tool that has failed.
fn failing(error: ToolError) -> ToolStream {
    Box::pin(stream::once(future::ready(ToolYield::Final(Err(error)))))
}

/// The time a tool has.
struct Clock(Option<(Duration, Pin<Box<Sleep>>)>);

impl Clock {
    fn start(limit: Option<Duration>) -> Self {
        Self(limit.map(|limit| (limit, Box::pin(tokio::time::sleep(limit)))))
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<ToolError> {
        let Some((limit, sleep)) = &mut self.0 else { return Poll::Pending };
        // The time is read as well: while a tool always has something, nobody lets the timer ring.
        if sleep.as_mut().poll(cx).is_ready() || Instant::now() >= sleep.deadline() {
            return Poll::Ready(ToolError::timed_out(*limit));
        }
        Poll::Pending
    }
}

/// Measures from the first poll of the tool to its last item, so that hooks around it do not count.
fn timed(mut stream: ToolStream, elapsed: Arc<Mutex<Duration>>) -> ToolStream {
    let mut started = None;
    Box::pin(stream::poll_fn(move |cx| {
        let started = *started.get_or_insert_with(Instant::now);
        let item = stream.poll_next_unpin(cx);
        if matches!(item, Poll::Ready(Some(ToolYield::Final(_)) | None)) {
            *elapsed.lock().unwrap_or_else(PoisonError::into_inner) = started.elapsed();
        }
        item
    }))
}

fn conclude(
    call: &ToolCall,
    effect: Effect,
    ctx: &ToolContext,
    result: Result<ToolOutput, ToolError>,
    duration: Duration,
    limit: usize,
) -> ToolRecord {
    let error = match result {
        Ok(output) if depth(&output) > MAX_DEPTH => {
            let text = format!("The result of `{}` is nested more than {MAX_DEPTH} levels deep.", call.name);
            return record(call, ToolOutput::ErrorText(text), ToolStatus::Failed, duration);
        }
        Ok(output) if size(&output) > limit => {
            let text =
                format!("The result of `{}` is too large: more than {limit} bytes. Ask for less.", call.name);
            return record(call, ToolOutput::ErrorText(text), ToolStatus::Failed, duration);
        }
        Ok(output) => {
            let status = if output.is_error() { ToolStatus::Failed } else { ToolStatus::Ok };
            return record(call, output, status, duration);
        }
        Err(error) => error,
    };
    let (text, status) = match &error {
        late if late.is_timeout() && effect == Effect::SideEffect => (
            format!("{late}. Whether it took effect is unknown: do not repeat the call blindly."),
            ToolStatus::DeliveryUnknown(unknown(ctx)),
        ),
        late if late.is_timeout() => (late.to_string(), ToolStatus::TimedOut),
        panic if panic.is_panic() => (panic.to_string(), ToolStatus::Panicked),
        invalid if invalid.is_invalid_input() => (invalid.to_string(), ToolStatus::InvalidInput),
        failed => (failed.to_string(), ToolStatus::Failed),
    };
    let terminal = error.terminal_failure().map(|failure| failure.record().clone());
    ToolRecord { terminal, ..record(call, ToolOutput::ErrorText(text), status, duration) }
}

fn record(call: &ToolCall, output: ToolOutput, status: ToolStatus, duration: Duration) -> ToolRecord {
    let result = ToolResult::new(call.id.clone(), &*call.name, output);
    ToolRecord { duration, ..ToolRecord::not_run(result, status) }
}

fn unknown(ctx: &ToolContext) -> DeliveryUnknown {
    DeliveryUnknown {
        tool: ctx.tool_name.clone(),
        call_id: ctx.call_id.clone(),
        target: ctx.target.clone(),
        request_id: ctx.request_id.clone(),
        known_effects: ctx.known_effects(),
    }
}

/// The most levels a tool's JSON may have: a stored message wraps it in a few more, and readers of JSON stop at
/// 128.
const MAX_DEPTH: usize = 100;

fn depth(output: &ToolOutput) -> usize {
    match output {
        ToolOutput::Json(value) | ToolOutput::ErrorJson(value) => levels(value),
        _ => 0,
    }
}

/// How deep a value is nested. A loop with its own stack: the value may be deeper than this thread's.
fn levels(value: &Value) -> usize {
    let mut deepest = 0;
    let mut waiting = vec![(value, 0)];
    while let Some((value, level)) = waiting.pop() {
        deepest = deepest.max(level);
        match value {
            Value::Array(items) => waiting.extend(items.iter().map(|item| (item, level + 1))),
            Value::Object(fields) => waiting.extend(fields.values().map(|field| (field, level + 1))),
            _ => {}
        }
    }
    deepest
}

/// Bytes of an output, near enough for a limit.
fn size(output: &ToolOutput) -> usize {
    match output {
        ToolOutput::Text(text) | ToolOutput::ErrorText(text) => text.len(),
        ToolOutput::Json(value) | ToolOutput::ErrorJson(value) => value.to_string().len(),
        ToolOutput::Content(items) => items.iter().map(content_size).sum(),
        _ => 0,
    }
}

fn content_size(item: &ToolContent) -> usize {
    match item {
        ToolContent::Text(part) => part.text.len(),
        ToolContent::File(file) => match &file.data {
            ai_provider::FileData::Bytes { data } => data.len(),
            ai_provider::FileData::Text { text } => text.len(),
            _ => 0,
        },
        _ => 0,
    }
}
