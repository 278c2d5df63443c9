//! What a delta costs in memory. A binary of its own: the counter takes the place of the allocator.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

use std::sync::Arc;

use ai_core::middleware::{ExtractReasoning, Logging, Next};
use ai_core::middleware::{Middleware, PartTransform, Parts, transform_parts, wrap};
use ai_core::plugin::{Plugin, Plugins};
use ai_core::{Registry, stream_text};
use ai_provider::{
    CallContext, LanguageModel, Message, ModelError, ModelStream, Request, StreamPart, UnifiedFinish,
};
use ai_testkit::{Script, ScriptedModel};
use futures_util::{FutureExt, StreamExt};

/// Takes no part.
struct Nothing;

impl Middleware for Nothing {
    fn name(&self) -> &'static str {
        "nothing"
    }
}

impl Plugin for Nothing {
    fn name(&self) -> &'static str {
        "nothing"
    }
}

/// Hands on each part.
struct Through;

impl PartTransform for Through {
    fn part(&mut self, part: StreamPart, out: &mut Parts) -> Result<(), ModelError> {
        out.push(part);
        Ok(())
    }
}

impl Middleware for Through {
    fn name(&self) -> &'static str {
        "through"
    }

    fn wrap_stream(&self, next: Next, request: Request, ctx: CallContext) -> ModelStream {
        transform_parts(next.stream(request, ctx), Self)
    }
}

/// A model that answers with this many deltas.
fn model(deltas: usize) -> Arc<dyn LanguageModel> {
    let words = (0..deltas).map(|_| StreamPart::text_delta("0", "word "));
    let script = Script::new().part(StreamPart::text_start("0")).parts(words);
    let script = script.part(StreamPart::text_end("0")).finish(UnifiedFinish::Stop);
    Arc::new(ScriptedModel::new().reply(script))
}

/// The allocations of one answer with this many deltas.
fn allocations(deltas: usize, middleware: Vec<Arc<dyn Middleware>>) -> u64 {
    let model = wrap(model(deltas), middleware);
    count(deltas, model.stream(Request::new([Message::user("go")]), CallContext::new()))
}

/// The same through `stream_text`.
fn of_text(deltas: usize, plugins: &Plugins) -> u64 {
    let registry = Registry::new();
    let call =
        stream_text(&registry, model(deltas), Request::new([Message::user("go")])).with_plugins(plugins);
    count(deltas, call.into_future().now_or_never().unwrap().unwrap())
}

fn count(deltas: usize, mut stream: ModelStream) -> u64 {
    // What is made once is made before the count.
    for _ in 0..10 {
        stream.next().now_or_never().unwrap().unwrap().unwrap();
    }
    let mut read = 0;
    let counted = allocation_counter::measure(|| {
        while let Some(item) = stream.next().now_or_never().unwrap() {
            read += usize::from(matches!(item, Ok(StreamPart::TextDelta { .. })));
        }
    });
    assert!(read + 10 > deltas, "{read} deltas");
    counted.count_total
}

/// [AC-208]
#[test]
fn middleware_costs_no_allocation_per_delta() {
    let bare = allocations(1_000, Vec::new());
    assert_eq!(allocations(2_000, Vec::new()), bare, "the model itself");
    type List = fn() -> Vec<Arc<dyn Middleware>>;
    let lists: [List; 4] = [
        || vec![Arc::new(Nothing)],
        || vec![Arc::new(Nothing), Arc::new(Through), Arc::new(Through)],
        || vec![Arc::new(Logging::new())],
        || vec![Arc::new(ExtractReasoning::new("think"))],
    ];
    for list in lists {
        assert_eq!(allocations(1_000, list()), allocations(2_000, list()), "{:?}", list());
    }
}

/// [AC-145]
#[test]
fn plugins_cost_no_allocation_per_delta() {
    assert_eq!(
        of_text(1_000, &Plugins::new()),
        allocations(1_000, Vec::new()),
        "without plugins it is the model's own"
    );
    let idle = Plugins::new().with(Nothing).with(Nothing);
    assert_eq!(of_text(1_000, &idle), of_text(2_000, &idle));
}
