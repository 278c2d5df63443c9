//! What a delta costs in memory. A binary of its own: the counter takes the place of the allocator.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

use std::sync::Arc;

use ai_core::middleware::{ExtractReasoning, Logging, Next};
use ai_core::middleware::{Middleware, PartTransform, Parts, transform_parts, wrap};
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

/// The allocations of one answer with this many deltas.
fn allocations(deltas: usize, middleware: Vec<Arc<dyn Middleware>>) -> u64 {
    let words = (0..deltas).map(|_| StreamPart::text_delta("0", "word "));
    let script = Script::new().part(StreamPart::text_start("0")).parts(words);
    let script = script.part(StreamPart::text_end("0")).finish(UnifiedFinish::Stop);
    let model: Arc<dyn LanguageModel> = Arc::new(ScriptedModel::new().reply(script));
    let model = wrap(model, middleware);
    let mut stream = model.stream(Request::new([Message::user("go")]), CallContext::new());
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
