use super::*;

fn call() -> HttpCall {
    HttpCall::post_json("https://host/v1?key=hunter22", &serde_json::json!({"prompt": "private"})).unwrap()
}

/// [HT-60]
#[test]
fn a_header_that_http_does_not_allow_is_refused() {
    let mut call = call();
    for (name, value) in [
        ("x-extra", "a\r\nX-Evil: 1"),
        ("x-extra", "a\nb"),
        ("x-extra", "a\0"),
        ("x-extra", "na\u{ef}ve"),
        ("x extra", "a"),
        ("x-extra\r\nx-evil", "a"),
        ("", "a"),
    ] {
        let error = call.set_header(name, value).unwrap_err();
        assert_eq!(error.class(), ErrorClass::InvalidRequest, "{name:?}: {value:?}");
        let error = call.set_secret_header(name, value).unwrap_err();
        assert!(!format!("{error:?}").contains(value) || value == "a", "{error:?}");
        assert!(call.apply_extra(&[(name.to_owned(), Some(value.to_owned()))]).is_err());
    }
    assert_eq!(call.headers.len(), 1, "only the content type");
    call.set_header("x-extra", " trimmed \r\n").unwrap();
    assert_eq!(call.headers["x-extra"], "trimmed");
}

/// [HT-62] [HT-53]
#[test]
fn the_callers_headers_replace_and_remove() {
    let mut call = call();
    call.set_header("x-ours", "1").unwrap();
    let extra = [
        ("X-Ours".to_owned(), None),
        ("Content-Type".to_owned(), Some("application/x-test".to_owned())),
        ("api-key".to_owned(), Some("hunter22".to_owned())),
        ("x-plain".to_owned(), Some("seen".to_owned())),
    ];
    call.apply_extra(&extra).unwrap();
    assert_eq!(call.headers.len(), 3);
    assert_eq!(call.headers["content-type"], "application/x-test");
    assert!(call.headers["api-key"].is_sensitive() && !call.headers["x-plain"].is_sensitive());
}

/// [HT-50]
#[test]
fn debug_shows_neither_secrets_nor_the_body() {
    let mut call = call();
    call.set_secret_header("authorization", "Bearer hunter22").unwrap();
    let text = format!("{call:?} {call:#?}");
    assert!(!text.contains("hunter22") && !text.contains("private"), "{text}");
    assert!(text.contains("https://host/v1?key=***") && text.contains("20 bytes"), "{text}");
}

/// [HT-60]
#[test]
fn a_body_that_is_no_json_is_refused() {
    let no_json = std::collections::BTreeMap::from([((1, 2), 3)]);
    let error = HttpCall::post_json("https://host", &no_json).unwrap_err();
    assert_eq!(error.class(), ErrorClass::InvalidRequest);
}
