//! The examples with their exact waits.

use std::time::{Duration, SystemTime};

use ai_provider::{ErrorClass, Hint, RetryError};
use ai_testkit::Script;
use retry::{Fallback, GaveUp, RetryPolicy};

use crate::support::{Stage, error, fails, fails_with, hinted, ok, policy};

struct Example {
    name: &'static str,
    policy: RetryPolicy,
    keys: &'static [&'static str],
    primary: Vec<Script>,
    fallbacks: Vec<(&'static str, Vec<Script>)>,
    first_key: usize,
    waits: Vec<f64>,
    calls: &'static str,
    answered: bool,
}

fn example(name: &'static str, policy: RetryPolicy, primary: Vec<Script>) -> Example {
    Example {
        name,
        policy,
        keys: &[],
        primary,
        fallbacks: Vec::new(),
        first_key: 0,
        waits: Vec::new(),
        calls: "P",
        answered: false,
    }
}

fn equal(retries: u32) -> RetryPolicy {
    policy(retries).with_factor(1.0)
}

fn examples() -> Vec<Example> {
    let all = || vec![fails(503)];
    let in_30_s = || {
        // A little more than 30 s, since the calendar goes on while the test runs.
        let at = SystemTime::now() + Duration::from_millis(30_900);
        fails_with(error(503).with_hint(Hint::At(at)))
    };
    vec![
        Example { waits: vec![1., 2., 4.], calls: "P P P P", ..example("E1", policy(3), all()) },
        Example { waits: vec![1., 1., 1.], calls: "P P P P", ..example("E2", equal(3), all()) },
        Example {
            waits: vec![1.],
            calls: "P P",
            answered: true,
            ..example("E3", policy(1), vec![fails(429), ok("hi")])
        },
        Example {
            waits: vec![5., 2.],
            calls: "P P P",
            answered: true,
            ..example("E4", policy(2), vec![hinted(503, 5.), fails(503), ok("hi")])
        },
        example("E5", policy(3), vec![hinted(503, 120.)]),
        Example {
            waits: vec![0.25],
            calls: "P P",
            answered: true,
            ..example("E6", policy(2), vec![hinted(429, 0.25), ok("hi")])
        },
        Example {
            waits: vec![1.],
            calls: "P P",
            answered: true,
            ..example("E7", policy(2), vec![hinted(503, 0.), ok("hi")])
        },
        Example {
            waits: vec![30.],
            calls: "P P",
            answered: true,
            ..example("E8", policy(2), vec![in_30_s(), ok("hi")])
        },
        Example {
            waits: vec![1., 2., 4., 8., 16., 32., 60., 60., 60., 60.],
            calls: "P P P P P P P P P P P",
            ..example("E9", policy(10), all())
        },
        Example {
            keys: &["A", "B", "C"],
            first_key: 1,
            waits: vec![0., 0.],
            calls: "B C A",
            answered: true,
            ..example("E10", policy(2), vec![fails(401), fails(429), ok("hi")])
        },
        Example {
            keys: &["A", "B"],
            waits: vec![1., 2., 0.],
            calls: "A A A B",
            answered: true,
            ..example("E11", policy(2), vec![fails(503), fails(503), fails(401), ok("hi")])
        },
        Example {
            keys: &["A", "B"],
            waits: vec![0., 1.],
            calls: "A B B",
            answered: true,
            ..example("E12", equal(2), vec![fails(401), fails(503), ok("hi")])
        },
        Example {
            keys: &["A", "B"],
            waits: vec![0., 1., 0., 2.],
            calls: "A B A B A",
            ..example("E13", policy(3), vec![fails(429)])
        },
        Example {
            fallbacks: vec![("F1", all()), ("F2", all())],
            waits: vec![1., 0., 0.],
            calls: "P P F1 F2",
            ..example("E14", policy(1), all())
        },
        Example {
            fallbacks: vec![("F1", all()), ("F2", all())],
            waits: vec![1., 2., 4., 0., 0.],
            calls: "P P P P F1 F2",
            ..example("E15", policy(3), all())
        },
        Example {
            fallbacks: vec![("F", vec![ok("hi")])],
            waits: vec![0.],
            calls: "P F",
            answered: true,
            ..example("E17", policy(3), vec![fails(400)])
        },
    ]
}

/// [RT-1] [RT-2] [RT-3]
#[tokio::test(start_paused = true)]
async fn the_examples_have_their_waits_and_calls() {
    for example in examples() {
        let stage = Stage::new();
        let primary = stage.keyed("P", example.keys, example.primary);
        let mut policy = example.policy;
        for (name, replies) in example.fallbacks {
            policy = policy.with_fallback(Fallback::to(stage.model(name, replies)));
        }
        let model = policy.wrap(primary).unwrap();
        let ctx = stage.context().with_key_index(example.first_key);
        let outcome = stage.call_with(&*model, crate::support::request(), ctx).await;
        let name = example.name;
        assert_eq!(stage.order(), example.calls, "{name}");
        let waits = stage.waits();
        assert_eq!(waits.len(), example.waits.len(), "{name}: {waits:?}");
        let close =
            |(seen, wanted): (&f64, &f64)| (seen - wanted).abs() < if name == "E8" { 1.0 } else { 0.01 };
        assert!(waits.iter().zip(&example.waits).all(close), "{name}: {waits:?}");
        assert_eq!(outcome.error.is_none(), example.answered, "{name}: {outcome:?}");
        assert_eq!(stage.ends().len(), 1, "{name}");
    }
}

/// [RT-4]
#[tokio::test(start_paused = true)]
async fn e5_a_wait_that_is_too_long_is_not_slept_and_the_error_says_until_when() {
    let stage = Stage::new();
    let model = policy(3).wrap(stage.model("P", [hinted(429, 57_600.)])).unwrap();
    let outcome = stage.call(&*model).await;
    assert_eq!((stage.order().as_str(), stage.waits().len()), ("P", 0));
    let error = outcome.failure();
    assert_eq!((error.class(), error.status()), (ErrorClass::RateLimit, Some(429)));
    let tomorrow = SystemTime::now() + Duration::from_secs(57_600);
    let day = httpdate::fmt_http_date(tomorrow);
    assert!(error.message().contains(&format!("not before {}", &day[..16])), "{error}");
    let retry = RetryError::of(error).unwrap();
    let GaveUp::WaitTooLong { wait } = retry.gave_up() else { panic!("{retry}") };
    assert_eq!(wait.as_secs(), 57_600);

    // Also where nothing would have been tried again anyway.
    for failing in [hinted(429, 57_600.), hinted(503, 57_600.)] {
        let stage = Stage::new();
        let model = policy(0).wrap(stage.model("P", [failing])).unwrap();
        let outcome = stage.call(&*model).await;
        assert!(outcome.failure().message().contains("not before"), "{:?}", outcome.failure());
    }

    // What equals the limit is slept.
    let stage = Stage::new();
    let model = policy(3).wrap(stage.model("P", [hinted(429, 60.), ok("hi")])).unwrap();
    assert_eq!(stage.call(&*model).await.answer(), "hi");
    assert_eq!(stage.waits(), [60.]);
}

/// [RT-5] [RT-20]
#[tokio::test(start_paused = true)]
async fn e16_a_run_of_ten_steps_pays_the_backoff_of_its_primary_once() {
    let stage = Stage::new();
    let fallback = Fallback::to(stage.model("F", [ok("hi")]));
    let model = policy(3).with_fallback(fallback).wrap(stage.model("P", [fails(503)])).unwrap();
    let ctx = stage.context();
    for step in 1..=10 {
        let ctx = ctx.clone().with_step(step).with_request_id(format!("s{step}"));
        assert_eq!(stage.call_with(&*model, crate::support::request(), ctx).await.answer(), "hi");
    }
    assert_eq!(stage.order(), format!("P P P P{}", " F".repeat(10)));
    assert_eq!(stage.waits().iter().sum::<f64>(), 7.0);
}
