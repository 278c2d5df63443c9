use http::HeaderValue;

use super::*;

fn now() -> SystemTime {
    httpdate::parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT").unwrap()
}

fn hint(headers: &[(&'static str, &str)]) -> Option<Duration> {
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        map.insert(*name, HeaderValue::from_str(value).unwrap());
    }
    match retry_hint(&map, now()) {
        Some(Hint::After(after)) => Some(after),
        None => None,
        Some(other) => panic!("{other:?} is not resolved"),
    }
}

/// [HT-44]
#[test]
fn seconds_and_milliseconds_are_read_and_nonsense_is_not() {
    let seconds = [
        ("2", Some(2_000)),
        ("1.5", Some(1_500)),
        (" 7 ", Some(7_000)),
        ("007", Some(7_000)),
        ("0.25", Some(250)),
        ("86400", Some(86_400_000)),
        ("0", None),
        ("0.0", None),
        ("-3", None),
        ("+3", None),
        ("1000abc", None),
        ("garbage", None),
        ("", None),
        ("NaN", None),
        ("inf", None),
        ("1e3", None),
        ("0x10", None),
        ("1.2.3", None),
        (".5", None),
        ("5.", None),
        ("1,5", None),
        ("99999999999999999999999999", None),
        ("2026-01-01T00:00:00Z", None),
        ("Sun, 06 Nov 1994", None),
    ];
    for (text, expected) in seconds {
        assert_eq!(hint(&[("retry-after", text)]), expected.map(Duration::from_millis), "{text:?}");
    }
    assert_eq!(hint(&[("retry-after-ms", "1500")]), Some(Duration::from_millis(1500)));
    assert_eq!(hint(&[("retry-after-ms", "1500"), ("retry-after", "9")]), Some(Duration::from_millis(1500)));
    assert_eq!(hint(&[("retry-after-ms", "soon"), ("retry-after", "9")]), Some(Duration::from_secs(9)));
    assert_eq!(hint(&[]), None);
}

/// [HT-45]
#[test]
fn a_date_is_read_against_the_clock_of_the_response() {
    let later = "Sun, 06 Nov 1994 08:49:39 GMT";
    assert_eq!(hint(&[("retry-after", later)]), Some(Duration::from_secs(2)), "against our own clock");
    // The server's clock is a year ahead: only the difference counts.
    let headers =
        [("retry-after", "Mon, 06 Nov 1995 10:00:00 GMT"), ("date", "Mon, 06 Nov 1995 08:00:00 GMT")];
    assert_eq!(hint(&headers), Some(Duration::from_secs(7200)), "a hint of hours is kept");
    assert_eq!(hint(&[("retry-after", later), ("date", later)]), None, "now is no hint");
    assert_eq!(hint(&[("retry-after", "Sun, 06 Nov 1994 08:49:30 GMT")]), None, "nor is the past");
    assert_eq!(hint(&[("retry-after", later), ("date", "nonsense")]), Some(Duration::from_secs(2)));
}

/// [HT-45]
#[test]
fn a_codecs_own_point_in_time_is_resolved_alike() {
    let headers = HeaderMap::from_iter([(DATE, HeaderValue::from_static("Sun, 06 Nov 1994 08:49:37 GMT"))]);
    let at = now() + Duration::from_secs(30);
    let wrong_clock = now() + Duration::from_secs(1_000_000);
    assert_eq!(resolve(Hint::At(at), &headers, wrong_clock), Some(Hint::After(Duration::from_secs(30))));
    assert_eq!(resolve(Hint::At(now()), &headers, wrong_clock), None);
    let after = Hint::After(Duration::from_secs(5));
    assert_eq!(resolve(after, &headers, wrong_clock), Some(after));
}
