//! What time it is.

#[cfg(test)]
mod tests;

use jiff::tz::TimeZone;
use jiff::{Timestamp, tz};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::text::{nearest, shorten};

/// Input of the clock.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TimeArgs {
    /// An IANA time zone, for example `Europe/Paris` or `UTC`; the user's own zone if absent.
    #[serde(default)]
    pub(crate) zone: Option<String>,
}

/// Why there is no time.
#[derive(Debug, thiserror::Error)]
#[error("there is no time zone `{zone}`{}", suggestion.as_ref().map(|s| format!("; did you mean `{s}`?")).unwrap_or_default())]
pub(crate) struct UnknownZone {
    zone: String,
    suggestion: Option<String>,
}

/// The time as people write it: `Friday 2026-03-13 14:05:06 in Europe/Paris (UTC+01:00)`.
///
/// # Errors
/// If there is no such zone; the nearest name is suggested.
pub(crate) fn current_time(args: &TimeArgs, now: Timestamp, local: TimeZone) -> Result<String, UnknownZone> {
    let zone = match args.zone.as_deref().map(str::trim) {
        None | Some("") => local,
        Some(name) => find(name)?,
    };
    let name = zone.iana_name().map_or_else(|| "local time".to_owned(), |name| format!("in {name}"));
    let time = now.to_zoned_datetime(zone);
    Ok(format!("{} {name} (UTC{})", time.strftime("%A %Y-%m-%d %H:%M:%S"), time.strftime("%:z")))
}

fn find(name: &str) -> Result<TimeZone, UnknownZone> {
    tz::db().get(name).map_err(|_| {
        let known: Vec<_> = tz::db().available().collect();
        UnknownZone {
            zone: shorten(name, 40),
            suggestion: nearest(name, known.iter().map(tz::TimeZoneName::as_str)).map(str::to_owned),
        }
    })
}
