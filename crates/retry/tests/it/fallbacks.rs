//! Fallbacks that fit.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ai_provider::{
    AttemptKind, Capabilities, ErrorClass, LanguageModel, ModelError, RetryError, UnifiedFinish,
};
use ai_testkit::Script;
use retry::{Fallback, RetryPolicy};

use crate::support::{Stage, capable, error, fails, fails_with, ok, policy, request};

/// A fallback that counts how often it is made.
fn counted(made: &Arc<AtomicUsize>, model: Arc<dyn LanguageModel>) -> Fallback {
    let made = Arc::clone(made);
    Fallback::lazy("lazy", move || {
        made.fetch_add(1, Ordering::Relaxed);
        let model = Arc::clone(&model);
        async move { Ok::<_, ModelError>(Some(model)) }
    })
}

fn skipped(stage: &Stage) -> Vec<(String, String)> {
    let skipped = stage.events().into_iter().filter_map(|event| match event.kind {
        AttemptKind::Skipped { name, why } => Some((name, why)),
        _ => None,
    });
    skipped.collect()
}

/// [RT-21]
#[tokio::test(start_paused = true)]
async fn nothing_is_made_before_it_is_needed_and_once_for_a_run() {
    let (stage, made) = (Stage::new(), Arc::new(AtomicUsize::new(0)));
    let primary = stage.model("P", [ok("first"), fails(503), fails(503)]);
    let fallback = counted(&made, stage.model("F", [ok("second"), fails(503)]));
    let model = policy(0).with_fallback(fallback).wrap(primary).unwrap();
    let ctx = stage.context();
    assert_eq!(stage.call_with(&*model, request(), ctx.clone()).await.answer(), "first");
    assert_eq!(made.load(Ordering::Relaxed), 0);
    assert_eq!(stage.call_with(&*model, request(), ctx.clone()).await.answer(), "second");
    stage.call_with(&*model, request(), ctx).await.failure();
    assert_eq!(made.load(Ordering::Relaxed), 1);
    // Another run knows nothing of it.
    stage.call(&*model).await.failure();
    assert_eq!(made.load(Ordering::Relaxed), 2);
}

/// [RT-22]
#[tokio::test(start_paused = true)]
async fn one_that_is_not_available_is_asked_again_and_one_that_cannot_be_made_hides_nothing() {
    let (stage, asked) = (Stage::new(), Arc::new(AtomicUsize::new(0)));
    let count = Arc::clone(&asked);
    let absent = Fallback::lazy("absent", move || {
        count.fetch_add(1, Ordering::Relaxed);
        async { Ok::<_, ModelError>(None) }
    });
    let broken =
        Fallback::lazy("broken", || async { Err::<Option<Arc<dyn LanguageModel>>, _>("no such disk") });
    let model = policy(0)
        .with_fallback(absent.clone())
        .with_fallback(broken)
        .wrap(stage.model("P", [fails(503)]))
        .unwrap();
    let ctx = stage.context();
    for _ in 0..2 {
        let outcome = stage.call_with(&*model, request(), ctx.clone()).await;
        let error = outcome.failure();
        assert_eq!((error.class(), error.message()), (ErrorClass::Overloaded, "status 503"));
        let retry = RetryError::of(error).unwrap();
        assert_eq!(retry.first().unwrap().status(), Some(503));
        let why: Vec<_> = retry.skipped().iter().map(|skipped| skipped.to_owned()).collect();
        assert_eq!((why.len(), why[0].name.as_str(), why[1].name.as_str()), (2, "absent", "broken"));
        assert!(why[1].why.contains("no such disk"), "{why:?}");
    }
    assert_eq!(asked.load(Ordering::Relaxed), 2);
    assert_eq!((skipped(&stage).len(), stage.ends().len()), (4, 2));

    // If all are just not there, the error is the primary's own.
    let stage = Stage::new();
    let model = policy(0).with_fallback(absent).wrap(stage.model("P", [fails(503)])).unwrap();
    assert!(RetryError::of(stage.call(&*model).await.failure()).is_none());
}

/// [RT-23]
#[tokio::test(start_paused = true)]
async fn fallbacks_are_tried_in_order_each_as_often_as_it_says() {
    let stage = Stage::new();
    let model = policy(1)
        .with_fallback(Fallback::to(stage.model("F1", [fails(400)])).with_retries(3))
        .with_fallback(Fallback::to(stage.model("F2", [fails(503)])).with_retries(2))
        .with_fallback(Fallback::to(stage.model("F3", [ok("hi")])))
        .wrap(stage.model("P", [fails(500)]))
        .unwrap();
    assert_eq!(stage.call(&*model).await.answer(), "hi");
    assert_eq!((stage.order().as_str(), stage.waits()), ("P P F1 F2 F2 F2 F3", vec![1., 0., 0., 1., 2., 0.]));
}

/// [RT-24]
#[tokio::test(start_paused = true)]
async fn which_failures_go_to_a_fallback() {
    let after = async |failure: ModelError, policy: RetryPolicy| {
        let stage = Stage::new();
        let fallback = Fallback::to(stage.model("F", [ok("hi")]));
        let model = policy.with_fallback(fallback).wrap(stage.model("P", [fails_with(failure)])).unwrap();
        stage.call(&*model).await;
        stage.order()
    };
    for class in [
        ErrorClass::Auth,
        ErrorClass::Quota,
        ErrorClass::NotFound,
        ErrorClass::InvalidRequest,
        ErrorClass::Unsupported,
        ErrorClass::Protocol,
        ErrorClass::TooLarge,
        ErrorClass::Transport,
        ErrorClass::Empty,
    ] {
        assert_eq!(after(ModelError::new(class, "no"), policy(0)).await, "P F", "{class}");
    }
    for class in [ErrorClass::ContentRefused, ErrorClass::ContextTooLong, ErrorClass::Cancelled] {
        let error = ModelError::new(class, "no").with_retryable(true);
        assert_eq!(after(error, policy(3)).await, "P", "{class}");
    }
    let named = policy(0).with_fallback_on([ErrorClass::ContentRefused]);
    assert_eq!(after(ModelError::new(ErrorClass::ContentRefused, "no"), named.clone()).await, "P F");
    assert_eq!(after(error(503), named.clone()).await, "P");
    let all = policy(0).with_fallback_on([ErrorClass::Cancelled, ErrorClass::Server]);
    assert_eq!(after(ModelError::cancelled(), all).await, "P");
}

/// [RT-25]
#[tokio::test(start_paused = true)]
async fn a_request_that_is_too_long_goes_to_a_larger_window_alone() {
    let window = |tokens: Option<u64>| {
        let mut capabilities = capable();
        capabilities.context_window = tokens;
        capabilities
    };
    for (primary, fallback, calls) in [
        (Some(1000), Some(2000), "P F"),
        (Some(1000), Some(1000), "P"),
        (Some(1000), None, "P"),
        (None, Some(2000), "P"),
    ] {
        let stage = Stage::new();
        let too_long = fails_with(ModelError::new(ErrorClass::ContextTooLong, "too long"));
        let fallback = stage.with_capabilities("F", &[], window(fallback), [ok("hi")]);
        let model = policy(3)
            .with_fallback(Fallback::to(fallback))
            .wrap(stage.with_capabilities("P", &[], window(primary), [too_long]))
            .unwrap();
        stage.call(&*model).await;
        assert_eq!(stage.order(), calls, "{primary:?}");
    }
}

/// [RT-26]
#[tokio::test(start_paused = true)]
async fn a_target_that_was_tried_is_passed_over_under_any_name() {
    let stage = Stage::new();
    let again = stage.model("P", [ok("hi")]);
    let lazy = Fallback::lazy("other", move || {
        let again = Arc::clone(&again);
        async move { Ok::<_, ModelError>(Some(again)) }
    });
    let model = policy(0).with_fallback(lazy).wrap(stage.model("P", [fails(503)])).unwrap();
    stage.call(&*model).await.failure();
    assert_eq!(stage.order(), "P");
    assert_eq!(skipped(&stage), [("other".to_owned(), "it is a target that was tried already".to_owned())]);
}

/// [RT-27]
#[tokio::test(start_paused = true)]
async fn what_does_not_fit_is_passed_over_with_the_reason() {
    let stage = Stage::new();
    let mut blind = Capabilities::default();
    blind.tools = false;
    let mut asked = request();
    asked.tools = [ai_provider::ToolDefinition::Function(ai_provider::FunctionTool::new(
        "clock",
        "tells the time",
        serde_json::json!({"type": "object"}),
    ))]
    .into();
    let model = policy(0)
        .with_fallback(Fallback::to(stage.with_capabilities("F1", &[], blind, [ok("no")])))
        .with_fallback(Fallback::to(stage.model("F2", [ok("hi")])))
        .wrap(stage.model("P", [fails(503)]))
        .unwrap();
    assert_eq!(stage.call_with(&*model, asked, stage.context()).await.answer(), "hi");
    assert_eq!(stage.order(), "P F2");
    assert_eq!(skipped(&stage), [("test:F1".to_owned(), "it calls no tools".to_owned())]);
}

/// [RT-28]
#[tokio::test(start_paused = true)]
async fn an_answer_without_content_counts_as_the_policy_says() {
    let empty = |finish| Script::new().text("").usage(5, 0).finish(finish);
    let calls = async |script: Script, policy: RetryPolicy| {
        let stage = Stage::new();
        let fallback = Fallback::to(stage.model("F", [ok("hi")]));
        let model = policy.with_fallback(fallback).wrap(stage.model("P", [script])).unwrap();
        stage.call(&*model).await;
        (stage.order(), stage.events())
    };
    let (order, events) = calls(empty(UnifiedFinish::Stop), policy(1)).await;
    assert_eq!(order, "P P F");
    let usage = events.iter().find_map(|event| match &event.kind {
        AttemptKind::Failed { usage, .. } => usage.clone(),
        _ => None,
    });
    assert_eq!(usage.unwrap().input.total, Some(5), "what an abandoned attempt used is told");
    let lenient = policy(1).with_retry_empty(false);
    assert_eq!(calls(empty(UnifiedFinish::Stop), lenient).await.0, "P");
    assert_eq!(calls(empty(UnifiedFinish::Length), policy(1)).await.0, "P");
    assert_eq!(calls(empty(UnifiedFinish::Error), policy(1)).await.0, "P P F");
    assert_eq!(calls(empty(UnifiedFinish::ContentFilter), policy(1)).await.0, "P");
    let refusals = policy(1).with_fallback_on([ErrorClass::ContentRefused]);
    assert_eq!(calls(empty(UnifiedFinish::ContentFilter), refusals).await.0, "P F");
}

/// [RT-29]
#[tokio::test(start_paused = true)]
async fn three_retries_at_two_targets_are_eight_requests() {
    let stage = Stage::new();
    let fallback = Fallback::to(stage.model("F", [fails(500)])).with_retries(3);
    let model = policy(3).with_fallback(fallback).wrap(stage.model("P", [fails(500)])).unwrap();
    let outcome = stage.call(&*model).await;
    assert_eq!(stage.order(), "P P P P F F F F");
    assert_eq!(RetryError::of(outcome.failure()).unwrap().attempts().len(), 8);
}
