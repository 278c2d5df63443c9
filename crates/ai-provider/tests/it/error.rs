use std::error::Error as _;
use std::io;
use std::time::{Duration, SystemTime};

use ai_provider::{
    ErrorClass, FailedAttempt, GaveUp, Hint, KeyLabel, ModelError, RetryError, SkippedTarget, TargetId,
};
use proptest::prelude::*;

use crate::support::check;
use crate::support::strategies::{CLASSES, record};

/// [PV-76]
#[test]
fn which_classes_may_be_tried_again_at_the_same_target() {
    use ErrorClass::*;
    let retryable = [RateLimit, Overloaded, Server, Transport, Timeout, Incomplete, MissingFinish, Empty];
    for class in CLASSES {
        assert_eq!(class.retryable_by_default(), retryable.contains(&class), "{class}");
        let error = ModelError::new(class, "m");
        assert_eq!(error.retryable(), retryable.contains(&class));
        for verdict in [true, false] {
            assert_eq!(error.clone().with_retryable(verdict).retryable(), verdict);
        }
    }
}

/// [PV-77]
#[test]
fn predicates_answer_by_class() {
    use ErrorClass::*;
    for class in CLASSES {
        let error = ModelError::new(class, "m").with_status(429);
        assert_eq!(error.is_cancelled(), class == Cancelled);
        assert_eq!(error.is_timeout(), class == Timeout);
        assert_eq!(error.is_key_related(), [Auth, RateLimit, Quota].contains(&class), "{class}");
    }
    let cancelled = ModelError::cancelled();
    assert!(cancelled.is_cancelled() && !cancelled.retryable());
}

/// [PV-78]
#[test]
fn an_error_prints_as_class_status_code_url_and_sentence() {
    let error = || ModelError::new(ErrorClass::RateLimit, "slow down");
    let printed = [
        (error(), "rate-limit: slow down"),
        (error().with_status(429), "rate-limit (HTTP 429): slow down"),
        (error().with_code("tpm"), "rate-limit (tpm): slow down"),
        (error().with_status(429).with_code("tpm"), "rate-limit (HTTP 429, tpm): slow down"),
        (
            error().with_status(429).with_url("https://a.example/v1"),
            "rate-limit (HTTP 429) from https://a.example/v1: slow down",
        ),
    ];
    for (error, text) in printed {
        assert_eq!(error.to_string(), text);
    }
    let quiet = error().with_request_id("req").with_excerpt("x").with_source(io::Error::other("y"));
    assert_eq!(quiet.to_string(), "rate-limit: slow down");
    assert_eq!(quiet.record().to_string(), "rate-limit: slow down");
}

/// [PV-79]
#[test]
fn what_is_put_into_an_error_comes_out_again() {
    let at = Hint::At(SystemTime::UNIX_EPOCH + Duration::from_secs(9));
    let error = ModelError::new(ErrorClass::Server, "down")
        .with_status(503)
        .with_code("c")
        .with_request_id("r")
        .with_url("u")
        .with_excerpt("e")
        .with_hint(at);
    for error in [error.clone(), error] {
        assert_eq!((error.class(), error.message(), error.status()), (ErrorClass::Server, "down", Some(503)));
        assert_eq!((error.code(), error.request_id()), (Some("c"), Some("r")));
        assert_eq!((error.url(), error.excerpt(), error.hint()), (Some("u"), Some("e"), Some(at)));
        let shown = format!("{error:?}");
        for part in ["Server", "down", "503", "\"c\"", "\"r\"", "\"u\"", "\"e\"", "At"] {
            assert!(shown.contains(part), "{part}: {shown}");
        }
    }
    let bare = ModelError::new(ErrorClass::Server, "down");
    assert_eq!((bare.status(), bare.code(), bare.request_id()), (None, None, None));
    assert_eq!((bare.url(), bare.excerpt(), bare.hint()), (None, None, None));
    assert_eq!(size_of::<Option<ModelError>>(), size_of::<usize>());
}

/// [PV-80]
#[test]
fn a_hint_to_wait_no_time_is_no_hint() {
    let error = || ModelError::new(ErrorClass::RateLimit, "m");
    assert_eq!(error().with_hint(Hint::After(Duration::ZERO)).hint(), None);
    let least = Hint::After(Duration::from_nanos(1));
    assert_eq!(error().with_hint(least).hint(), Some(least));
}

/// [PV-81]
#[test]
fn the_source_chain_leads_to_the_cause() {
    let inner = ModelError::new(ErrorClass::Timeout, "inner").with_source(io::Error::other("root"));
    let outer = ModelError::new(ErrorClass::Server, "outer").with_source(inner);
    let middle = outer.source().unwrap().downcast_ref::<ModelError>().unwrap();
    assert!(middle.is_timeout());
    let root = middle.source().unwrap();
    assert_eq!(root.downcast_ref::<io::Error>().unwrap().to_string(), "root");
    assert!(root.source().is_none());
    assert!(ModelError::new(ErrorClass::Server, "alone").source().is_none());
    assert!(ModelError::new(ErrorClass::Server, "m").with_source("text").source().is_some());
}

/// [PV-82]
#[test]
fn a_record_makes_the_error_it_was_made_of() {
    let met = check(500, record(), |record, met| {
        if record.retryable != record.class.retryable_by_default() {
            met.note("verdict of its own");
        }
        let error = ModelError::from(record.clone());
        prop_assert_eq!(error.retryable(), record.retryable);
        prop_assert_eq!(error.status(), record.status);
        prop_assert_eq!(error.record(), record);
        Ok(())
    });
    met.at_least(20, ["verdict of its own"]);
    let full = ModelError::new(ErrorClass::Server, "m")
        .with_excerpt("what the server said")
        .with_hint(Hint::After(Duration::from_secs(1)))
        .with_source(io::Error::other("root"));
    let again = ModelError::from(full.record());
    assert_eq!((again.excerpt(), again.hint(), again.source().is_none()), (None, None, true));
}

/// [PV-83]
#[test]
fn targets_are_equal_if_all_three_parts_are() {
    let target = TargetId::new("openai", "big", "https://a.example");
    assert_eq!(target, target.clone());
    for other in [
        TargetId::new("azure", "big", "https://a.example"),
        TargetId::new("openai", "small", "https://a.example"),
        TargetId::new("openai", "big", "https://b.example"),
        TargetId::new("openai", "big", "https://a.example/"),
        TargetId::new("OpenAI", "big", "https://a.example"),
    ] {
        assert_ne!(target, other);
    }
    assert_eq!(target.to_string(), "openai:big");
}

/// [PV-96]
#[test]
fn the_attempts_behind_an_error_are_found_and_read_as_one_block() {
    let first = ModelError::new(ErrorClass::RateLimit, "slow down").with_status(429);
    let last = ModelError::new(ErrorClass::Overloaded, "busy").with_status(529);
    let attempt = |attempt, model: &str, key: Option<&str>, error: &ModelError| FailedAttempt {
        attempt,
        target: TargetId::new("acme", model, "https://acme.test/v1"),
        key: key.map(KeyLabel::from),
        error: error.clone(),
    };
    let retry = RetryError::new(
        vec![attempt(1, "large", Some("key-1"), &first), attempt(2, "small", None, &last)],
        vec![SkippedTarget { name: "acme:blind".into(), why: "it takes no images".into() }],
        GaveUp::WaitTooLong { wait: Duration::from_secs(90) },
    );
    let text = retry.to_string();
    assert_eq!(
        text,
        "2 attempts failed, and the next would have to wait 90s\n  \
         1. acme:large [key-1]: rate-limit (HTTP 429): slow down\n  \
         2. acme:small: overloaded (HTTP 529): busy\n  \
         -  acme:blind passed over: it takes no images"
    );
    assert_eq!(retry.first().map(ModelError::class), Some(ErrorClass::RateLimit));
    assert_eq!(retry.last().map(ModelError::class), Some(ErrorClass::Overloaded));
    let wrapped = ModelError::new(ErrorClass::Server, "outer").with_source(last.with_source(retry));
    assert_eq!(RetryError::of(&wrapped).map(|retry| retry.skipped().len()), Some(1));
    assert!(RetryError::of(&first).is_none());
}
