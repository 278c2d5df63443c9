use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use ai_provider::{ToolCall, ToolOutput, ToolResult};
use futures_util::{FutureExt, StreamExt, future, stream};
use tokio::time::{Instant, Sleep};

use super::co::{Co, CoStream};
use super::control::LoopControl;
use super::event::ToolEvent;
use super::output::{self, Problem};
use super::tools::{Job, ToolPolicy};
use crate::panic::drop_quietly;
use crate::run::{DeliveryUnknown, ToolRecord, ToolStatus, brief};
use crate::tool::{Effect, Tool, ToolContext, ToolError, ToolStream, ToolYield};

/// Characters of an error that the model gets to read; an error may carry whatever a tool met.
const ERROR_LENGTH: usize = 16 << 10;

/// Runs one call.
pub(super) async fn run(co: Co<ToolEvent>, job: Job, control: Arc<dyn LoopControl>, policy: ToolPolicy) {
    let Job { call, tool, effect, timeout, ctx, .. } = job;
    co.give(ToolEvent::Started(call.clone())).await;
    hear(control.on_tool_start(&call, &ctx)).await;
    let watch = Arc::new(Mutex::new(Stopwatch::default()));
    let limit = timeout.or(policy.timeout);
    let inner = timed(guarded(tool, &call, ctx.clone(), limit), Arc::clone(&watch));
    // A panic of a hook around the tool stays in this call as well, whether it wraps or runs.
    let wrapped = catch_unwind(AssertUnwindSafe(|| control.around_tool(&call, inner)))
        .unwrap_or_else(|panic| failing(ToolError::panicked(&*panic)));
    let mut wrapped = AssertUnwindSafe(wrapped).catch_unwind();
    let last = loop {
        match wrapped.next().await {
            // What is too large to be a result is too large to be shown.
            Some(Ok(ToolYield::Preliminary(output)))
                if output::check(&output, policy.output_bytes).is_err() => {}
            Some(Ok(ToolYield::Preliminary(output))) => {
                let mut result = ToolResult::new(call.id.clone(), &*call.name, output);
                result.preliminary = true;
                result.dynamic = call.dynamic;
                co.give(ToolEvent::Preliminary(result)).await;
            }
            Some(Ok(ToolYield::Final(result))) => break result,
            Some(Err(panic)) => break Err(ToolError::panicked(&*panic)),
            None => break Err(ToolError::new("the tool ended without a result")),
        }
    };
    let duration = read(&watch).elapsed();
    // What the tool held ends before its result is told: the history among it, which is about to grow.
    drop_quietly(wrapped);
    let record = conclude(&call, effect, &ctx, last, duration, policy.output_bytes);
    drop(ctx);
    hear(control.on_tool_end(&record)).await;
    co.give(ToolEvent::Finished(Box::new(record))).await;
}

/// A panic of a hook beside a tool is no failure of the tool.
async fn hear(hook: impl Future<Output = ()>) {
    if let Err(panic) = AssertUnwindSafe(hook).catch_unwind().await {
        tracing::error!(error = %ToolError::panicked(&*panic), "a hook beside a tool panicked");
    }
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
    Box::pin(CoStream::new(move |co: Co<_>| async move {
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
fn timed(mut stream: ToolStream, watch: Arc<Mutex<Stopwatch>>) -> ToolStream {
    Box::pin(stream::poll_fn(move |cx| {
        read(&watch).started.get_or_insert_with(Instant::now);
        let item = stream.poll_next_unpin(cx);
        if matches!(item, Poll::Ready(Some(ToolYield::Final(_)) | None)) {
            read(&watch).stop();
        }
        item
    }))
}

fn read(watch: &Mutex<Stopwatch>) -> MutexGuard<'_, Stopwatch> {
    watch.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How long a tool took, up to now if something around it cut it short.
#[derive(Default)]
struct Stopwatch {
    started: Option<Instant>,
    took: Option<Duration>,
}

impl Stopwatch {
    fn stop(&mut self) {
        self.took = Some(self.elapsed());
    }

    fn elapsed(&self) -> Duration {
        self.took.or_else(|| Some(self.started?.elapsed())).unwrap_or_default()
    }
}

fn conclude(
    call: &ToolCall,
    effect: Effect,
    ctx: &ToolContext,
    result: Result<ToolOutput, ToolError>,
    duration: Duration,
    limit: usize,
) -> ToolRecord {
    let (output, status, terminal) = match result.map(|output| (output::check(&output, limit), output)) {
        Ok((Ok(()), output)) => {
            let status = if output.is_error() { ToolStatus::Failed } else { ToolStatus::Ok };
            (output, status, None)
        }
        Ok((Err(problem), _)) => {
            let status = match problem {
                Problem::TooLarge => ToolStatus::TooLarge { limit },
                Problem::TooDeep => ToolStatus::Failed,
            };
            (ToolOutput::ErrorText(problem.tell(&call.name, limit)), status, None)
        }
        Err(error) => {
            let text = brief(&error.to_string(), ERROR_LENGTH);
            let (text, status) = match &error {
                late if late.is_timeout() && effect == Effect::SideEffect => (
                    format!("{text}. Whether it took effect is unknown: do not repeat the call blindly."),
                    ToolStatus::DeliveryUnknown(unknown(ctx, true)),
                ),
                late if late.is_timeout() => (text, ToolStatus::TimedOut),
                panic if panic.is_panic() => (text, ToolStatus::Panicked),
                invalid if invalid.is_invalid_input() => (text, ToolStatus::InvalidInput),
                _ => (text, ToolStatus::Failed),
            };
            let terminal = error.terminal_failure().map(|failure| failure.record().clone());
            (ToolOutput::ErrorText(text), status, terminal)
        }
    };
    ToolRecord { terminal, ..record(call, ctx, output, status, duration) }
}

/// What is to be said of a call that was running when the run was cut.
pub(super) fn cut(call: &ToolCall, effect: Effect, ctx: &ToolContext, duration: Duration) -> ToolRecord {
    let (text, status) = match effect {
        Effect::SideEffect => (
            format!(
                "The run was interrupted while `{}` was running. Whether it took effect is unknown: do not repeat \
                 the call blindly.",
                call.name
            ),
            ToolStatus::DeliveryUnknown(unknown(ctx, false)),
        ),
        Effect::ReadOnly | Effect::Idempotent => {
            (format!("The run was interrupted before `{}` gave a result.", call.name), ToolStatus::Cancelled)
        }
    };
    record(call, ctx, ToolOutput::ErrorText(text), status, duration)
}

pub(super) fn record(
    call: &ToolCall,
    ctx: &ToolContext,
    output: ToolOutput,
    status: ToolStatus,
    duration: Duration,
) -> ToolRecord {
    let mut result = ToolResult::new(call.id.clone(), &*call.name, output);
    result.dynamic = call.dynamic;
    ToolRecord { duration, usage: ctx.usage(), ..ToolRecord::not_run(result, status) }
}

fn unknown(ctx: &ToolContext, timed_out: bool) -> DeliveryUnknown {
    DeliveryUnknown {
        tool: ctx.tool_name.clone(),
        call_id: ctx.call_id.clone(),
        target: ctx.target.clone(),
        request_id: ctx.request_id.clone(),
        known_effects: ctx.known_effects(),
        timed_out,
    }
}
