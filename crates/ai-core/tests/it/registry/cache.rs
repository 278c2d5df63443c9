use std::sync::Arc;
use std::time::Duration;

use ai_provider::CancellationToken;
use futures_util::FutureExt;
use futures_util::future::join_all;
use serde_json::{Value, json};

use super::acme::{AcmeSettings, Log, acme, slow};

/// [AC-120]
#[tokio::test]
async fn equal_settings_give_one_provider() {
    let log = Log::default();
    let extension = acme(&log).defaults(json!({"timeout": 3, "headers": {"h": "1"}})).unwrap();
    let equal: [&[Value]; 3] = [
        &[
            json!({}),
            Value::Null,
            json!({"timeout": 3}),
            json!({"headers": {"h": "1"}}),
            json!({"apiKey": null}),
        ],
        &[
            json!({"apiKey": "k", "headers": {"a": "1", "b": "2"}}),
            json!({"headers": {"b": "2", "a": "1"}, "apiKey": "k"}),
            json!({"headers": {"b": "2", "h": "1", "a": "1"}, "apiKey": "k", "timeout": 3}),
        ],
        &[json!({"models": ["a", "b"]}), json!({"models": ["a", "b"]})],
    ];
    for settings in equal {
        let made = log.made().len();
        let first = extension.create(settings[0].clone(), None).await.unwrap();
        for settings in settings {
            let again = extension.create(settings.clone(), None).await.unwrap();
            assert!(Arc::ptr_eq(&first, &again), "{settings}");
        }
        assert_eq!(log.made().len(), made + 1);
    }
}

/// [AC-121]
#[tokio::test]
async fn settings_that_differ_anywhere_give_another() {
    let log = Log::default();
    let extension = acme(&log);
    let all = [
        json!({}),
        json!({"apiKey": "k1"}),
        json!({"apiKey": "k2"}),
        json!({"apiKey": "k1", "baseUrl": "u1"}),
        json!({"apiKey": "k1", "baseUrl": "u2"}),
        json!({"models": ["a", "b"]}),
        json!({"models": ["b", "a"]}),
        json!({"models": ["a"]}),
        json!({"headers": {"a": "1"}}),
    ];
    let mut made = Vec::new();
    for settings in &all {
        made.push(extension.create(settings.clone(), None).await.unwrap());
    }
    for (i, one) in made.iter().enumerate() {
        assert!(made.iter().skip(i + 1).all(|other| !Arc::ptr_eq(one, other)), "{}", all[i]);
    }
    assert_eq!(log.made().len(), all.len());
}

/// [AC-122]
#[tokio::test]
async fn callers_at_the_same_time_wait_for_one_creation() {
    for url in [Some("u".to_owned()), None] {
        let (log, gate) = (Log::default(), CancellationToken::new());
        let extension = slow(&log, gate.clone());
        let settings = json!({"baseUrl": url});
        let asked = join_all((0..3).map(|_| extension.create(settings.clone(), None)));
        let open = async {
            tokio::task::yield_now().await;
            gate.cancel();
        };
        let (made, ()) = tokio::join!(asked, open);
        assert_eq!(log.made().len(), 1);
        match url {
            Some(_) => {
                let made: Vec<_> = made.into_iter().map(Result::unwrap).collect();
                let later = extension.create(settings, None).await.unwrap();
                assert!(made.iter().all(|one| Arc::ptr_eq(one, &later)));
                assert_eq!(log.made().len(), 1);
            }
            None => {
                for failed in made {
                    assert_eq!(failed.unwrap_err().model_error().unwrap().code(), Some("e7"));
                }
                assert_eq!(extension.cached(), 0);
            }
        }
    }
}

/// [AC-123]
#[tokio::test]
async fn ten_providers_are_kept_and_the_least_used_goes_first() {
    let log = Log::default();
    let extension = acme(&log);
    let create = |n: u32| extension.create(json!({"timeout": n}), None);
    for n in 0..10 {
        create(n).await.unwrap();
    }
    create(0).await.unwrap();
    assert_eq!((log.made().len(), extension.cached()), (10, 10));
    create(10).await.unwrap();
    assert_eq!((log.made().len(), extension.cached()), (11, 10));
    for kept in [0, 2, 3, 4, 5, 6, 7, 8, 9, 10] {
        create(kept).await.unwrap();
    }
    assert_eq!(log.made().len(), 11);
    create(1).await.unwrap();
    assert_eq!(log.made().len(), 12, "the second was the least recently used");
}

/// [AC-124]
#[tokio::test(start_paused = true)]
async fn a_creation_lives_as_long_as_somebody_waits() {
    let (log, gate) = (Log::default(), CancellationToken::new());
    let extension = slow(&log, gate.clone());
    let create = || extension.create(json!({"baseUrl": "u"}), None);
    let (mut first, mut second) = (Box::pin(create()), Box::pin(create()));
    assert!(first.as_mut().now_or_never().is_none() && second.as_mut().now_or_never().is_none());
    drop(first);
    let opening = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        gate.cancel();
    };
    let (made, ()) = tokio::join!(second, opening);
    assert_eq!((made.unwrap().name(), log.made().len(), log.dropped()), ("slow", 1, 0));

    let gate = CancellationToken::new();
    let (log, extension) = (Log::default(), slow(&Log::default(), gate.clone()));
    drop(extension);
    let extension = slow(&log, gate.clone());
    let create = || extension.create(json!({"baseUrl": "u"}), None);
    let mut alone = Box::pin(create());
    assert!(alone.as_mut().now_or_never().is_none());
    drop(alone);
    assert_eq!(log.dropped(), 1, "nobody waits: it is dropped");
    gate.cancel();
    create().await.unwrap();
    assert_eq!(log.made().len(), 2);
}

/// [AC-125]
#[tokio::test]
async fn what_was_begun_before_the_cache_was_cleared_stays_out() {
    let (log, gate) = (Log::default(), CancellationToken::new());
    let extension = slow(&log, gate.clone());
    let settings = || json!({"baseUrl": "u"});
    let mut old = Box::pin(extension.create(settings(), None));
    assert!(old.as_mut().now_or_never().is_none());
    extension.clear_cache();
    gate.cancel();
    let new = extension.create(settings(), None).await.unwrap();
    let old = old.await.unwrap();
    assert!(!Arc::ptr_eq(&old, &new));
    assert!(Arc::ptr_eq(&new, &extension.create(settings(), None).await.unwrap()));
    assert_eq!((log.made().len(), extension.cached()), (2, 1));
    extension.clear_cache();
    assert_eq!(extension.cached(), 0);
    let changed = extension.clone().alias("other");
    extension.create(settings(), None).await.unwrap();
    assert_eq!(changed.cached(), 0, "a changed extension begins with nothing");
    let _ = AcmeSettings::default();
}
