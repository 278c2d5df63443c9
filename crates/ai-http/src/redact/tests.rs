use std::error::Error as StdError;

use ai_provider::Hint;
use http::HeaderValue;
use proptest::prelude::*;

use super::*;

fn secrets(of: &[&str]) -> Secrets {
    let mut secrets = Secrets::default();
    of.iter().for_each(|secret| secrets.add(secret));
    secrets
}

/// [HT-52]
#[test]
fn a_url_shows_no_secret() {
    let cases = [
        ("https://user:pw@host:8443/v1", "https://host:8443/v1"),
        ("https://sk-token@host/v1", "https://host/v1"),
        ("https://host/v1?key=AIza&alt=sse#frag", "https://host/v1?key=***&alt=sse"),
        (
            "https://host/?api-key=a&api_key=b&apiKey=c&x=1",
            "https://host/?api-key=***&api_key=***&apiKey=***&x=1",
        ),
        (
            "https://host/?access_token=a&sig=b&Signature=c&code=d",
            "https://host/?access_token=***&sig=***&Signature=***&code=***",
        ),
        (
            "https://host/?X-Amz-Credential=a&client_secret=b&password=c",
            "https://host/?X-Amz-Credential=***&client_secret=***&password=***",
        ),
        ("https://host/?k%65y=hidden", "https://host/?k%65y=***"),
        ("https://host/?key=&token", "https://host/?key=&token"),
        (
            "https://host/?api-version=2024-10-01&model=a%2Fb",
            "https://host/?api-version=2024-10-01&model=a%2Fb",
        ),
        ("  https://host/v1 ", "https://host/v1"),
        ("user:pw@host/path?key=1", "host/path"),
        ("not a url#frag", "not a url"),
    ];
    for (url, shown) in cases {
        assert_eq!(redact_url(url), shown, "{url}");
    }
}

/// [HT-53]
#[test]
fn names_of_secrets_are_known() {
    for name in [
        "Authorization",
        "x-api-key",
        "API_KEY",
        "Cookie",
        "x-goog-api-key",
        "Proxy-Authorization",
        "x-auth-token",
    ] {
        assert!(is_secret_name(name), "{name}");
    }
    for name in
        ["accept", "anthropic-version", "idempotency-key", "openai-organization", "alt", "encoding", ""]
    {
        assert!(!is_secret_name(name), "{name}");
    }
}

/// [HT-51]
#[test]
fn secrets_are_masked_wherever_they_stand() {
    let secrets = secrets(&["sk-12345678", "sk-12345678-long", "x"]);
    let cases = [
        ("Incorrect API key provided: sk-12345678.", "Incorrect API key provided: ***."),
        ("sk-12345678sk-12345678", "******"),
        ("the longer one first: sk-12345678-long", "the longer one first: ***"),
        ("key x is short; exact words only", "key *** is short; exact words only"),
        ("nothing", "nothing"),
    ];
    for (text, masked) in cases {
        assert_eq!(secrets.mask(text), masked);
    }
    assert!(matches!(secrets.mask("nothing"), Cow::Borrowed(_)));
    assert_eq!(format!("{secrets:?}"), "Secrets(3)");
}

/// [HT-51]
#[test]
fn every_text_of_an_error_is_masked() {
    let cause =
        ModelError::new(ErrorClass::Protocol, "cause with sk-12345678").with_source("root sk-12345678");
    let error = ModelError::new(ErrorClass::Auth, "bad sk-12345678")
        .with_status(401)
        .with_code("code-sk-12345678")
        .with_request_id("id-sk-12345678")
        .with_url("https://host/sk-12345678")
        .with_excerpt("{sk-12345678}")
        .with_hint(Hint::After(std::time::Duration::from_secs(9)))
        .with_retryable(true)
        .with_source(cause);
    let masked = secrets(&["sk-12345678"]).mask_error(error);
    assert!(!format!("{masked:?} {masked} {}", causes(&masked)).contains("1234"), "{masked:?}");
    assert_eq!((masked.class(), masked.status(), masked.retryable()), (ErrorClass::Auth, Some(401), true));
    assert_eq!(masked.message(), "bad ***");
    assert_eq!((masked.code(), masked.request_id()), (Some("code-***"), Some("id-***")));
    assert_eq!((masked.url(), masked.excerpt()), (Some("https://host/***"), Some("{***}")));
    assert_eq!(masked.hint(), Some(Hint::After(std::time::Duration::from_secs(9))));
    let source = masked.source().unwrap().to_string();
    assert!(source.contains("cause with ***") && source.contains("root ***"), "{source}");
}

/// [HT-51]
#[test]
fn a_secret_in_the_cause_alone_is_masked_too() {
    let error = ModelError::new(ErrorClass::Server, "failed").with_source("secret is sk-12345678");
    let masked = secrets(&["sk-12345678"]).mask_error(error);
    assert_eq!(masked.source().unwrap().to_string(), "secret is ***");
    let clean = ModelError::new(ErrorClass::Server, "failed").with_source(std::fmt::Error);
    let kept = secrets(&["sk-12345678"]).mask_error(clean);
    assert!(kept.source().unwrap().is::<std::fmt::Error>(), "a clean error is left as it is");
}

/// [HT-51]
#[test]
fn headers_and_urls_give_their_secrets() {
    let mut headers = HeaderMap::new();
    headers.insert("accept", HeaderValue::from_static("harmless-text"));
    let mut value = HeaderValue::from_static("Bearer abcdefghij");
    value.set_sensitive(true);
    headers.insert("authorization", value);
    let mut value = HeaderValue::from_static("1");
    value.set_sensitive(true);
    headers.insert("x-bypass", value);
    let mut secrets = Secrets::default();
    secrets.add_headers(&headers);
    secrets.add_url("https://host/?key=a%2Fbcdefghi&alt=sse");
    secrets.add_url("https://name:pass%20word1@host/");
    let text = "abcdefghij a%2Fbcdefghi a/bcdefghi pass word1 harmless-text sse 1";
    assert_eq!(secrets.mask(text), "*** *** *** *** harmless-text sse 1");
}

proptest! {
    /// [HT-51] Whatever stands around it, a long secret never survives.
    #[test]
    fn no_long_secret_survives(secret in "[!-~]{8,40}", before in ".{0,20}", after in ".{0,20}") {
        let secrets = secrets(&[&secret]);
        let text = format!("{before}{secret}{after}{secret}");
        prop_assert!(!secrets.mask(&text).contains(&secret) || "***".contains(&secret) || secret.contains("***"));
    }
}
