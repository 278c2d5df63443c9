use std::collections::BTreeMap;

use jiff::tz;

use super::{Found, Masked, Wish, Word};

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

/// Finds whether the time is asked for, and where.
pub(super) fn find(text: &mut Masked<'_>) -> Vec<Found> {
    let words = text.words();
    let Some(asked) = words.iter().find(|word| word.is(ABOUT_TIME)).map(|word| word.at.start) else {
        return Vec::new();
    };
    let mut places = places(&words);
    for (at, _) in &places {
        text.mask(at.clone());
    }
    if places.is_empty() {
        return vec![(asked, Wish::Time(None))];
    }
    places.drain(..).map(|(at, zone)| (at.start, Wish::Time(Some(zone)))).collect()
}

/// The places named, with their zones: the longest name from each word on.
fn places(words: &[Word<'_>]) -> Vec<(std::ops::Range<usize>, String)> {
    let known = known();
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(first) = words.get(at) {
        let hit = (1..=MOST_WORDS).rev().find_map(|count| {
            let named = words.get(at..at + count)?;
            let name: Vec<_> = named.iter().map(|word| word.text.to_lowercase()).collect();
            let zone = known.get(&name.join(" "))?;
            Some((count, first.at.start..named.last()?.at.end, zone.clone()))
        });
        at += hit.as_ref().map_or(1, |(count, _, _)| *count);
        found.extend(hit.map(|(_, at, zone)| (at, zone)));
    }
    found
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
