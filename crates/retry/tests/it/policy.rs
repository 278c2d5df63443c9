//! Setting up.

use std::sync::Arc;

use ai_provider::{CallContext, ErrorClass, LanguageModel, ModelError};
use retry::{Fallback, KeyOrder, RetryPolicy};

use crate::support::{Stage, fails, ok, policy, request, secs};

/// [RT-70]
#[tokio::test]
async fn a_policy_that_cannot_work_names_what_is_wrong() {
    let stage = Stage::new();
    let to = |name: &str| Fallback::to(stage.model(name, [ok("hi")]));
    let lazy = |name: &str| {
        Fallback::lazy(name, || async { Ok::<Option<Arc<dyn LanguageModel>>, ModelError>(None) })
    };
    let new = RetryPolicy::new;
    let ms = std::time::Duration::from_millis;
    let cases: Vec<(RetryPolicy, &str)> = vec![
        (new().with_retries(1001), "retries"),
        (new().with_base_delay(secs(0)), "base_delay"),
        (new().with_factor(0.5), "factor"),
        (new().with_factor(f32::NAN), "factor"),
        (new().with_factor(f32::INFINITY), "factor"),
        (new().with_max_delay(ms(999)), "max_delay"),
        (new().with_budget(secs(30)).with_max_delay(secs(31)), "max_delay"),
        (new().with_budget(ms(800)), "base_delay"),
        (new().with_budget(ms(499)).with_retries(0), "budget"),
        (new().with_first_output(secs(0)), "first_output"),
        (new().with_key_order(KeyOrder::First), "key_order"),
        (new().with_fallback(to("P")), "fallback"),
        (new().with_fallback(to("F")).with_fallback(to("F")), "fallback"),
        (new().with_fallback(lazy("F")).with_fallback(lazy("F")), "fallback"),
        (new().with_fallback(lazy(" ")), "fallback"),
        (new().with_fallback(to("F").with_retries(1001)), "fallback"),
        (new().with_fallback(to("F")).with_fallback_on([]), "fallback_on"),
        (new().with_fallback(to("F")).with_fallback_on([ErrorClass::Cancelled]), "fallback_on"),
    ];
    for (policy, field) in cases {
        let text = format!("{policy:?}");
        let error = policy.wrap(stage.model("P", [ok("hi")])).unwrap_err();
        assert_eq!(error.field(), field, "{text}");
        assert!(error.to_string().contains(field), "{error}");
        assert_eq!(ModelError::from(error).class(), ErrorClass::InvalidRequest);
    }
    // A budget below the default ceiling is no contradiction.
    new().with_budget(secs(5)).wrap(stage.model("P", [ok("hi")])).unwrap();
    new().with_key_order(KeyOrder::First).wrap(stage.keyed("P", &["k"], [ok("hi")])).unwrap();
    new().with_fallback(to("F")).with_fallback(lazy("F")).wrap(stage.model("P", [ok("hi")])).unwrap();
}

/// [RT-71]
#[tokio::test(start_paused = true)]
async fn a_request_can_switch_it_off_or_set_its_retries() {
    let stage = Stage::new();
    let model = policy(2)
        .with_fallback(Fallback::to(stage.model("F", [ok("no")])))
        .wrap(stage.keyed("P", &["k1", "k2"], [fails(401), fails(503)]))
        .unwrap();
    let mut asked = request();
    asked.settings.max_retries = Some(0);
    let outcome = stage.call_with(&*model, asked.clone(), stage.context()).await;
    assert_eq!((outcome.failure().status(), stage.order().as_str()), (Some(401), "k1"));
    assert!(stage.events().is_empty());

    let stage = Stage::new();
    let model = policy(0).wrap(stage.model("P", [fails(503)])).unwrap();
    for (retries, calls) in [(3, 4), (u32::MAX, 4 + 1001)] {
        asked.settings.max_retries = Some(retries);
        stage.call_with(&*model, asked.clone(), stage.context()).await.failure();
        assert_eq!(stage.calls().len(), calls);
    }
}

/// [RT-72]
#[tokio::test(start_paused = true)]
async fn the_wrapped_model_shows_the_primary_and_no_keys() {
    let stage = Stage::new();
    let primary = stage.keyed("P", &["k1", "k2"], [ok("hi")]);
    let model = policy(1).wrapper()(Arc::clone(&primary)).await.unwrap();
    assert_eq!((model.target(), model.capabilities()), (primary.target(), primary.capabilities()));
    assert!(model.keys().is_empty());
    let refused = RetryPolicy::new().with_retries(2000).wrapper()(primary).await.unwrap_err();
    assert!(refused.message().contains("retries"), "{refused}");
    // Nothing happens before it is polled.
    drop(model.stream(request(), CallContext::new()));
    assert!(stage.calls().is_empty());
}

/// [RT-73]
#[tokio::test(start_paused = true)]
async fn jitter_is_a_share_of_each_wait_and_its_seed_repeats_it() {
    let waits = async |seed: Option<u64>, id: &str| {
        let stage = Stage::new();
        let mut policy = RetryPolicy::new().with_retries(6);
        if let Some(seed) = seed {
            policy = policy.with_seed(seed);
        }
        let model = policy.wrap(stage.model("P", [fails(503)])).unwrap();
        stage.call_with(&*model, request(), stage.context().with_request_id(id)).await;
        stage.waits()
    };
    let most = [1., 2., 4., 8., 16., 32.];
    let mut shares = Vec::new();
    for seed in 0..50 {
        let seen = waits(Some(seed), "r").await;
        assert_eq!(seen, waits(Some(seed), "other").await);
        for (wait, most) in seen.iter().zip(most) {
            assert!(*wait > 0. && *wait <= most + 0.002, "{seen:?}");
            shares.push(wait / most);
        }
    }
    let mean = shares.iter().sum::<f64>() / shares.len() as f64;
    assert!((0.4..0.6).contains(&mean), "{mean}");
    assert_ne!(waits(None, "a").await, waits(None, "b").await, "calls do not come back together");
    // What the server asks for is not shortened.
    let stage = Stage::new();
    let model =
        RetryPolicy::new().wrap(stage.model("P", [crate::support::hinted(503, 7.), ok("hi")])).unwrap();
    stage.call(&*model).await.answer();
    assert_eq!(stage.waits(), [7.]);
}
