#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

use super::*;

/// [CH-39]
#[test]
fn a_failure_says_what_where_and_what_to_do() {
    let error = ModelError::new(ErrorClass::NotFound, "The model `x` does not exist")
        .with_status(404)
        .with_code("model_not_found")
        .with_url("http://127.0.0.1:1/v1/chat/completions");
    let failure = Failure::of_model(&error, "p:m");
    assert_eq!(
        failure.message,
        "the server knows no such model or address (HTTP 404, model_not_found) at \
         http://127.0.0.1:1/v1/chat/completions: The model `x` does not exist"
    );
    assert_eq!(
        failure.advice.as_deref(),
        Some("Check the name of the model (--model) and the address (--base-url).")
    );
    assert_eq!(failure.code, FAILED);
    let wait = ModelError::new(ErrorClass::RateLimit, "slow down")
        .with_hint(Hint::After(Duration::from_millis(6_200)));
    assert_eq!(Failure::of_model(&wait, "p:m").advice.as_deref(), Some("Try again in 7 s."));
    let nowhere = ModelError::new(ErrorClass::Empty, "the model gave an empty answer");
    assert_eq!(
        Failure::of_model(&nowhere, "p:m").message,
        "the answer is empty from p:m: the model gave an empty answer"
    );
}

/// [CH-39]
#[test]
fn every_kind_of_failure_has_a_sentence_of_its_own() {
    let classes = [
        ErrorClass::RateLimit,
        ErrorClass::Quota,
        ErrorClass::Overloaded,
        ErrorClass::Auth,
        ErrorClass::NotFound,
        ErrorClass::InvalidRequest,
        ErrorClass::ContextTooLong,
        ErrorClass::ContentRefused,
        ErrorClass::StaleReplay,
        ErrorClass::Server,
        ErrorClass::Transport,
        ErrorClass::Timeout,
        ErrorClass::Protocol,
        ErrorClass::Incomplete,
        ErrorClass::MissingFinish,
        ErrorClass::Empty,
        ErrorClass::TooLarge,
        ErrorClass::Unsupported,
    ];
    let mut sentences: Vec<_> = classes.map(sentence).to_vec();
    sentences.sort_unstable();
    sentences.dedup();
    assert_eq!(sentences.len(), classes.len());
    assert!(!sentences.contains(&"the call failed"));
}

/// [CH-39]
#[test]
fn a_wait_is_said_in_the_unit_a_person_would_use() {
    let now: ZonedDateTime = "2026-03-13T14:05:06+01:00[Europe/Paris]".parse().unwrap();
    let day = 86_400;
    let table = [
        (0, "in 0 s"),
        (120, "in 120 s"),
        (121, "in 3 min"),
        (3_600, "in 60 min"),
        (7_201, "in 2 h 1 min"),
        (day, "in 24 h"),
        (2 * day, "in 48 h"),
        (2 * day + 1, "after Sunday 2026-03-15 14:05"),
        (14_204 * day, "after Saturday 2065-01-31 14:05"),
        (u64::MAX, "later: the server names a time beyond the calendar"),
    ];
    for (seconds, words) in table {
        assert_eq!(try_again(Duration::from_secs(seconds), &now), format!("Try again {words}."));
    }
    assert_eq!(try_again(Duration::from_millis(6_200), &now), "Try again in 7 s.");
    // The largest wait there is does not overflow.
    assert!(try_again(Duration::MAX, &now).starts_with("Try again later"));
}
