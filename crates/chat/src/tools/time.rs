//! What time it is.

#[cfg(test)]
mod tests;

use jiff::tz::{Offset, TimeZone};
use jiff::{Timestamp, tz};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::text::{nearest, shorten};

/// Input of the clock.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TimeArgs {
    /// An IANA time zone, for example `Europe/Paris` or `UTC`, an offset such as `UTC+05:30`, or an abbreviation
    /// such as `PST`; the user's own zone if absent.
    #[serde(default)]
    pub(crate) zone: Option<String>,
}

/// Why there is no time.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Fault {
    #[error("there is no time zone `{zone}`{}", suggestion.as_ref().map(|s| format!("; did you mean `{s}`?")).unwrap_or_default())]
    Unknown { zone: String, suggestion: Option<String> },
    #[error("`{zone}` is the name of several time zones: {meanings}")]
    Ambiguous { zone: String, meanings: &'static str },
}

/// Abbreviations that mean one offset everywhere, in hours east of UTC.
const ABBREVIATIONS: &[(&str, i32)] = &[
    ("PST", -8),
    ("PDT", -7),
    ("MDT", -6),
    ("CDT", -5),
    ("EDT", -4),
    ("AKST", -9),
    ("AKDT", -8),
    ("WEST", 1),
    ("CEST", 2),
    ("EEST", 3),
    ("MSK", 3),
    ("SGT", 8),
    ("HKT", 8),
    ("AWST", 8),
    ("JST", 9),
    ("KST", 9),
    ("AEST", 10),
    ("AEDT", 11),
    ("NZST", 12),
    ("NZDT", 13),
];

/// Abbreviations that mean something else elsewhere.
const AMBIGUOUS: &[(&str, &str)] = &[
    ("CST", "America/Chicago, Asia/Shanghai and America/Havana are some"),
    ("IST", "Asia/Kolkata, Europe/Dublin and Asia/Jerusalem are some"),
    ("BST", "Europe/London and Asia/Dhaka are some"),
    ("AST", "America/Halifax and Asia/Riyadh are some"),
    ("GST", "Asia/Dubai and Atlantic/South_Georgia are some"),
];

/// The abbreviations that are known, whether or not they mean one zone alone.
pub(crate) fn is_abbreviation(word: &str) -> bool {
    ABBREVIATIONS
        .iter()
        .map(|(name, _)| name)
        .chain(AMBIGUOUS.iter().map(|(name, _)| name))
        .any(|name| *name == word)
        || matches!(word, "EST" | "MST" | "HST" | "CET" | "EET" | "WET" | "MET")
}

/// The time as people write it: `Friday 2026-03-13 14:05:06 in Europe/Paris (UTC+01:00)`.
///
/// # Errors
/// If there is no such zone (the nearest name is suggested), or more than one.
pub(crate) fn current_time(args: &TimeArgs, now: Timestamp, local: TimeZone) -> Result<String, Fault> {
    let (zone, name) = match args.zone.as_deref().map(str::trim) {
        None | Some("") => (local, None),
        Some(name) => find(name)?,
    };
    let name = name.as_deref().or(zone.iana_name());
    let name = name.map_or_else(|| "local time".to_owned(), |name| format!("in {name}"));
    let time = now.to_zoned_datetime(zone);
    Ok(format!("{} {name} (UTC{})", time.strftime("%A %Y-%m-%d %H:%M:%S"), time.strftime("%:z")))
}

/// The zone, and its name if that is not in the database.
fn find(name: &str) -> Result<(TimeZone, Option<String>), Fault> {
    if let Ok(zone) = tz::db().get(name) {
        return Ok((zone, None));
    }
    let upper = name.to_uppercase();
    if let Some((_, meanings)) = AMBIGUOUS.iter().find(|(known, _)| *known == upper) {
        return Err(Fault::Ambiguous { zone: upper, meanings });
    }
    let hours = ABBREVIATIONS.iter().find(|(known, _)| *known == upper).map(|(_, hours)| hours * 3_600);
    let offset = hours.or_else(|| offset(name)).and_then(|seconds| Offset::from_seconds(seconds).ok());
    if let Some(offset) = offset {
        let name = if hours.is_some() { upper } else { name.split_whitespace().collect() };
        return Ok((TimeZone::fixed(offset), Some(name)));
    }
    let known: Vec<_> = tz::db().available().collect();
    Err(Fault::Unknown {
        zone: shorten(name, 40),
        suggestion: nearest(name, known.iter().map(tz::TimeZoneName::as_str)).map(str::to_owned),
    })
}

/// `UTC+5`, `GMT-03:30`, `+0530`: seconds east of UTC, if there is a place where clocks go like that.
pub(crate) fn offset(name: &str) -> Option<i32> {
    let name: String = name.split_whitespace().collect::<String>().to_uppercase();
    let (prefix, number) = name.split_at(name.find(['+', '-', '−'])?);
    let sign = number.chars().next()?;
    let number = number.strip_prefix(sign)?;
    let digits = |text: &str| {
        (!text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())).then(|| text.parse().ok())
    };
    let (hours, minutes) = match (number.split_once(':'), number.len()) {
        (Some((hours, minutes)), 4..=5) if minutes.len() == 2 => (hours, minutes),
        (None, 1..=2) => (number, "0"),
        (None, 4) => number.split_at_checked(2)?,
        _ => return None,
    };
    let (hours, minutes): (i32, i32) = (digits(hours)??, digits(minutes)??);
    let east = (hours * 60 + minutes) * if sign == '+' { 1 } else { -1 };
    let real = matches!(prefix, "" | "UTC" | "GMT") && minutes < 60 && (-720..=840).contains(&east);
    real.then_some(east * 60)
}
