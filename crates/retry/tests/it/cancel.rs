//! After a cancel, nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ai_provider::{AttemptEnd, CancellationToken, LanguageModel, ModelError};
use ai_testkit::Script;
use futures_util::StreamExt;
use retry::Fallback;
use tokio::time::Instant;

use crate::support::{Stage, fails, hinted, ok, policy, request, secs};

/// A fallback that must never be made.
fn forbidden(made: &Arc<AtomicBool>) -> Fallback {
    let made = Arc::clone(made);
    Fallback::lazy("forbidden", move || {
        made.store(true, Ordering::Relaxed);
        async { Ok::<Option<Arc<dyn LanguageModel>>, ModelError>(None) }
    })
}

/// [RT-40]
#[tokio::test(start_paused = true)]
async fn a_cancel_ends_a_wait_at_once() {
    let (stage, made) = (Stage::new(), Arc::new(AtomicBool::new(false)));
    let model = policy(3)
        .with_fallback(forbidden(&made))
        .wrap(stage.model("P", [hinted(429, 30.), ok("no")]))
        .unwrap();
    let cancel = CancellationToken::new();
    let (begin, token) = (Instant::now(), cancel.clone());
    let call = stage.call_with(&*model, request(), stage.context().with_cancel(cancel));
    let stop = async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        token.cancel();
    };
    let (outcome, ()) = tokio::join!(call, stop);
    assert!(outcome.failure().is_cancelled());
    assert!(begin.elapsed() < Duration::from_millis(100), "{:?}", begin.elapsed());
    assert_eq!((stage.order().as_str(), made.load(Ordering::Relaxed)), ("P", false));
    assert_eq!(stage.ends(), [AttemptEnd::Cancelled]);
}

/// [RT-40]
#[tokio::test(start_paused = true)]
async fn a_cancelled_call_tries_nothing_wherever_it_is() {
    // Before it begins.
    let (stage, made) = (Stage::new(), Arc::new(AtomicBool::new(false)));
    let model = policy(3).with_fallback(forbidden(&made)).wrap(stage.model("P", [fails(503)])).unwrap();
    let cancel = CancellationToken::new();
    cancel.cancel();
    let outcome = stage.call_with(&*model, request(), stage.context().with_cancel(cancel)).await;
    assert!(outcome.failure().is_cancelled());
    assert_eq!((stage.calls().len(), made.load(Ordering::Relaxed)), (0, false));

    // In an attempt, of a model that does not look at its token, and while a fallback is made.
    for hanging in [true, false] {
        let stage = Stage::new();
        let never = Fallback::lazy(
            "never",
            std::future::pending::<Result<Option<Arc<dyn LanguageModel>>, ModelError>>,
        );
        let primary =
            if hanging { Script::new().hang() } else { Script::new().error(crate::support::error(503)) };
        let model = policy(0).with_fallback(never).wrap(stage.model("P", [primary])).unwrap();
        let cancel = CancellationToken::new();
        let token = cancel.clone();
        let call = stage.call_with(&*model, request(), stage.context().with_cancel(cancel));
        let (outcome, ()) = tokio::join!(call, async {
            tokio::time::sleep(secs(1)).await;
            token.cancel();
        });
        assert!(outcome.failure().is_cancelled());
        assert_eq!((stage.order().as_str(), stage.ends()), ("P", vec![AttemptEnd::Cancelled]));
    }
}

/// [RT-41]
#[tokio::test(start_paused = true)]
async fn a_limit_of_this_layer_is_no_cancel() {
    let stage = Stage::new();
    let fallback = Fallback::to(stage.model("F", [ok("hi")]));
    let primary = stage.model("P", [Script::new().hang()]);
    let model = policy(3).with_first_output(secs(5)).with_fallback(fallback).wrap(primary).unwrap();
    assert_eq!(stage.call(&*model).await.answer(), "hi");
    assert_eq!((stage.order().as_str(), stage.waits()), ("P F", vec![5.]));

    // Without a fallback the same target is asked again, after the wait.
    let stage = Stage::new();
    let primary = stage.model("P", [Script::new().hang(), ok("hi")]);
    let model = policy(3).with_first_output(secs(5)).wrap(primary).unwrap();
    assert_eq!(stage.call(&*model).await.answer(), "hi");
    assert_eq!(stage.waits(), [6.]);
}

/// [RT-42]
#[tokio::test(start_paused = true)]
async fn a_dropped_stream_is_settled_once_and_calls_nothing_more() {
    for polls in 0..6 {
        let stage = Stage::new();
        let model = policy(3).wrap(stage.model("P", [fails(503), ok("one two three")])).unwrap();
        let mut stream = model.stream(request(), stage.context());
        for _ in 0..polls {
            stream.next().await;
        }
        drop(stream);
        let (calls, ends) = (stage.calls().len(), stage.ends());
        tokio::time::advance(secs(100)).await;
        assert_eq!(stage.calls().len(), calls);
        // What never began has no end.
        assert_eq!(ends.len(), usize::from(polls > 0), "{polls}");
        assert!(ends.iter().all(|end| *end == AttemptEnd::Cancelled));
    }
    // In the middle of a wait.
    let stage = Stage::new();
    let model = policy(3).wrap(stage.model("P", [fails(503), ok("hi")])).unwrap();
    let mut stream = model.stream(request(), stage.context());
    assert!(futures_util::FutureExt::now_or_never(stream.next()).is_none());
    drop(stream);
    assert_eq!((stage.calls().len(), stage.ends()), (1, vec![AttemptEnd::Cancelled]));
}
