//! What can be read of a call from its events alone.

use std::sync::Arc;

use ai_provider::{AttemptKind, DelaySource, KeyLabel, UnifiedFinish};
use ai_testkit::Script;
use retry::{Fallback, Timeline};

use crate::support::{Stage, fails, hinted, ok, policy, request};

fn timeline(stage: &Stage) -> String {
    let mut timeline = Timeline::new();
    stage.events().iter().for_each(|event| timeline.push(event));
    timeline.to_string()
}

/// [RT-60] [RT-61]
#[tokio::test(start_paused = true)]
async fn a_step_reads_as_one_line() {
    let stage = Stage::new();
    let answer = Script::tool_reply("c", "clock", "{}");
    let model = policy(3).wrap(stage.model("P", [hinted(429, 2.), answer])).unwrap();
    let ctx = stage.context().with_step(2);
    stage.call_with(&*model, request(), ctx).await;
    assert_eq!(
        timeline(&stage),
        "step 2 attempt 1 started · 429, hint 2 s, safe · waiting 2 s · attempt 2 started · finished tool-calls"
    );
}

/// [RT-61]
#[tokio::test(start_paused = true)]
async fn keys_targets_and_ends_stand_in_it() {
    let stage = Stage::new();
    let dead = Fallback::lazy("dead", || async {
        Ok::<Option<Arc<dyn ai_provider::LanguageModel>>, ai_provider::ModelError>(None)
    });
    let model = policy(1)
        .with_fallback(dead)
        .with_fallback(Fallback::to(
            stage.model("F", [Script::new().text("Hi").error(crate::support::error(500))]),
        ))
        .wrap(stage.keyed("P", &["k1", "k2"], [fails(401), hinted(503, 0.25), fails(503)]))
        .unwrap();
    stage.call(&*model).await;
    let lines = timeline(&stage);
    assert_eq!(
        lines,
        "attempt 1 started · 401, safe · key k2 · attempt 2 started · 503, hint 0.25 s, safe · waiting 0.25 s · \
         attempt 3 started · 503, safe · dead passed over: it is not available · fell back to test:F · \
         attempt 4 started · 500, after output · given up"
    );
}

/// [RT-62] [RT-63]
#[tokio::test(start_paused = true)]
async fn events_come_in_order_and_before_the_wait_they_tell_of() {
    let stage = Stage::new();
    let model = policy(2)
        .with_budget(crate::support::secs(60))
        .wrap(stage.keyed("P", &["k1", "k2"], [fails(401), fails(503), ok("hi")]))
        .unwrap();
    let ctx = stage.context().with_step(7);
    let call = stage.call_with(&*model, request(), ctx);
    tokio::pin!(call);
    // As far as it comes without the clock: the wait is told, and not over.
    assert!(futures_util::FutureExt::now_or_never(&mut call).is_none());
    let told = stage.events();
    let AttemptKind::Waiting { delay, source, remaining, .. } = told.last().unwrap().kind else {
        panic!("{told:?}")
    };
    assert_eq!((delay, source), (crate::support::secs(1), DelaySource::Backoff));
    assert_eq!(remaining, Some(crate::support::secs(60)));
    call.await.answer();
    let events = stage.events();
    let short: Vec<_> = events
        .iter()
        .map(|event| {
            assert_eq!(event.step, Some(7));
            assert_eq!(event.target, crate::support::target("P"));
            let kind = match &event.kind {
                AttemptKind::Started => "started",
                AttemptKind::Failed { safe: true, .. } => "failed",
                AttemptKind::Rotated { .. } => "rotated",
                AttemptKind::Waiting { .. } => "waiting",
                AttemptKind::Settled { .. } => "settled",
                other => panic!("{other:?}"),
            };
            (kind, event.attempt, event.key.as_ref().map(KeyLabel::as_str))
        })
        .collect();
    assert_eq!(
        short,
        [
            ("started", 1, Some("k1")),
            ("failed", 1, Some("k1")),
            ("rotated", 2, Some("k2")),
            ("started", 2, Some("k2")),
            ("failed", 2, Some("k2")),
            ("waiting", 3, Some("k2")),
            ("started", 3, Some("k2")),
            ("settled", 3, Some("k2")),
        ]
    );
}

/// [RT-64]
#[tokio::test(start_paused = true)]
async fn a_call_that_just_works_is_told_of_too() {
    let stage = Stage::new();
    let model = policy(2).wrap(stage.model("P", [ok("hi")])).unwrap();
    stage.call(&*model).await.answer();
    let kinds: Vec<_> = stage.events().into_iter().map(|event| event.kind).collect();
    let end = ai_provider::AttemptEnd::Answered { finish: UnifiedFinish::Stop };
    assert_eq!(kinds, [AttemptKind::Started, AttemptKind::Settled { end }]);
}
