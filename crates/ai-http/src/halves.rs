//! Characters that servers cut into two deltas. JSON writes a character beyond the first 65,536 as two escapes;
//! a half that stands alone is no text, and a reader of JSON refuses the frame.
//!
//! Such a frame is written anew, with a stand-in for each half, and read again. No other frame comes here.

use std::ops::RangeInclusive;

const FIRST: RangeInclusive<u16> = 0xD800..=0xDBFF;
const SECOND: RangeInclusive<u16> = 0xDC00..=0xDFFF;

/// The stand-in of 0xD800. They are private characters, as many as there are halves.
const STAND_IN: u32 = 0x10_F800;

/// The fields whose text goes on in the next frame. A half in any other stays an error.
const CUT_FIELDS: [&str; 10] = [
    "content",
    "reasoning_content",
    "reasoning",
    "refusal",
    "text",
    "thinking",
    "arguments",
    "delta",
    "partial_json",
    "stringValue",
];

/// The JSON with a stand-in for each half in a field that may be cut, or in a text that stands alone; nothing
/// if there is none. JSON that uses such characters itself is left as it is, so that a stand-in is always one.
pub fn with_stand_ins(json: &str) -> Option<String> {
    let escaped = json.to_ascii_lowercase();
    let in_use = |text: &str| text.chars().any(|char| char as u32 >= STAND_IN);
    if in_use(json) || escaped.contains("\\udbfe") || escaped.contains("\\udbff") {
        return None;
    }
    rewrite(json, |field, half| {
        let stand_in = STAND_IN + u32::from(half - FIRST.start());
        char::from_u32(stand_in).filter(|_| field.is_none_or(|field| CUT_FIELDS.contains(&field)))
    })
}

/// The JSON with U+FFFD for each half; nothing if there is none.
pub fn replaced(json: &str) -> Option<String> {
    rewrite(json, |_, _| Some(char::REPLACEMENT_CHARACTER))
}

/// Puts the characters together again: a first half is held until what comes next.
#[derive(Debug, Default)]
pub struct Joiner {
    first: Option<u16>,
}

impl Joiner {
    /// Whether a half is held.
    pub fn holds(&self) -> bool {
        self.first.is_some()
    }

    /// The next text, `marked` if it may hold stand-ins. A half that stays alone is U+FFFD, and the second
    /// value says that there was one.
    pub fn join(&mut self, text: &str, marked: bool) -> (String, bool) {
        let mut joined = String::with_capacity(text.len() + char::REPLACEMENT_CHARACTER.len_utf8());
        let mut alone = false;
        let mut lose = |joined: &mut String| {
            joined.push(char::REPLACEMENT_CHARACTER);
            alone = true;
        };
        for char in text.chars() {
            let half = half_of(char).filter(|_| marked);
            match (self.first.take(), half) {
                (Some(first), Some(second)) if SECOND.contains(&second) => {
                    joined.extend(char::decode_utf16([first, second]).flatten());
                    continue;
                }
                (Some(_), _) => lose(&mut joined),
                (None, _) => {}
            }
            match half {
                Some(first) if FIRST.contains(&first) => self.first = Some(first),
                Some(_) => lose(&mut joined),
                None => joined.push(char),
            }
        }
        (joined, alone)
    }

    /// What is left where nothing more comes: of a half that is held, U+FFFD.
    pub fn end(&mut self) -> Option<char> {
        self.first.take().map(|_| char::REPLACEMENT_CHARACTER)
    }
}

fn half_of(char: char) -> Option<u16> {
    let nth = (char as u32).checked_sub(STAND_IN)?;
    Some(FIRST.start() + u16::try_from(nth).ok()?)
}

fn rewrite(json: &str, stand_in: impl Fn(Option<&str>, u16) -> Option<char>) -> Option<String> {
    let mut out = String::with_capacity(json.len());
    let (mut rest, mut field, mut changed) = (json, None, false);
    while let Some((before, text)) = rest.split_once('"') {
        let (text, behind) = text.split_at_checked(length(text)?)?;
        out.push_str(before);
        out.push('"');
        let behind = behind.strip_prefix('"')?;
        if behind.trim_start().starts_with(':') {
            field = Some(text);
            out.push_str(text);
        } else {
            changed |= rewrite_text(text, &mut out, |half| stand_in(field, half));
        }
        out.push('"');
        rest = behind;
    }
    out.push_str(rest);
    changed.then_some(out)
}

/// Bytes of a text up to its closing quote.
fn length(text: &str) -> Option<usize> {
    let mut escaped = false;
    text.bytes().position(|byte| {
        let ends = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends
    })
}

fn rewrite_text(text: &str, out: &mut String, stand_in: impl Fn(u16) -> Option<char>) -> bool {
    let (mut rest, mut changed) = (text, false);
    while let Some((before, escape)) = rest.split_once('\\') {
        out.push_str(before);
        let half = unit(escape).filter(|unit| FIRST.contains(unit) || SECOND.contains(unit));
        let second = || escape.get(5..)?.strip_prefix('\\').and_then(unit);
        let length = match half {
            None => escape.chars().next().map_or(0, char::len_utf8),
            Some(first) if FIRST.contains(&first) && second().is_some_and(|unit| SECOND.contains(&unit)) => {
                11
            }
            Some(_) => 5,
        };
        let (escape, behind) = escape.split_at_checked(length).unwrap_or((escape, ""));
        match half.filter(|_| length == 5).and_then(&stand_in) {
            Some(char) => {
                out.push(char);
                changed = true;
            }
            None => {
                out.push('\\');
                out.push_str(escape);
            }
        }
        rest = behind;
    }
    out.push_str(rest);
    changed
}

/// The code unit of an escape behind its backslash.
fn unit(escape: &str) -> Option<u16> {
    let digits = escape.strip_prefix('u')?.get(..4)?;
    let hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    hex.then(|| u16::from_str_radix(digits, 16).ok()).flatten()
}

#[cfg(test)]
mod tests;
