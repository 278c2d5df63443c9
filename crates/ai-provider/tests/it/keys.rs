use std::collections::HashSet;
use std::fmt::Display;
use std::hash::{BuildHasher, RandomState};

use ai_provider::*;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::traits::assert_not_impl;

const SECRET: &str = "sk-a1B2c3D4e5F6";

fn key(secret: &str) -> ApiKey {
    ApiKey::new(secret).unwrap()
}

/// [PV-61]
#[test]
fn white_space_around_a_key_is_cut_off() {
    for written in ["k", " k", "k\n", "k\r\n", "\t k \u{a0}\n"] {
        assert_eq!(key(written).expose(), "k");
    }
    let visible: String = ('!'..='~').collect();
    assert_eq!(key(&visible).expose(), visible);
}

/// [PV-62]
#[test]
fn a_key_that_could_not_be_sent_or_would_smuggle_a_header_is_refused() {
    let bad = [
        "",
        " ",
        "\r\n",
        "k\r\nX-Evil: 1",
        "k\nk",
        "k k",
        "k\tk",
        "k\0",
        "\u{1b}k",
        "k\u{7f}",
        "k\u{e9}",
        "\u{feff}k",
        "k\u{200b}",
    ];
    for secret in bad {
        let secret = if secret.trim().is_empty() { secret.to_owned() } else { format!("{SECRET}{secret}") };
        let error = ApiKey::new(secret.clone()).unwrap_err();
        assert_eq!(error.class(), ErrorClass::InvalidRequest, "{secret:?}");
        assert!(!error.retryable());
        let shown = format!("{error} {error:?} {:?}", error.record());
        assert!(!shown.contains(SECRET) && !shown.contains("Evil"), "{shown}");
    }
    let error = ApiKey::new(" ab\u{e9}").unwrap_err();
    assert_eq!(error.message(), "the API key holds a character at position 2 that is not visible ASCII");
    assert_eq!(ApiKey::new("  ").unwrap_err().message(), "the API key is blank");
}

/// [PV-63]
#[tokio::test]
async fn no_key_in_any_debug_output() {
    let keys = Keys::list([key(SECRET), key(&format!("{SECRET}2")).labelled("team-a").of_account("acme")]);
    let held = keys.key(0).await.unwrap().unwrap();
    let source: std::sync::Arc<dyn KeySource> = std::sync::Arc::new(keys.clone());
    let mut request = Request::new([Message::user("Hi")]);
    request.extra_headers = vec![("authorization".into(), Some(format!("Bearer {SECRET}")))];
    let mut embedding = EmbeddingRequest::new(["Hi"]);
    embedding.extra_headers = vec![("x-api-key".into(), Some(SECRET.into())), ("x-gone".into(), None)];
    let out_of_range = keys.key(7).await.unwrap_err();
    let shown = [
        format!("{held:?}"),
        format!("{held:#?}"),
        format!("{keys:?} {keys:#?}"),
        format!("{source:?} {source:#?}"),
        format!("{request:?} {request:#?}"),
        format!("{embedding:?} {embedding:#?}"),
        format!("{out_of_range} {out_of_range:?}"),
    ];
    for text in &shown {
        assert!(!text.contains(SECRET) && !text.contains(&SECRET[..6]), "{text}");
    }
    assert!(shown[0].contains("key-1") && shown[2].contains("team-a") && shown[2].contains("acme"));
    assert!(shown[4].contains("authorization"), "the name of a header is shown: {}", shown[4]);
    assert!(shown[5].contains("x-api-key") && shown[5].contains("x-gone"));
}

/// [PV-64]
#[test]
fn a_key_cannot_be_printed_stored_or_read() {
    assert_not_impl!(ApiKey: Display);
    assert_not_impl!(ApiKey: Serialize);
    assert_not_impl!(ApiKey: DeserializeOwned);
    assert_not_impl!(Keys: Display);
    assert_not_impl!(Keys: Serialize);
    assert_not_impl!(Keys: DeserializeOwned);
    assert_not_impl!(CallContext: Serialize);
    assert_not_impl!(Request: Serialize);
}

/// [PV-65]
#[test]
fn keys_are_equal_if_secret_and_names_are() {
    let a = key("k");
    assert_eq!(a, a.clone());
    assert_ne!(a, key("l"));
    assert_ne!(a, key("kk"));
    assert_ne!(a, a.clone().labelled("x"));
    assert_ne!(a, a.clone().of_account("x"));
    let hasher = RandomState::new();
    assert_eq!(hasher.hash_one(&a), hasher.hash_one(a.clone()));
    let set = HashSet::from([a.clone(), a.clone(), key("l"), a.clone().labelled("x"), a.of_account("y")]);
    assert_eq!(set.len(), 4);
}

/// [PV-66]
#[test]
fn the_account_follows_the_label_unless_named_afterwards() {
    let names = |key: ApiKey| [key.label().to_string(), key.account().to_string()];
    assert_eq!(names(key("k")), ["key", "key"]);
    assert_eq!(names(key("k").labelled("a")), ["a", "a"]);
    assert_eq!(names(key("k").labelled("a").of_account("b")), ["a", "b"]);
    assert_eq!(names(key("k").of_account("b").labelled("a")), ["a", "a"]);
}

async fn secrets(keys: &Keys) -> Vec<String> {
    let mut secrets = Vec::new();
    for at in 0..keys.labels().len() {
        secrets.push(keys.key(at).await.unwrap().unwrap().expose().to_owned());
    }
    secrets
}

fn labels(keys: &Keys) -> Vec<&str> {
    keys.labels().iter().map(KeyLabel::as_str).collect()
}

/// [PV-67]
#[tokio::test]
async fn a_comma_separated_list_is_several_trimmed_keys() {
    for text in ["k1, k2", "k1,k2", " k1 ,\r\n k2\n", ",k1,,k2,"] {
        let keys = Keys::parse(text).unwrap();
        assert_eq!(secrets(&keys).await, ["k1", "k2"], "{text:?}");
        assert_eq!(labels(&keys), ["key-1", "key-2"]);
    }
    for text in ["k1", " k1\r\n", "k1,", ", k1"] {
        let keys = Keys::parse(text).unwrap();
        assert_eq!(secrets(&keys).await, ["k1"], "{text:?}");
        assert_eq!(labels(&keys), ["key"]);
    }
}

/// [PV-67]
#[test]
fn a_list_without_a_key_or_with_a_bad_one_is_refused() {
    for text in ["", " ", ",", " , ,\n"] {
        let error = Keys::parse(text).unwrap_err();
        assert_eq!((error.class(), error.message()), (ErrorClass::InvalidRequest, "the API key is blank"));
    }
    for text in ["k1, k\u{e9}", "k1 k2", "k1\nk2", "k1,k\r\nX-Evil: 1"] {
        assert_eq!(Keys::parse(text).unwrap_err().class(), ErrorClass::InvalidRequest, "{text:?}");
    }
}

/// [PV-68]
#[tokio::test]
async fn unnamed_keys_of_a_list_are_named_by_position() {
    let keys = Keys::list([key("a"), key("b").labelled("spare"), key("c").of_account("acme")]);
    assert_eq!(labels(&keys), ["key-1", "spare", "key-3"]);
    let mut accounts = Vec::new();
    for at in 0..3 {
        let key = keys.key(at).await.unwrap().unwrap();
        assert_eq!(key.label(), &keys.labels()[at]);
        accounts.push(key.account().to_string());
    }
    assert_eq!(accounts, ["key-1", "spare", "acme"]);
    assert_eq!(labels(&Keys::one(key("a").labelled("x"))), ["x"]);
}

/// [PV-69]
#[tokio::test]
async fn an_index_out_of_range_is_an_auth_error() {
    let keys = Keys::list([key("a"), key("b")]);
    for index in [2, usize::MAX] {
        let error = keys.key(index).await.unwrap_err();
        assert_eq!(error.class(), ErrorClass::Auth);
        assert_eq!(error.message(), format!("there is no key {index}: 2 are configured"));
    }
}

/// [PV-69]
#[tokio::test]
async fn without_keys_every_index_gives_none() {
    let none = Keys::none();
    assert!(none.labels().is_empty());
    assert_eq!(none.key(0).await.unwrap(), None);
    assert_eq!(none.key(9).await.unwrap(), None);
    assert_eq!(none, Keys::list([]));
}
