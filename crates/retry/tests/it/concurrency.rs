//! One wrapped model for many runs at once.

use ai_provider::{LanguageModel, StreamPart};
use futures_util::StreamExt;
use futures_util::future::join_all;
use retry::Fallback;

use crate::support::{Stage, fails, ok, policy, request, secs};

/// [RT-95]
#[tokio::test(start_paused = true)]
async fn a_thousand_runs_at_once_keep_to_their_own_targets() {
    let stage = Stage::new();
    // Every second call meets a server that is down.
    let mut replies = Vec::new();
    for _ in 0..1000 {
        replies.extend([fails(503), ok("primary")]);
    }
    let model = policy(0)
        .with_fallback(Fallback::to(stage.model("F", [ok("fallback")])))
        .wrap(stage.model("P", replies))
        .unwrap();
    let runs = (0..1000).map(async |_| {
        let ctx = stage.context();
        let first = stage.call_with(&*model, request(), ctx.clone()).await.answer();
        tokio::time::sleep(secs(1)).await;
        let before = stage.calls().len();
        // A run that fell back stays there, whatever the others do.
        if first == "fallback" {
            assert_eq!(stage.call_with(&*model, request(), ctx).await.answer(), "fallback");
        }
        (first, before)
    });
    let firsts = join_all(runs).await;
    let fell_back = firsts.iter().filter(|(first, _)| first == "fallback").count();
    assert_eq!(fell_back, 500);
    let primary = stage.calls().iter().filter(|call| call.name == "P").count();
    assert_eq!(primary, 1000, "a run that fell back asks the primary no more");
}

/// [RT-96]
#[tokio::test(start_paused = true)]
async fn an_answer_is_read_as_fast_as_it_is_asked_for_and_no_faster() {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    struct Endless(Arc<AtomicUsize>, ai_provider::TargetId, ai_provider::Capabilities);
    impl LanguageModel for Endless {
        fn target(&self) -> &ai_provider::TargetId {
            &self.1
        }
        fn capabilities(&self) -> &ai_provider::Capabilities {
            &self.2
        }
        fn stream(&self, _: ai_provider::Request, _: ai_provider::CallContext) -> ai_provider::ModelStream {
            let polled = Arc::clone(&self.0);
            Box::pin(futures_util::stream::repeat_with(move || {
                polled.fetch_add(1, Ordering::Relaxed);
                Ok(StreamPart::text_delta("0", "x"))
            }))
        }
    }
    let polled = Arc::new(AtomicUsize::new(0));
    let endless = Endless(Arc::clone(&polled), crate::support::target("E"), crate::support::capable());
    let model = policy(1).wrap(Arc::new(endless)).unwrap();
    let mut stream = model.stream(request(), ai_provider::CallContext::new());
    for taken in 1..=100 {
        stream.next().await.unwrap().unwrap();
        assert_eq!(polled.load(Ordering::Relaxed), taken);
    }
}
