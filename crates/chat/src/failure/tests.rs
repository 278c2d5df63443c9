#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

use std::time::Duration;

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
