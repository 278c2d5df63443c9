use std::time::{Duration, SystemTime};

use ai_provider::Hint;
use http::HeaderMap;
use http::header::{DATE, HeaderName, RETRY_AFTER};

#[cfg(test)]
mod tests;

const RETRY_AFTER_MS: HeaderName = HeaderName::from_static("retry-after-ms");

/// When the server says that trying again makes sense: `retry-after-ms` in milliseconds, else `retry-after`
/// as seconds or as an HTTP date. Zero, the past and nonsense are no hint; a hint of hours is one.
///
/// A date is read against the response's own `Date`, so that a wrong clock on either side does not matter;
/// `now` stands in where that is missing.
///
/// ```
/// use std::time::{Duration, SystemTime};
/// use ai_provider::Hint;
/// let mut headers = http::HeaderMap::new();
/// headers.insert("retry-after", "1.5".parse()?);
/// let hint = ai_http::retry_hint(&headers, SystemTime::now());
/// assert_eq!(hint, Some(Hint::After(Duration::from_millis(1500))));
/// # Ok::<(), http::header::InvalidHeaderValue>(())
/// ```
pub fn retry_hint(headers: &HeaderMap, now: SystemTime) -> Option<Hint> {
    let text = |name: HeaderName| headers.get(name)?.to_str().ok().map(str::trim);
    let after = text(RETRY_AFTER_MS)
        .and_then(|text| decimal(text, 1_000.0))
        .or_else(|| text(RETRY_AFTER).and_then(|text| decimal(text, 1.0)));
    match after {
        Some(after) => Some(Hint::After(after)),
        None => resolve(Hint::At(httpdate::parse_http_date(text(RETRY_AFTER)?).ok()?), headers, now),
    }
}

/// The hint as a span of time, by the response's own clock if it shows one; nothing if it lies in the past.
pub(crate) fn resolve(hint: Hint, headers: &HeaderMap, now: SystemTime) -> Option<Hint> {
    let Hint::At(at) = hint else { return Some(hint) };
    let date = headers.get(DATE).and_then(|date| httpdate::parse_http_date(date.to_str().ok()?).ok());
    let after = at.duration_since(date.unwrap_or(now)).ok()?;
    (!after.is_zero()).then_some(Hint::After(after))
}

/// Digits with at most one point between them, more than zero.
fn decimal(text: &str, per_second: f64) -> Option<Duration> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(whole) || !digits(fraction) {
        return None;
    }
    let after = Duration::try_from_secs_f64(text.parse::<f64>().ok()? / per_second).ok()?;
    (!after.is_zero()).then_some(after)
}
