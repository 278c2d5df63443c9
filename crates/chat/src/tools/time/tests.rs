#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use super::*;

fn at(zone: Option<&str>) -> Result<String, Fault> {
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
        ("UTC+5", "Friday 2026-03-13 18:05:06 in UTC+5 (UTC+05:00)"),
        ("utc +05:30", "Friday 2026-03-13 18:35:06 in utc+05:30 (UTC+05:30)"),
        ("GMT-0330", "Friday 2026-03-13 09:35:06 in GMT-0330 (UTC-03:30)"),
        ("+14:00", "Saturday 2026-03-14 03:05:06 in +14:00 (UTC+14:00)"),
        ("PST", "Friday 2026-03-13 05:05:06 in PST (UTC-08:00)"),
        ("jst", "Friday 2026-03-13 22:05:06 in JST (UTC+09:00)"),
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
        ("Atlantis", "there is no time zone `Atlantis`"),
        ("Springfield", "there is no time zone `Springfield`"),
        ("UTC+15", "there is no time zone `UTC+15`"),
        ("UTC+5:60", "there is no time zone `UTC+5:60`"),
        ("UTC+-5", "there is no time zone `UTC+-5`"),
        ("UTC+éé", "there is no time zone `UTC+éé`"),
        ("PST+5", "there is no time zone `PST+5`"),
        (
            "cst",
            "`CST` is the name of several time zones: America/Chicago, Asia/Shanghai and America/Havana are some",
        ),
        ("../../etc/passwd", "there is no time zone `../../etc/passwd`"),
        ("/etc/localtime", "there is no time zone `/etc/localtime`"),
    ];
    for (zone, error) in table {
        assert_eq!(at(Some(zone)).unwrap_err().to_string(), error);
    }
    assert!(at(Some(&"x".repeat(10_000))).unwrap_err().to_string().len() < 100);
}
