//! Finds secrets in text: whole or in part, plain or escaped.

use std::borrow::Cow;
use std::collections::{HashSet, VecDeque};
use std::ops::Range;

use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;

#[cfg(test)]
mod tests;

pub(crate) const MASK: &str = "***";

/// Letters of a secret in a row that are masked, wherever they stand: who cuts a text cuts the secret in it
/// too. Fewer give nothing away. A secret that is shorter is masked as a whole word alone: a placeholder key
/// such as `x` must not eat every x.
const PIECE: usize = 8;

/// How often escapes are undone: a key in JSON in a JSON string in a page is escaped three times.
const DEPTH: usize = 4;

/// The longest escape that is undone: `&#0000047;`.
const LONGEST: usize = 10;

/// Masks secrets: every piece of at least [`PIECE`] letters, in either case, as it is or in base64, and
/// escaped as in JSON, a URL or HTML.
pub(crate) struct Masker<'a> {
    pieces: HashSet<Piece>,
    words: Vec<&'a str>,
}

impl<'a> Masker<'a> {
    pub(crate) fn new(secrets: &'a [String]) -> Self {
        let words = secrets.iter().map(String::as_str).filter(|secret| secret.chars().count() < PIECE);
        let all = secrets.iter().flat_map(|secret| in_base64(secret).chain([secret.clone()]));
        Self { words: words.collect(), pieces: all.flat_map(|secret| pieces_of(&secret)).collect() }
    }

    pub(crate) fn mask<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut hidden = words(text, &self.words);
        if !self.pieces.is_empty() {
            readings(text).for_each(|reading| find(reading, &self.pieces, &mut hidden));
        }
        if hidden.is_empty() { Cow::Borrowed(text) } else { Cow::Owned(without(text, hidden)) }
    }
}

/// A letter and the bytes of the text that stand for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Letter {
    char: char,
    start: usize,
    end: usize,
}

type Letters<'a> = Box<dyn Iterator<Item = Letter> + 'a>;

/// The text as it is, and with its escapes undone once, twice, …
fn readings(text: &str) -> impl Iterator<Item = Letters<'_>> {
    let depth = if text.contains(['\\', '%', '&']) { DEPTH } else { 0 };
    (0..=depth).map(move |depth| {
        let plain: Letters<'_> = Box::new(text.char_indices().map(|(at, char)| Letter {
            char,
            start: at,
            end: at + char.len_utf8(),
        }));
        (0..depth).fold(plain, |inner, _| Box::new(Unescaped { inner, ahead: VecDeque::new() }))
    })
}

type Piece = [char; PIECE];

fn piece(window: &[Letter; PIECE]) -> Piece {
    window.map(|letter| letter.char.to_ascii_lowercase())
}

/// The pieces of a secret. One that looks escaped is undone where the text is.
fn pieces_of(secret: &str) -> Vec<Piece> {
    readings(secret).flat_map(|letters| windows(letters).map(|window| piece(&window))).collect()
}

/// What of the base64 of any text that holds the secret is the secret's alone, in both alphabets.
fn in_base64(secret: &str) -> impl Iterator<Item = String> {
    (0..3_usize).flat_map(move |before| {
        let bytes = [&vec![0; before], secret.as_bytes()].concat();
        let text = STANDARD_NO_PAD.encode(&bytes);
        let own = text.get((before * 8).div_ceil(6)..bytes.len() * 8 / 6).unwrap_or_default();
        [own.to_owned(), own.replace('+', "-").replace('/', "_")]
    })
}

fn windows(mut letters: impl Iterator<Item = Letter>) -> impl Iterator<Item = [Letter; PIECE]> {
    let mut window = [Letter { char: '\0', start: 0, end: 0 }; PIECE];
    let mut seen = 0;
    std::iter::from_fn(move || {
        loop {
            let letter = letters.next()?;
            window.rotate_left(1);
            let [.., last] = &mut window;
            *last = letter;
            seen += 1;
            if seen >= PIECE {
                return Some(window);
            }
        }
    })
}

fn find(letters: Letters<'_>, pieces: &HashSet<Piece>, hidden: &mut Vec<Range<usize>>) {
    for window in windows(letters) {
        if pieces.contains(&piece(&window)) {
            let [first, .., last] = window;
            match hidden.last_mut() {
                Some(range) if (range.start..range.end).contains(&first.start) => {
                    range.end = range.end.max(last.end);
                }
                _ => hidden.push(first.start..last.end),
            }
        }
    }
}

/// Where these secrets stand as words of their own.
fn words(text: &str, secrets: &[&str]) -> Vec<Range<usize>> {
    let found = secrets.iter().flat_map(|secret| text.match_indices(secret));
    found
        .map(|(at, secret)| at..at + secret.len())
        .filter(|range| {
            let before = text.get(..range.start).and_then(|text| text.chars().next_back());
            let after = text.get(range.end..).and_then(|text| text.chars().next());
            ![before, after].into_iter().flatten().any(char::is_alphanumeric)
        })
        .collect()
}

/// The text with one mask for each of these places; places that overlap are one.
fn without(text: &str, mut hidden: Vec<Range<usize>>) -> String {
    hidden.sort_by_key(|range| range.start);
    let mut masked = String::new();
    let mut copied = 0;
    for range in hidden {
        if range.start >= copied {
            masked.push_str(text.get(copied..range.start).unwrap_or_default());
            masked.push_str(MASK);
        }
        copied = copied.max(range.end);
    }
    masked + text.get(copied..).unwrap_or_default()
}

/// Letters with their escapes undone once.
struct Unescaped<'a> {
    inner: Letters<'a>,
    ahead: VecDeque<Letter>,
}

impl Iterator for Unescaped<'_> {
    type Item = Letter;

    fn next(&mut self) -> Option<Letter> {
        let missing = LONGEST.saturating_sub(self.ahead.len());
        self.ahead.extend(self.inner.by_ref().take(missing));
        let (char, length) =
            unescape(&self.ahead).or_else(|| self.ahead.front().map(|letter| (letter.char, 1)))?;
        let mut taken = self.ahead.drain(..length);
        let first = taken.next()?;
        Some(Letter { char, start: first.start, end: taken.next_back().map_or(first.end, |last| last.end) })
    }
}

/// What the escape at the front stands for, and its length.
fn unescape(letters: &VecDeque<Letter>) -> Option<(char, usize)> {
    let at = |index: usize| letters.get(index).map(|letter| letter.char);
    let text = |range: Range<usize>| range.map(at).collect::<Option<String>>();
    match at(0)? {
        '\\' => match at(1)? {
            'u' => Some((number(&text(2..6)?, 16)?, 6)),
            'x' => Some((number(&text(2..4)?, 16)?, 4)),
            char if char.is_ascii_punctuation() => Some((char, 2)),
            _ => None,
        },
        '%' => Some((number(&text(1..3)?, 16).filter(char::is_ascii)?, 3)),
        '&' => {
            let end = (1..LONGEST).find(|index| at(*index) == Some(';'))?;
            let name = text(1..end)?;
            let char = match name.as_str() {
                "amp" => '&',
                "lt" => '<',
                "gt" => '>',
                "quot" => '"',
                "apos" => '\'',
                name => match name.strip_prefix('#')?.strip_prefix(['x', 'X']) {
                    Some(digits) => number(digits, 16)?,
                    None => number(name.strip_prefix('#')?, 10)?,
                },
            };
            Some((char, end + 1))
        }
        _ => None,
    }
}

fn number(digits: &str, radix: u32) -> Option<char> {
    // A sign would be read too.
    let plain = digits.chars().all(|digit| digit.is_digit(radix));
    char::from_u32(u32::from_str_radix(digits, radix).ok().filter(|_| plain)?)
}
