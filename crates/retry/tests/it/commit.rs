//! What was shown is never doubled.

use ai_provider::{ErrorClass, RetryError, StreamPart, UnifiedFinish};
use ai_testkit::Script;
use retry::Fallback;
use serde_json::json;

use crate::support::{Stage, error, fails_with, ok, policy};

fn broken(script: Script) -> Script {
    script.error(error(503))
}

/// [RT-30] [RT-31]
#[tokio::test(start_paused = true)]
async fn a_failure_after_content_is_passed_on_and_nothing_more_is_tried() {
    let shown = [
        Script::new().part(StreamPart::text_start("0")).part(StreamPart::text_delta("0", "Here is")),
        Script::new().reasoning("Hm."),
        Script::new().tool_call("c", "clock", "{}"),
    ];
    for script in shown {
        let stage = Stage::new();
        let fallback = Fallback::to(stage.model("F", [ok("no")]));
        let primary = stage.keyed("P", &["1", "2"], [broken(script)]);
        let model = policy(3).with_fallback(fallback).wrap(primary).unwrap();
        let outcome = stage.call(&*model).await;
        assert_eq!(stage.order(), "1");
        assert_eq!(outcome.failure().status(), Some(503));
        assert!(outcome.parts.len() > 1);
        // The loop may retry the step: nothing was tried again yet.
        assert!(RetryError::of(outcome.failure()).is_none());
    }
}

/// [RT-32]
#[tokio::test(start_paused = true)]
async fn what_does_not_bind_is_held_back_and_shown_once() {
    let preamble = || {
        Script::new()
            .part(StreamPart::Raw { raw_value: json!({"first": true}) })
            .part(StreamPart::reasoning_start("r"))
            .part(StreamPart::reasoning_delta("r", ""))
            .part(StreamPart::reasoning_end("r"))
            .part(StreamPart::text_start("0"))
            .part(StreamPart::text_delta("0", ""))
    };
    let stage = Stage::new();
    let good = preamble().part(StreamPart::text_delta("0", "hi")).part(StreamPart::text_end("0"));
    let replies = [broken(preamble()), broken(preamble()), good.finish(UnifiedFinish::Stop)];
    let model = policy(3).wrap(stage.model("P", replies)).unwrap();
    let outcome = stage.call(&*model).await;
    assert_eq!(outcome.answer(), "hi");
    assert_eq!(stage.calls().len(), 3);
    let starts = |wanted: fn(&StreamPart) -> bool| outcome.parts.iter().filter(|part| wanted(part)).count();
    assert_eq!(starts(|part| matches!(part, StreamPart::StreamStart { .. })), 1);
    assert_eq!(starts(|part| matches!(part, StreamPart::TextStart { .. })), 1);
    assert_eq!(starts(|part| matches!(part, StreamPart::Raw { .. })), 1);
}

/// [RT-33]
#[tokio::test(start_paused = true)]
async fn a_preamble_beyond_its_bound_is_shown_and_binds() {
    let frame = |bytes: usize| StreamPart::Raw { raw_value: json!("x".repeat(bytes)) };
    for (bytes, calls) in [(60 * 1024, 2), (70 * 1024, 1)] {
        let stage = Stage::new();
        let replies = [broken(Script::new().part(frame(bytes))), ok("hi")];
        let model = policy(1).wrap(stage.model("P", replies)).unwrap();
        let outcome = stage.call(&*model).await;
        assert_eq!((stage.calls().len(), outcome.error.is_some()), (calls, calls == 1), "{bytes}");
    }
}

/// [RT-34]
#[tokio::test(start_paused = true)]
async fn an_error_inside_an_answer_counts_as_its_status_would() {
    let stage = Stage::new();
    let limited = ai_provider::ModelError::new(ErrorClass::RateLimit, "slow down");
    let in_stream = Script::new().part(StreamPart::text_start("0")).error(limited);
    let model = policy(0).wrap(stage.keyed("P", &["1", "2"], [in_stream, ok("hi")])).unwrap();
    assert_eq!(stage.call(&*model).await.answer(), "hi");
    assert_eq!(stage.order(), "1 2");
}

/// [RT-35]
#[tokio::test(start_paused = true)]
async fn a_stream_that_just_ends_is_incomplete_and_tried_again() {
    let stage = Stage::new();
    let model = policy(1).wrap(stage.model("P", [Script::new().end(), ok("hi")])).unwrap();
    assert_eq!(stage.call(&*model).await.answer(), "hi");
    let stage = Stage::new();
    let model = policy(0).wrap(stage.model("P", [Script::new().end()])).unwrap();
    assert_eq!(stage.call(&*model).await.failure().class(), ErrorClass::Incomplete);
}

/// [RT-36]
#[tokio::test(start_paused = true)]
async fn the_abandoned_call_is_dropped_before_the_next_begins() {
    use futures_util::StreamExt;
    let model = ai_testkit::ScriptedModel::new().reply(Script::new().hang()).reply(ok("hi"));
    let watched = model.clone();
    let wrapped =
        policy(1).with_first_output(crate::support::secs(5)).wrap(std::sync::Arc::new(model)).unwrap();
    let mut stream = wrapped.stream(crate::support::request(), ai_provider::CallContext::new());
    while let Some(part) = stream.next().await {
        part.unwrap();
        assert_eq!((watched.dropped(), watched.requests().len()), (1, 2));
    }
}

/// [RT-37]
#[tokio::test(start_paused = true)]
async fn a_request_a_server_called_invalid_never_goes_there_again() {
    for status in [400, 404, 422] {
        let stage = Stage::new();
        let stubborn = fails_with(error(status).with_retryable(status == 400));
        let model = policy(5).wrap(stage.model("P", [stubborn])).unwrap();
        let outcome = stage.call(&*model).await;
        assert_eq!(stage.order(), "P", "{status}");
        assert!(RetryError::of(outcome.failure()).is_none());
    }
}
