use proptest::prelude::*;

use super::*;

/// [HT-47]
#[test]
fn a_page_is_reduced_to_its_text() {
    let cases: [(&[u8], &str); 10] = [
        (b"<html><h1>Bad Gateway</h1></html>", "Bad Gateway"),
        (b"\xEF\xBB\xBF <!DOCTYPE html><title>502</title><STYLE>a > b {}</Style><p>down</p>", "502 down"),
        (b"<p>a</p><script>if (1 < 2) { alert('x') }</script ><p>b", "a b"),
        (b"<!-- <p>hidden</p> --><p>shown</p>", "shown"),
        (b"<p>cut <a href=", "cut"),
        (b"<", ""),
        (b"<script>never closed <p>x</p>", ""),
        (b"{\"error\": \"a < b\"}", "{\"error\": \"a < b\"}"),
        (b"  two\n\twords \x1b[31mred\x1b[0m\r\n", "two words [31mred [0m"),
        (b"", ""),
    ];
    for (body, expected) in cases {
        assert_eq!(excerpt(body), expected, "{body:?}");
    }
}

/// [HT-47]
#[test]
fn an_excerpt_is_short() {
    assert_eq!(excerpt("é".repeat(300).as_bytes()), "é".repeat(300));
    let long = excerpt("é".repeat(301).as_bytes());
    assert_eq!(long, format!("{}…", "é".repeat(300)));
    let page = format!("<p>{}</p>", "word ".repeat(100_000));
    assert_eq!(excerpt(page.as_bytes()).chars().count(), 301);
}

proptest! {
    /// [HT-47] Any bytes give one short line without control characters.
    #[test]
    fn any_body_gives_one_short_line(body in proptest::collection::vec(any::<u8>(), 0..600), page in any::<bool>()) {
        let body = if page { [b"<p>".as_slice(), &body].concat() } else { body };
        let line = excerpt(&body);
        prop_assert!(line.chars().count() <= 301);
        prop_assert!(!line.chars().any(char::is_control));
        prop_assert_eq!(line.trim(), line.as_str());
    }
}
