use std::collections::{BTreeMap, HashMap, VecDeque};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use ai_provider::{ToolCall, ToolOutput};
use futures_core::Stream;
use futures_util::StreamExt;
use futures_util::stream::SelectAll;
use tokio::time::Instant;
use tracing::Span;

use super::co::CoStream;
use super::control::LoopControl;
use super::event::ToolEvent;
use super::tool_run;
use crate::panic::drop_quietly;
use crate::run::{ToolRecord, ToolStatus};
use crate::spans::Traced;
use crate::tool::{Concurrency, Effect, Tool, ToolContext};

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
    pub(super) concurrency: Concurrency,
    /// Whether the tool itself is to be asked for consent.
    pub(super) approval: bool,
    pub(super) ctx: ToolContext,
}

/// The calls of one step, running side by side in the run's own future. Dropping it drops the tools where they
/// stand. Starting, waking and ending one costs the same however many there are.
pub(super) struct Tools {
    waiting: VecDeque<Job>,
    /// Calls that wait for others of the same tool, and those whose turn has come.
    held: HashMap<String, VecDeque<Job>>,
    released: VecDeque<Job>,
    /// How many calls of a tool run or are released.
    busy: HashMap<String, usize>,
    /// Whether a call runs that runs alone.
    alone: bool,
    events: SelectAll<Running>,
    /// What is known of the calls that run, in the order in which they started.
    running: BTreeMap<usize, Begun>,
    started: usize,
    control: Arc<dyn LoopControl>,
    policy: ToolPolicy,
    traced: Traced,
}

struct Begun {
    call: ToolCall,
    effect: Effect,
    ctx: ToolContext,
    at: Instant,
    span: Span,
}

/// The events of a call, under its number.
struct Running {
    number: usize,
    span: Span,
    events: CoStream<ToolEvent>,
}

impl Stream for Running {
    type Item = (usize, ToolEvent);

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        let _entered = this.span.enter();
        this.events.poll_next_unpin(cx).map(|event| event.map(|event| (this.number, event)))
    }
}

impl Tools {
    pub(super) fn new(
        jobs: Vec<Job>,
        control: Arc<dyn LoopControl>,
        policy: ToolPolicy,
        traced: Traced,
    ) -> Self {
        Self {
            waiting: jobs.into(),
            held: HashMap::new(),
            released: VecDeque::new(),
            busy: HashMap::new(),
            alone: false,
            events: SelectAll::new(),
            running: BTreeMap::new(),
            started: 0,
            control,
            policy,
            traced,
        }
    }

    /// The next event of any call; `None` when all are over.
    pub(super) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<ToolEvent>> {
        self.fill();
        match self.events.poll_next_unpin(cx) {
            Poll::Ready(Some((number, event))) => {
                if let ToolEvent::Finished(record) = &event {
                    self.ended(number, record);
                }
                Poll::Ready(Some(event))
            }
            Poll::Ready(None) => Poll::Ready(self.mute()),
            Poll::Pending => Poll::Pending,
        }
    }

    /// What is to be said of a call whose events are over without a last one.
    fn mute(&mut self) -> Option<ToolEvent> {
        let (&number, begun) = self.running.first_key_value()?;
        let output = ToolOutput::ErrorText("the tool ended without a result".to_owned());
        let took = begun.at.elapsed();
        let record = tool_run::record(&begun.call, &begun.ctx, output, ToolStatus::Failed, took);
        self.ended(number, &record);
        Some(ToolEvent::Finished(Box::new(record)))
    }

    /// Starts what may start.
    fn fill(&mut self) {
        while self.running.len() < self.policy.concurrency.max(1) && !self.alone {
            if let Some(job) = self.released.pop_front() {
                self.start(job);
                continue;
            }
            let Some(job) = self.waiting.pop_front() else { return };
            let name = job.call.name.as_str();
            match job.concurrency {
                Concurrency::Alone if !self.running.is_empty() || !self.held.is_empty() => {
                    return self.waiting.push_front(job);
                }
                Concurrency::Alone => self.alone = true,
                Concurrency::Limit(most) if self.busy.get(name).is_some_and(|busy| *busy >= most.max(1)) => {
                    self.held.entry(name.to_owned()).or_default().push_back(job);
                    continue;
                }
                Concurrency::Limit(_) => *self.busy.entry(name.to_owned()).or_default() += 1,
                Concurrency::Any => {}
            }
            self.start(job);
        }
    }

    fn start(&mut self, job: Job) {
        let number = self.started;
        self.started += 1;
        let span = self.traced.tool(&job.call);
        let (call, effect, ctx) = (job.call.clone(), job.effect, job.ctx.clone());
        self.running.insert(number, Begun { call, effect, ctx, at: Instant::now(), span: span.clone() });
        let (control, policy) = (Arc::clone(&self.control), self.policy);
        let events = CoStream::new(move |co| tool_run::run(co, job, control, policy));
        self.events.push(Running { number, span, events });
    }

    fn ended(&mut self, number: usize, record: &ToolRecord) {
        let Some(begun) = self.running.remove(&number) else { return };
        self.traced.tool_ended(&begun.span, record);
        self.alone = false;
        let name = begun.call.name.as_str();
        let Some(busy) = self.busy.get_mut(name) else { return };
        let Some(held) = self.held.get_mut(name) else {
            *busy = busy.saturating_sub(1);
            return;
        };
        // The place goes to the next of the same tool.
        self.released.extend(held.pop_front());
        if held.is_empty() {
            self.held.remove(name);
        }
    }

    /// What is to be said of the calls that were running when the run was cut.
    pub(super) fn cut(&mut self) -> Vec<ToolRecord> {
        self.waiting.clear();
        self.held.clear();
        self.released.clear();
        for running in std::mem::take(&mut self.events) {
            drop_quietly(running);
        }
        let running = std::mem::take(&mut self.running).into_values();
        let cut = running.map(|Begun { call, effect, ctx, at, span }| {
            let record = tool_run::cut(&call, effect, &ctx, at.elapsed());
            self.traced.tool_ended(&span, &record);
            record
        });
        cut.collect()
    }
}
