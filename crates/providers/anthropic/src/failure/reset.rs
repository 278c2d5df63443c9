//! When a limit is lifted, by the headers that say so.

use std::time::{Duration, SystemTime};

use http::HeaderMap;

/// What is counted.
const LIMITS: [&str; 4] = ["requests", "tokens", "input-tokens", "output-tokens"];

/// When the last of the limits that were met is lifted. Nothing if the response says when to come back in the
/// general way, which counts more, or if no limit says that nothing is left of it.
pub(super) fn at(headers: &HeaderMap) -> Option<SystemTime> {
    // No clock: the date in such a header is read only for whether it is one.
    if ai_http::retry_hint(headers, SystemTime::UNIX_EPOCH).is_some() {
        return None;
    }
    let value = |limit: &str, what: &str| {
        headers.get(format!("anthropic-ratelimit-{limit}-{what}"))?.to_str().ok().map(str::trim)
    };
    let met = LIMITS.iter().filter(|limit| value(limit, "remaining") == Some("0"));
    met.filter_map(|limit| point_in_time(value(limit, "reset")?)).max()
}

/// A time in the form of RFC 3339, such as `2026-01-31T12:30:00Z`; anything else is none.
fn point_in_time(text: &str) -> Option<SystemTime> {
    let (date, time) = text.split_once(['T', 't'])?;
    let [year, month, day] = numbers(date, '-')?;
    let at = time.find(['Z', 'z', '+', '-'])?;
    let (time, zone) = time.split_at_checked(at)?;
    let (whole, fraction) = time.split_once('.').unwrap_or((time, "0"));
    let [hours, minutes, seconds] = numbers(whole, ':')?;
    let digits = !fraction.is_empty() && fraction.bytes().all(|byte| byte.is_ascii_digit());
    let possible = (1970..=9999).contains(&year)
        && (1..=12).contains(&month)
        && (1..=31).contains(&day)
        && hours < 24
        && minutes < 60
        && seconds <= 60;
    if !digits || !possible {
        return None;
    }
    let local = (days(year, month, day) * 24 + hours) * 3600 + minutes * 60 + seconds;
    let since = u64::try_from(local - offset(zone)?).ok()?;
    SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(since))
}

/// Seconds ahead of UTC.
fn offset(zone: &str) -> Option<i64> {
    let (sign, rest) = match zone.split_at_checked(1)? {
        ("Z" | "z", "") => return Some(0),
        ("+", rest) => (1, rest),
        ("-", rest) => (-1, rest),
        _ => return None,
    };
    let (hours, minutes) = rest.split_once(':')?;
    let (hours, minutes): (i64, i64) = (digits(hours)?, digits(minutes)?);
    (hours < 24 && minutes < 60).then_some(sign * (hours * 3600 + minutes * 60))
}

fn numbers(text: &str, between: char) -> Option<[i64; 3]> {
    let numbers: Option<Vec<_>> = text.split(between).map(digits).collect();
    numbers?.try_into().ok()
}

fn digits(text: &str) -> Option<i64> {
    let all = matches!(text.len(), 2 | 4) && text.bytes().all(|byte| byte.is_ascii_digit());
    all.then(|| text.parse().ok()).flatten()
}

/// Days since 1970, in the calendar as it is now.
fn days(year: i64, month: i64, day: i64) -> i64 {
    // Years begin with March, so that the odd day comes last.
    let year = if month <= 2 { year - 1 } else { year };
    let month = (month + 9) % 12;
    let leap_days = year / 4 - year / 100 + year / 400;
    year * 365 + leap_days + (month * 153 + 2) / 5 + day - 1 - 719_468
}

#[cfg(test)]
mod tests;
