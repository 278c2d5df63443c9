//! What the way through costs when nothing fails.

use ai_provider::{CallContext, LanguageModel, StreamPart};
use allocation_counter::measure;
use futures_util::{FutureExt, StreamExt};
use retry::Fallback;

use crate::support::{Stage, ok, policy, request, secs};

/// [RT-97]
#[tokio::test(start_paused = true)]
async fn a_delta_costs_no_allocation() {
    let long = ok(&"word ".repeat(1000));
    let drain = |model: &dyn LanguageModel| {
        let mut stream = model.stream(request(), CallContext::new());
        let mut deltas = 0;
        // The first deltas are those of the preamble: they are held back, and bind.
        while let Some(part) = stream.next().now_or_never().flatten() {
            deltas += usize::from(matches!(part, Ok(StreamPart::TextDelta { .. })));
            if deltas == 10 {
                break;
            }
        }
        measure(|| while stream.next().now_or_never().flatten().is_some() {})
    };
    let stage = Stage::new();
    let bare = drain(&*stage.model("P", [long.clone()]));
    let wrapped = policy(3)
        .with_budget(secs(600))
        .with_first_output(secs(60))
        .with_fallback(Fallback::to(stage.model("F", [ok("no")])))
        .wrap(stage.model("P", [long]))
        .unwrap();
    let wrapped = drain(&*wrapped);
    assert!(
        wrapped.count_total <= bare.count_total + 20,
        "{} allocations, {} without",
        wrapped.count_total,
        bare.count_total
    );
}
