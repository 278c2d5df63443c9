use proptest::prelude::*;

use super::*;

/// [HT-64]
#[test]
fn a_path_is_joined_once() {
    let cases = [
        ("https://host/v1", "https://host/v1/chat/completions"),
        ("https://host/v1/", "https://host/v1/chat/completions"),
        ("https://host/v1//", "https://host/v1/chat/completions"),
        ("https://host", "https://host/chat/completions"),
        ("http://localhost:11434/v1 ", "http://localhost:11434/v1/chat/completions"),
        ("https://host/v1/chat/completions", "https://host/v1/chat/completions"),
        ("https://host/v1/chat/completions/", "https://host/v1/chat/completions/"),
        ("https://host/xchat/completions", "https://host/xchat/completions/chat/completions"),
        ("https://host/chat", "https://host/chat/chat/completions"),
        ("https://host/v1?api-version=1#x", "https://host/v1/chat/completions?api-version=1"),
        ("https://user:pw@host/v1", "https://user:pw@host/v1/chat/completions"),
        ("HTTPS://HOST/V1", "https://host/V1/chat/completions"),
    ];
    for (base, joined) in cases {
        let endpoint = Endpoint::base(base).unwrap();
        assert_eq!(endpoint.url("chat/completions", &[]), joined, "{base}");
        assert_eq!(endpoint.url("/chat/completions", &[]), joined, "{base}");
    }
}

/// [HT-64]
#[test]
fn the_query_of_the_user_wins() {
    let endpoint = Endpoint::base("https://host/v1?api-version=1").unwrap();
    let url = endpoint.url("m:go", &[("alt", "sse"), ("api-version", "9"), ("q", "a b&c")]);
    assert_eq!(url, "https://host/v1/m:go?api-version=1&alt=sse&q=a+b%26c");
}

/// [HT-64]
#[test]
fn a_full_url_is_taken_as_it_is() {
    let endpoint = Endpoint::full("https://host/odd/?x=1").unwrap();
    assert_eq!(endpoint.url("chat/completions", &[("alt", "sse")]), "https://host/odd/?x=1");
}

/// [HT-65]
#[test]
fn what_is_no_http_url_is_refused() {
    for text in [
        "",
        "  ",
        "localhost:8080",
        "host/v1",
        "ftp://host",
        "file:///etc/passwd",
        "http://",
        "https://:80",
        "http://[::1",
        "//host",
        "http://a b/",
    ] {
        for parse in [Endpoint::base, Endpoint::full] {
            let error = parse(text).unwrap_err();
            assert_eq!(error.class(), ErrorClass::InvalidRequest, "{text}");
            assert!(error.message().contains("is not a usable endpoint"), "{error}");
        }
    }
    let error = Endpoint::base("user:hunter2@host/v1?key=hunter2").unwrap_err();
    assert!(!format!("{error:?}").contains("hunter2"), "{error:?}");
    assert!(error.message().contains("http://"), "it says what to do: {error}");
}

/// [HT-52]
#[test]
fn a_name_and_debug_text_show_no_secret() {
    let endpoint = Endpoint::base("https://me:hunter2@host/v1/?key=hunter2&v=1").unwrap();
    assert_eq!(endpoint.name(), "https://host/v1/?key=***&v=1");
    assert_eq!(Endpoint::base("https://host/v1/").unwrap().name(), "https://host/v1");
    assert!(!format!("{endpoint:?}").contains("hunter2"), "{endpoint:?}");
}

/// [HT-63]
#[test]
fn a_name_is_one_segment() {
    assert_eq!(path_segment("gemini-2.5-pro").unwrap(), "gemini-2.5-pro");
    assert_eq!(path_segment("a/../b?x=1#y%2F").unwrap(), "a%2F..%2Fb%3Fx%3D1%23y%252F");
    assert_eq!(path_segment("m:stream\r\nX: 1\\").unwrap(), "m%3Astream%0D%0AX%3A%201%5C");
    for name in ["", " ", ".", "..", " .. "] {
        assert_eq!(path_segment(name).unwrap_err().class(), ErrorClass::InvalidRequest, "{name:?}");
    }
}

proptest! {
    /// [HT-63] A model name, whatever it holds, changes nothing but its own segment.
    #[test]
    fn no_name_changes_the_rest_of_the_url(name in prop_oneof![".{1,20}", "[./?#:%@&\\\\a\r\n ]{1,12}"]) {
        let Ok(segment) = path_segment(&name) else {
            prop_assert!(matches!(name.trim(), "" | "." | ".."));
            return Ok(());
        };
        let endpoint = Endpoint::base("https://host/v1beta?k=v").unwrap();
        let url = Url::parse(&endpoint.url(&format!("models/{segment}:generate"), &[])).unwrap();
        prop_assert_eq!(url.host_str(), Some("host"));
        prop_assert_eq!(url.query(), Some("k=v"));
        prop_assert_eq!(url.fragment(), None);
        let segments: Vec<_> = url.path_segments().unwrap().collect();
        let expected = format!("{segment}:generate");
        prop_assert_eq!(segments, ["v1beta", "models", expected.as_str()]);
    }
}
