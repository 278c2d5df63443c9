use super::*;

fn seconds(text: &str) -> Option<u64> {
    point_in_time(text).map(|at| at.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs())
}

/// [AN-68]
#[test]
fn a_point_in_time_is_read_and_nonsense_is_none() {
    for (text, since) in [
        ("1970-01-01T00:00:00Z", 0),
        ("2000-02-29T12:30:05Z", 951_827_405),
        ("2026-01-31T00:00:00.123456z", 1_769_817_600),
        ("2026-03-01T01:00:00+01:00", 1_772_323_200),
        ("2026-02-28T19:30:00-04:30", 1_772_323_200),
        ("9999-12-31T23:59:59Z", 253_402_300_799),
    ] {
        assert_eq!(seconds(text), Some(since), "{text}");
    }
    for text in [
        "",
        "garbage",
        "12",
        "2026-01-31",
        "2026-01-31T00:00:00",
        "2026-13-31T00:00:00Z",
        "2026-01-31T25:00:00Z",
        "2026-01-31T00:00Z",
        "2026-01-31T00:00:00.Z",
        "2026-01-31T00:00:00Zx",
        "2026-01-31T00:00:00+1",
        "-026-01-31T00:00:00Z",
        "1969-12-31T00:00:00Z",
        "1970-01-01T00:00:00+02:00",
        "é026-01-31T00:00:00Z",
    ] {
        assert_eq!(seconds(text), None, "{text}");
    }
}
