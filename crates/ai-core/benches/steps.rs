//! What the loop adds: to a step, early and late in a run, and to a delta.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic, reason = "a benchmark fails by panicking")]

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ai_core::{Effect, LoopEvent, LoopStream, RunOptions, ToolError, ToolLoop, ToolSet, tool_json};
use ai_provider::{
    CallContext, Capabilities, Finish, LanguageModel, Message, ModelStream, Request, StreamPart, TargetId,
    ToolCall, UnifiedFinish, Usage,
};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use futures_util::{StreamExt, stream};
use serde_json::json;

/// A model that says the same in each step and keeps nothing.
struct Steady(TargetId, Capabilities, Vec<StreamPart>);

impl Steady {
    fn new(deltas: usize, calls: bool) -> Self {
        let mut parts = vec![StreamPart::text_start("0")];
        parts.extend((0..deltas).map(|_| StreamPart::text_delta("0", "word ")));
        parts.push(StreamPart::text_end("0"));
        let mut reason = UnifiedFinish::Stop;
        if calls {
            parts.push(StreamPart::ToolCall(Box::new(ToolCall::new("call", "echo", r#"{"text":"x"}"#))));
            reason = UnifiedFinish::ToolCalls;
        }
        let finish = Finish { reason: reason.into(), usage: Usage::default(), metadata: None };
        parts.push(StreamPart::Finish(Box::new(finish)));
        Self(TargetId::new("steady", "m", "memory"), Capabilities::default(), parts)
    }
}

impl LanguageModel for Steady {
    fn target(&self) -> &TargetId {
        &self.0
    }
    fn capabilities(&self) -> &Capabilities {
        &self.1
    }
    fn stream(&self, request: Request, _: CallContext) -> ModelStream {
        drop(request);
        Box::pin(stream::iter(self.2.clone()).map(Ok))
    }
}

fn started(model: Steady) -> LoopStream {
    let echo = tool_json("echo", "Repeats.", json!({"type": "object"}), |input, _| async move {
        Ok::<_, ToolError>(input)
    })
    .with_effect(Effect::ReadOnly);
    let agent =
        ToolLoop::new(Arc::new(model)).with_tools(ToolSet::new().with(echo).unwrap()).with_step_cap(10_000);
    agent.start([Message::user("go")], RunOptions::default()).1
}

async fn one_step(events: &mut LoopStream) {
    while let Some(event) = events.next().await {
        if matches!(black_box(event), LoopEvent::StepEnd(..)) {
            return;
        }
    }
    panic!("the run is over");
}

/// The time of the steps from this one on, four of them at a time.
fn late(step: u32, times: u64) -> Duration {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let mut took = Duration::ZERO;
    for _ in 0..times {
        let mut events = started(Steady::new(20, true));
        runtime.block_on(async {
            for _ in 1..step {
                one_step(&mut events).await;
            }
            let started = Instant::now();
            for _ in 0..4 {
                one_step(&mut events).await;
            }
            took += started.elapsed() / 4;
        });
    }
    took
}

fn steps(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("step");
    group.sample_size(20);
    for step in [5, 200] {
        group.bench_function(step.to_string(), |bencher| bencher.iter_custom(|times| late(step, times)));
    }
    group.finish();
}

fn deltas(criterion: &mut Criterion) {
    const DELTAS: usize = 20_000;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let mut group = criterion.benchmark_group("delta");
    group.throughput(Throughput::Elements(DELTAS as u64));
    group.bench_function("model", |bencher| {
        bencher.iter(|| {
            let mut parts = Steady::new(DELTAS, false).stream(Request::default(), CallContext::new());
            runtime.block_on(async {
                while let Some(part) = parts.next().await {
                    black_box(part).unwrap();
                }
            });
        });
    });
    group.bench_function("loop", |bencher| {
        bencher.iter(|| {
            let mut events = started(Steady::new(DELTAS, false));
            runtime.block_on(async {
                while let Some(event) = events.next().await {
                    black_box(event);
                }
            });
        });
    });
    group.finish();
}

criterion_group!(benches, steps, deltas);
criterion_main!(benches);
