use std::collections::BTreeMap;
use std::ops::Range;

use jiff::tz;

use super::{Found, Masked, Wish, Word};
use crate::tools::time::{is_abbreviation, offset};

/// Words that ask for the time.
const ABOUT_TIME: &[&str] = &["time", "clock", "o'clock", "date", "today", "today's", "time's"];

/// Cities people ask for that the time zone database does not name, with the zone they lie in.
const CITIES: &[(&str, &str)] = &[
    ("barcelona", "Europe/Madrid"),
    ("beijing", "Asia/Shanghai"),
    ("bangalore", "Asia/Kolkata"),
    ("bengaluru", "Asia/Kolkata"),
    ("boston", "America/New_York"),
    ("cape town", "Africa/Johannesburg"),
    ("delhi", "Asia/Kolkata"),
    ("edinburgh", "Europe/London"),
    ("florence", "Europe/Rome"),
    ("frankfurt", "Europe/Berlin"),
    ("geneva", "Europe/Zurich"),
    ("hamburg", "Europe/Berlin"),
    ("hanoi", "Asia/Ho_Chi_Minh"),
    ("kyoto", "Asia/Tokyo"),
    ("lyon", "Europe/Paris"),
    ("miami", "America/New_York"),
    ("milan", "Europe/Rome"),
    ("montreal", "America/Toronto"),
    ("mumbai", "Asia/Kolkata"),
    ("munich", "Europe/Berlin"),
    ("new delhi", "Asia/Kolkata"),
    ("osaka", "Asia/Tokyo"),
    ("philadelphia", "America/New_York"),
    ("rio de janeiro", "America/Sao_Paulo"),
    ("san francisco", "America/Los_Angeles"),
    ("san diego", "America/Los_Angeles"),
    ("seattle", "America/Los_Angeles"),
    ("são paulo", "America/Sao_Paulo"),
    ("st petersburg", "Europe/Moscow"),
    ("washington", "America/New_York"),
    ("zürich", "Europe/Zurich"),
    ("india", "Asia/Kolkata"),
    ("france", "Europe/Paris"),
    ("germany", "Europe/Berlin"),
    ("italy", "Europe/Rome"),
    ("spain", "Europe/Madrid"),
    ("uk", "Europe/London"),
];

/// Names of the database that are words as well.
const WORDS: &[&str] = &[
    "center",
    "central",
    "easter",
    "eastern",
    "east",
    "west",
    "mountain",
    "pacific",
    "general",
    "factory",
    "local",
    "north",
    "south",
    "samoa",
    "casey",
    "davis",
    "troll",
    "vincent",
    "marengo",
    "metlakatla",
    "universal",
];

/// The most words the name of a place has (`Dumont d'Urville` and `Ho Chi Minh` are among the longest).
const MOST_WORDS: usize = 4;

/// Words before the name of a place.
const BEFORE_PLACES: &[&str] = &["in", "at", "for", "on", "and", "or"];

/// Words in such a place that name none.
const NO_PLACES: &[&str] = &[
    "the",
    "a",
    "an",
    "this",
    "that",
    "my",
    "your",
    "our",
    "me",
    "it",
    "here",
    "there",
    "which",
    "what",
    "total",
    "general",
    "order",
    "words",
    "word",
    "english",
    "short",
    "full",
    "detail",
    "now",
    "all",
    "please",
    "i",
    "is",
    "monday",
    "tuesday",
    "wednesday",
    "thursday",
    "friday",
    "saturday",
    "sunday",
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
    "current",
    "local",
    "exact",
    "right",
    "today",
    "hours",
    "minutes",
    "seconds",
    "tell",
    "list",
    "read",
    "show",
    "time",
    "date",
];

/// Finds whether the time is asked for, and where: in places that are known, by the names of their zones, and in
/// others as they were named, for the clock to refuse.
pub(super) fn find(text: &mut Masked<'_>) -> Vec<Found> {
    let words = text.words();
    let Some(asked) = words.iter().find(|word| word.is(ABOUT_TIME)).map(|word| word.at.start) else {
        return Vec::new();
    };
    let places = places(text.original(), &words);
    for (at, _) in &places {
        text.mask(at.clone());
    }
    if places.is_empty() {
        return vec![(asked, Wish::Time(None))];
    }
    places.into_iter().map(|(at, zone)| (at.start, Wish::Time(Some(zone)))).collect()
}

type Place = (Range<usize>, String);

/// The places named, with their zones: the longest name from each word on.
fn places(text: &str, words: &[Word<'_>]) -> Vec<Place> {
    let known = known();
    let mut found: Vec<Place> = Vec::new();
    let mut at = 0;
    while at < words.len() {
        let hit = offset_zone(text, words, at)
            .or_else(|| named(&known, words, at))
            .or_else(|| unknown(text, words, at, !found.is_empty()));
        at += hit.as_ref().map_or(1, |(count, _)| *count);
        found.extend(hit.map(|(_, place)| place));
    }
    found
}

/// A place that is known.
fn named(known: &BTreeMap<String, String>, words: &[Word<'_>], at: usize) -> Option<(usize, Place)> {
    (1..=MOST_WORDS).rev().find_map(|count| {
        let named = words.get(at..at + count)?;
        let name: Vec<_> = named.iter().map(|word| word.text.to_lowercase()).collect();
        let zone = known.get(&name.join(" "))?;
        Some((count, (named.first()?.at.start..named.last()?.at.end, zone.clone())))
    })
}

/// `UTC+5`, also with blanks, and `PST`.
fn offset_zone(text: &str, words: &[Word<'_>], at: usize) -> Option<(usize, Place)> {
    (1..=3).rev().find_map(|count| {
        let named = words.get(at..at + count)?;
        let range = named.first()?.at.start..named.last()?.at.end;
        let name = text.get(range.clone())?;
        let begins = name.to_uppercase();
        let bare = name.starts_with(['+', '-', '−']) && name.contains(':');
        let shifted = (["UTC", "GMT"].iter().any(|zone| begins.starts_with(zone)) || bare)
            && name.contains(['+', '-', '−'])
            && name.contains(|c: char| c.is_ascii_digit())
            && (count == 1 || offset(name).is_some());
        (shifted || is_abbreviation(name)).then(|| (count, (range, name.to_owned())))
    })
}

/// A place that nobody knows: `in Atlantis`, `time in middle-earth`, `the Springfield time`.
fn unknown(text: &str, words: &[Word<'_>], at: usize, more: bool) -> Option<(usize, Place)> {
    let word = |at: usize| words.get(at);
    let (first, before) = (word(at)?, at.checked_sub(1).and_then(word));
    let is_name = |word: &&Word<'_>| {
        let capital = word.text.starts_with(char::is_uppercase);
        capital && !word.is(NO_PLACES) && !word.is(ABOUT_TIME)
    };
    let introduced = before.filter(|word| word.is(BEFORE_PLACES));
    let listed = more && introduced.is_none_or(|word| word.is(&["and", "or"]));
    let comma = before.and_then(|word| text.get(word.at.end..)).is_some_and(|rest| rest.starts_with(','));
    // In lower case only right behind the question: `what time is it in atlantis`.
    let asked = words.get(at.saturating_sub(5)..at)?.iter().any(|word| word.is(ABOUT_TIME));
    let plain = introduced.is_some_and(|word| word.is(&["in"])) && asked;
    let lower = plain && first.text.starts_with(char::is_alphabetic) && !first.is(NO_PLACES);
    let joins = introduced.is_some_and(|word| !word.is(&["and", "or"]))
        || (listed && (introduced.is_some() || comma));
    let adjective = at > 0 && before.is_some() && word(at + 1).is_some_and(|next| next.is(&["time"]));
    if !(lower || (is_name(&first) && (joins || adjective))) {
        return None;
    }
    let names = words.iter().skip(at + 1).take(MOST_WORDS - 1).take_while(is_name);
    let mut count = 1;
    for name in names {
        let last = word(at + count - 1)?;
        if text.get(last.at.end..name.at.start)?.trim().is_empty() {
            count += 1;
        } else {
            break;
        }
    }
    let range = first.at.start..word(at + count - 1)?.at.end;
    Some((count, (range.clone(), text.get(range)?.to_owned())))
}

/// Zones by their own names and by the names of their cities, in lower case.
fn known() -> BTreeMap<String, String> {
    let mut known = BTreeMap::new();
    for zone in tz::db().available() {
        let zone = zone.as_str();
        let city = zone.rsplit('/').next().unwrap_or(zone).replace('_', " ").to_lowercase();
        // Abbreviations such as `MET` and `EST` read like words, but for those everyone means.
        let short = city.chars().count() <= 3 && !["utc", "gmt"].contains(&city.as_str());
        if !short && !WORDS.contains(&city.as_str()) {
            known.entry(city).or_insert_with(|| zone.to_owned());
        }
        if zone.contains('/') || !short {
            known.insert(zone.to_lowercase(), zone.to_owned());
        }
    }
    known.extend(CITIES.iter().map(|(city, zone)| ((*city).to_owned(), (*zone).to_owned())));
    known
}
