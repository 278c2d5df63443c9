//! Finds in a question what the tools can do something about.

mod arithmetic;
mod files;
mod lexemes;
mod places;
#[cfg(test)]
mod tests;

use std::ops::Range;

/// What of a question is looked at, in bytes: the rest of a page that was pasted in holds no question, and
/// the search for brackets that belong together may take quadratic time.
const MAX_QUESTION: usize = 8_000;

/// Something a tool can do.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Wish {
    /// Work this expression out.
    Calculate(String),
    /// Tell the time, in this zone or in the user's.
    Time(Option<String>),
    /// Read this file.
    Read(String),
    /// List this folder, or the root.
    List(Option<String>),
}

/// All wishes, in the order of the question, each once.
pub(crate) fn wishes(question: &str) -> Vec<Wish> {
    let whole = |end: &usize| question.is_char_boundary(*end);
    let end = (0..=MAX_QUESTION.min(question.len())).rev().find(whole).unwrap_or_default();
    let question = question.get(..end).unwrap_or_default();
    let mut text = Masked::new(question);
    let mut found = Vec::new();
    found.extend(files::find(&mut text));
    found.extend(places::find(&mut text));
    found.extend(arithmetic::find(text.rest()).into_iter().map(|at| {
        let expression = question.get(at.clone()).unwrap_or_default();
        (at.start, Wish::Calculate(expression.to_owned()))
    }));
    found.sort_by_key(|(at, _)| *at);
    let mut wishes: Vec<Wish> = Vec::new();
    for (_, wish) in found {
        if !wishes.contains(&wish) {
            wishes.push(wish);
        }
    }
    wishes
}

type Found = (usize, Wish);

/// A text of which parts have been understood: they are overwritten, at the same length, so that nobody finds
/// an expression in the middle of a file name.
#[derive(Debug)]
struct Masked<'a> {
    original: &'a str,
    rest: String,
}

impl<'a> Masked<'a> {
    fn new(original: &'a str) -> Self {
        Self { original, rest: original.to_owned() }
    }

    fn original(&self) -> &'a str {
        self.original
    }

    fn rest(&self) -> &str {
        &self.rest
    }

    fn mask(&mut self, at: Range<usize>) {
        if let Some(part) = self.rest.get(at.clone()) {
            self.rest.replace_range(at, &"_".repeat(part.len()));
        }
    }

    /// The words of what is left, without the punctuation around them.
    fn words(&self) -> Vec<Word<'_>> {
        words(&self.rest)
    }
}

/// A word with its place.
#[derive(Clone, Debug)]
struct Word<'a> {
    at: Range<usize>,
    text: &'a str,
}

impl Word<'_> {
    fn is(&self, any_of: &[&str]) -> bool {
        any_of.iter().any(|word| self.text.eq_ignore_ascii_case(word))
    }
}

fn words(text: &str) -> Vec<Word<'_>> {
    let mut words = Vec::new();
    let mut at = 0;
    for piece in text.split_inclusive(char::is_whitespace) {
        let (start, piece) = (at, piece.trim_end());
        at += piece.len()
            + (text.get(at + piece.len()..).and_then(|rest| rest.chars().next()).map_or(0, char::len_utf8));
        let opened = piece.trim_start_matches(OPENING);
        let word = trimmed(opened);
        let start = start + (piece.len() - opened.len());
        if !word.is_empty() {
            words.push(Word { at: start..start + word.len(), text: word });
        }
    }
    words
}

/// Without the punctuation behind it, which the dots of `..` and `../..` are not.
fn trimmed(word: &str) -> &str {
    let bare = word.trim_end_matches(CLOSING);
    let dotted = word.trim_end_matches(|c| c != '.' && CLOSING.contains(&c));
    let above = dotted == ".." || dotted.ends_with("/..");
    if above { dotted } else { bare }
}

const OPENING: &[char] = &['"', '\'', '`', '(', '[', '{', '<', '“', '‘', '«', '¿', '¡'];
const CLOSING: &[char] =
    &['"', '\'', '`', ')', ']', '}', '>', '”', '’', '»', '.', ',', ';', ':', '!', '?', '…'];
