//! What a step costs, counted and not timed.

use std::sync::Arc;

use ai_core::{LoopEvent, LoopStream, RunOptions, StopWhen, ToolLoop, ToolSet};
use ai_provider::{
    CallContext, Capabilities, LanguageModel, Message, ModelStream, Request, StreamPart, TargetId,
    UnifiedFinish,
};
use allocation_counter::AllocationInfo;
use futures_util::{StreamExt, stream};

use crate::support::echo;

/// A model that says the same in each step and keeps nothing.
#[derive(Debug)]
struct Steady(TargetId, Capabilities, Vec<StreamPart>);

impl Steady {
    fn new(deltas: usize, calls: bool) -> Self {
        let mut parts = vec![StreamPart::text_start("0")];
        parts.extend((0..deltas).map(|_| StreamPart::text_delta("0", "word ")));
        parts.push(StreamPart::text_end("0"));
        if calls {
            let call = ai_provider::ToolCall::new("call", "echo", r#"{"text":"x"}"#);
            parts.push(StreamPart::ToolCall(Box::new(call)));
        }
        parts.push(StreamPart::Finish(Box::new(ai_provider::Finish {
            reason: if calls { UnifiedFinish::ToolCalls } else { UnifiedFinish::Stop }.into(),
            usage: ai_provider::Usage::default(),
            metadata: None,
        })));
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

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap()
}

/// What the run allocates until an event of this kind.
fn until(
    runtime: &tokio::runtime::Runtime,
    events: &mut LoopStream,
    wanted: impl Fn(&LoopEvent) -> bool,
) -> AllocationInfo {
    allocation_counter::measure(|| {
        runtime.block_on(async {
            while let Some(event) = events.next().await {
                if wanted(&event) {
                    return;
                }
            }
            panic!("the run is over");
        });
    })
}

/// [AC-350]
#[test]
fn the_two_hundredth_step_costs_what_the_fifth_does() {
    let agent = ToolLoop::new(Arc::new(Steady::new(20, true)))
        .with_tools(ToolSet::new().with(echo()).unwrap())
        .with_stop(StopWhen::cost(1e9, |_| 1.0))
        .with_stop(StopWhen::custom("never", |run| run.run().steps().is_empty()))
        .with_step_cap(1_000);
    let runtime = runtime();
    let (_handle, mut events) = agent.start([Message::user("go")], RunOptions::default());
    let mut costs = Vec::new();
    for step in 1..=200u32 {
        costs.push(until(
            &runtime,
            &mut events,
            |event| matches!(event, LoopEvent::StepEnd(record, _) if record.step == step),
        ));
    }
    // The mean of some steps: now and then a table grows.
    let mean =
        |of: fn(&AllocationInfo) -> u64, from: usize| costs[from..from + 8].iter().map(of).sum::<u64>() / 8;
    let (early, late) = (mean(|cost| cost.count_total, 4), mean(|cost| cost.count_total, 190));
    assert!(late * 10 <= early * 12, "{late} allocations in late steps, {early} in early ones");
    // The list of messages in the request is all that grows: a pointer for each.
    let list = 8 * 2 * 200;
    let (early, late) = (mean(|cost| cost.bytes_total, 4), mean(|cost| cost.bytes_total, 190) - list);
    assert!(late * 10 <= early * 12, "{late} bytes in late steps, {early} in early ones");
}

/// [AC-352]
#[test]
fn a_delta_on_its_way_through_the_loop_is_not_copied() {
    let of = |deltas: usize| {
        let agent = ToolLoop::new(Arc::new(Steady::new(deltas, false)));
        let runtime = runtime();
        let (_handle, mut events) = agent.start([Message::user("go")], RunOptions::default());
        until(&runtime, &mut events, |event| matches!(event, LoopEvent::Part(StreamPart::TextStart { .. })));
        until(&runtime, &mut events, |event| matches!(event, LoopEvent::Part(StreamPart::TextEnd { .. })))
    };
    let (few, many) = (of(1_000), of(3_000));
    // The text of the message grows, by doubling.
    assert!(
        many.count_total <= few.count_total + 3,
        "{} for 3,000, {} for 1,000",
        many.count_total,
        few.count_total
    );
    assert!(few.count_total < 20, "{} for 1,000", few.count_total);
}
