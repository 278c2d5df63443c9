//! What a delta costs on its way to a chunk, counted and not timed.

use std::sync::Arc;
use std::time::Duration;

use ai_core::{OnError, RunOptions, ToolLoop};
use ai_provider::{
    CallContext, CancellationToken, Capabilities, Finish, LanguageModel, Message, ModelStream, Request,
    StreamPart, TargetId, UnifiedFinish, Usage,
};
use futures_util::{Stream, StreamExt, stream};

use crate::{Agent, Hooks, Timeouts};

/// A model that says so many words.
#[derive(Debug)]
struct Words(TargetId, Capabilities, usize);

impl LanguageModel for Words {
    fn target(&self) -> &TargetId {
        &self.0
    }

    fn capabilities(&self) -> &Capabilities {
        &self.1
    }

    fn stream(&self, _: Request, _: CallContext) -> ModelStream {
        let words = (0..self.2).map(|_| StreamPart::text_delta("0", "word "));
        let finish = Finish { reason: UnifiedFinish::Stop.into(), usage: Usage::default(), metadata: None };
        let ends = [StreamPart::text_end("0"), StreamPart::Finish(Box::new(finish))];
        Box::pin(stream::iter([StreamPart::text_start("0")].into_iter().chain(words).chain(ends).map(Ok)))
    }
}

fn words(count: usize) -> ToolLoop {
    ToolLoop::new(Arc::new(Words(TargetId::new("p", "m", ""), Capabilities::default(), count)))
}

fn count<S: Stream + Unpin>(make: impl Fn() -> S) -> u64 {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let mut items = runtime.block_on(async { make() });
    let counted =
        allocation_counter::measure(|| runtime.block_on(async { while items.next().await.is_some() {} }));
    counted.count_total
}

/// What ten thousand deltas more allocate.
fn for_deltas<S: Stream + Unpin>(make: impl Fn(usize) -> S) -> u64 {
    count(|| make(12_000)) - count(|| make(2_000))
}

/// [AL-111]
#[test]
fn a_delta_becomes_a_chunk_without_an_allocation() {
    let beneath = for_deltas(|deltas| words(deltas).start([Message::user("Go.")], RunOptions::default()).1);
    let shown = |agent: fn(Agent) -> Agent| {
        for_deltas(move |deltas| {
            agent(Agent::new(words(deltas))).stream([Message::user("Go.")], CancellationToken::new()).chunks()
        })
    };
    // What grows with the answer as a whole does so a few times.
    let most = beneath + 50;
    let bare = shown(|agent| agent);
    assert!(bare <= most, "{bare} above {beneath}");
    let with_all = |agent: Agent| {
        let hour = Duration::from_secs(3600);
        let hooks =
            Hooks::new().on_step_finish(|_| async { Ok(()) }).on_error(|_| async { Ok(OnError::Retry) });
        let limits = Timeouts::new().with_total(hour).with_step(hour).with_between_outputs(hour);
        agent.with_hooks(hooks).with_timeouts(limits).with_usage_metadata(true).with_ledger(|_| {})
    };
    let all = shown(with_all);
    assert!(all <= most, "{all} above {beneath}");
    assert!(beneath >= 10_000, "a delta's own text is counted: {beneath}");
}
