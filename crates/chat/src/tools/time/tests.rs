#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use super::*;

fn at(zone: Option<&str>) -> Result<String, UnknownZone> {
    let now: Timestamp = "2026-03-13T13:05:06Z".parse().unwrap();
    let local = TimeZone::get("Asia/Tokyo").unwrap();
    current_time(&TimeArgs { zone: zone.map(str::to_owned) }, now, local)
}

/// [CH-6]
#[test]
fn a_zone_gives_its_local_time_and_offset() {
    let table = [
        ("UTC", "Friday 2026-03-13 13:05:06 in UTC (UTC+00:00)"),
        ("Europe/Paris", "Friday 2026-03-13 14:05:06 in Europe/Paris (UTC+01:00)"),
        ("asia/kolkata", "Friday 2026-03-13 18:35:06 in Asia/Kolkata (UTC+05:30)"),
        (" America/St_Johns ", "Friday 2026-03-13 10:35:06 in America/St_Johns (UTC-02:30)"),
        ("Pacific/Kiritimati", "Saturday 2026-03-14 03:05:06 in Pacific/Kiritimati (UTC+14:00)"),
    ];
    for (zone, time) in table {
        assert_eq!(at(Some(zone)).unwrap(), time);
    }
    for own in [None, Some(""), Some(" ")] {
        assert_eq!(at(own).unwrap(), "Friday 2026-03-13 22:05:06 in Asia/Tokyo (UTC+09:00)");
    }
    let now: Timestamp = "2026-03-13T13:05:06Z".parse().unwrap();
    let unnamed = TimeZone::fixed(jiff::tz::offset(2));
    let shown = current_time(&TimeArgs::default(), now, unnamed).unwrap();
    assert_eq!(shown, "Friday 2026-03-13 15:05:06 local time (UTC+02:00)");
}

/// [CH-7]
#[test]
fn an_unknown_zone_is_an_error_with_the_nearest_name() {
    let table = [
        ("Europe/Pari", "there is no time zone `Europe/Pari`; did you mean `Europe/Paris`?"),
        ("Mars/Olympus_Mons_Base", "there is no time zone `Mars/Olympus_Mons_Base`"),
        ("../../etc/passwd", "there is no time zone `../../etc/passwd`"),
        ("/etc/localtime", "there is no time zone `/etc/localtime`"),
    ];
    for (zone, error) in table {
        assert_eq!(at(Some(zone)).unwrap_err().to_string(), error);
    }
    assert!(at(Some(&"x".repeat(10_000))).unwrap_err().to_string().len() < 100);
}
