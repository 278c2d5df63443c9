use std::ops::Range;

use super::{CLOSING, Found, Masked, OPENING, Wish, Word};

/// Words that say that a file is spoken of.
const ABOUT_FILES: &[&str] = &[
    "read",
    "open",
    "show",
    "cat",
    "print",
    "display",
    "view",
    "load",
    "see",
    "head",
    "file",
    "files",
    "content",
    "contents",
    "say",
    "says",
    "inside",
    "in",
    "summarise",
    "summarize",
    "what's",
    "whats",
];

/// Verbs whose object is a file, even if it does not look like one.
const VERBS: &[&str] = &["read", "open", "cat", "print", "load", "display"];

/// Words between such a verb and its object.
const FILLERS: &[&str] = &["the", "files", "me", "my", "a", "contents", "content", "of", "please"];

/// Words after which anything is a name.
const NAMING: &[&str] = &["file", "called", "named"];

/// Words that are never a name, even there.
const NO_NAMES: &[&str] =
    &["and", "from", "in", "is", "it", "that", "to", "with", "for", "system", "systems"];

/// Finds the files and folders a question asks for.
pub(super) fn find(text: &mut Masked<'_>) -> Vec<Found> {
    let mut found = Vec::new();
    for at in addresses(text) {
        text.mask(at);
    }
    if let Some((at, folder)) = listing(text) {
        if let Some(folder) = &folder {
            text.mask(folder.clone());
        }
        let folder = folder.and_then(|at| text.original().get(at)).map(str::to_owned);
        found.push((at, Wish::List(folder)));
    }
    for at in names(text) {
        if let Some(name) = text.original().get(at.clone()) {
            found.push((at.start, Wish::Read(name.to_owned())));
        }
        text.mask(at);
    }
    found
}

fn addresses(text: &Masked<'_>) -> Vec<Range<usize>> {
    let words = text.words().into_iter();
    words.filter(|word| word.text.contains("://") || word.text.contains('@')).map(|word| word.at).collect()
}

/// Words for a folder.
const FOLDERS: &[&str] = &["folder", "folders", "directory", "directories"];

/// Words beside the name of a folder.
const BESIDE_FOLDERS: &[&str] = &[
    "the",
    "my",
    "a",
    "all",
    "of",
    "in",
    "me",
    "is",
    "are",
    "folder",
    "directory",
    "called",
    "named",
    "files",
    "content",
    "contents",
    "what's",
    "inside",
    "under",
    "there",
    "please",
    "and",
    "or",
    "to",
    "from",
    "with",
    "that",
    "current",
    "this",
    "root",
    "here",
    "it",
];

/// `list the files in docs`, `which files are there?`, `ls`: where it is said, and the place of the folder.
fn listing(text: &Masked<'_>) -> Option<(usize, Option<Range<usize>>)> {
    let words = with_quotes(text);
    let plain = |word: &Word<'_>| !is_quoted(text, word);
    let about = |word: &Word<'_>| plain(word) && (word.is(FOLDERS) || word.is(&["files", "ls", "dir"]));
    let asks = |word: &Word<'_>| plain(word) && word.is(&["list", "which", "what", "show", "ls", "dir"]);
    let (verb, subject) = words.iter().enumerate().filter(|(_, word)| about(word)).find_map(|(at, _)| {
        let first = at.saturating_sub(5);
        let before = words.get(first..=at)?;
        before.iter().rposition(asks).map(|verb| (first + verb, at))
    })?;
    let (asked, said) = (words.get(verb)?, words.get(subject)?);
    let mut rest = words.iter().skip(subject + 1);
    let within = rest.by_ref().take(3).any(|word| word.is(&["in", "under", "inside", "of"]));
    let folder =
        rest.find(|word| !word.is(&["the", "my", "folder", "directory", "called", "named"]) || !plain(word));
    let here = |word: &Word<'_>| plain(word) && word.is(&["this", "here", "current", "root", "it", "there"]);
    let folder = match folder.filter(|_| within) {
        Some(folder) => Some(folder).filter(|word| !here(word)),
        None => {
            let named = |word: &&Word<'_>| !plain(word) || is_path(word.text);
            let other = |word: &&Word<'_>| !word.is(BESIDE_FOLDERS);
            let behind = words.iter().skip(subject + 1);
            // `ls docs`, `list folder docs`
            let shell = verb == subject && verb == 0;
            let next = behind.clone().next().filter(|_| shell || said.is(FOLDERS)).filter(other);
            // `list the docs folder`
            let between = words.get(verb + 1..subject).unwrap_or_default().iter().rfind(other);
            let between = between.filter(|_| said.is(FOLDERS));
            behind.take(3).find(named).or(next).or(between)
        }
    };
    Some((asked.at.start, folder.map(|word| word.at.clone())))
}

/// `..`, `../a`, `/etc`, `docs/`
fn is_path(word: &str) -> bool {
    word == ".."
        || word == "."
        || word.starts_with('/')
        || word.ends_with('/')
        || word.starts_with("../")
        || word.starts_with("./")
}

fn is_quoted(text: &Masked<'_>, word: &Word<'_>) -> bool {
    let behind = text.original().get(word.at.end..).and_then(|rest| rest.chars().next());
    let before = text.original().get(..word.at.start).and_then(|rest| rest.chars().next_back());
    matches!((before, behind), (Some('"'), Some('"')) | (Some('\''), Some('\'')) | (Some('`'), Some('`')))
        || matches!((before, behind), (Some('“'), Some('”')) | (Some('«'), Some('»')))
}

/// The words, with what stands in quotes as one.
fn with_quotes<'a>(text: &'a Masked<'_>) -> Vec<Word<'a>> {
    let quotes = quoted(text.rest());
    let within = |word: &Word<'_>| {
        quotes.iter().any(|quote| quote.at.start <= word.at.start && word.at.end <= quote.at.end)
    };
    let mut words: Vec<_> = text.words().into_iter().filter(|word| !within(word)).collect();
    words.extend(quotes.iter().cloned());
    words.sort_by_key(|word| word.at.start);
    words
}

fn names(text: &Masked<'_>) -> Vec<Range<usize>> {
    let words = with_quotes(text);

    /// What the word before makes of the next one.
    #[derive(PartialEq)]
    enum Expect {
        Anything,
        Object,
        Name,
        AndMore,
    }
    let about_files = words.len() == 1 || words.iter().any(|word| word.is(ABOUT_FILES));
    let mut expect = Expect::Anything;
    let mut found = Vec::new();
    for word in &words {
        let object = || is_quoted(text, word) || names_itself(word.text) || looks_like_object(word.text);
        let name = match expect {
            Expect::Anything | Expect::AndMore => about_files && names_itself(word.text),
            Expect::Object => object(),
            Expect::Name => !word.is(NO_NAMES) && !word.is(NAMING),
        };
        expect = match expect {
            _ if name => Expect::AndMore,
            Expect::Object | Expect::Name if word.is(NAMING) => Expect::Name,
            Expect::Anything if word.is(&["called", "named"]) => Expect::Name,
            Expect::Object if word.is(FILLERS) => Expect::Object,
            Expect::AndMore if word.is(&["and"]) => Expect::Object,
            _ if word.is(VERBS) => Expect::Object,
            _ => Expect::Anything,
        };
        if name {
            found.push(word.at.clone());
        }
    }
    found
}

/// A name with an extension, or a dot file: `notes.txt`, `docs/plan.md`, `.env`.
fn names_itself(word: &str) -> bool {
    let name = word.rsplit('/').next().unwrap_or_default();
    let Some((stem, extension)) = name.rsplit_once('.') else { return false };
    let letters = |text: &str| text.chars().next().is_some_and(char::is_alphabetic);
    let plain = extension.chars().all(char::is_alphanumeric) && extension.chars().count() <= 8;
    // `e.g` and `p.m` are no files.
    let abbreviation = stem.chars().count() == 1 && extension.chars().count() == 1 && name == word;
    letters(extension) && plain && !abbreviation && !word.contains(['*', '=', '(', '^'])
}

/// What else a verb's object may look like: `docs/notes`, `README`, `Makefile`.
fn looks_like_object(word: &str) -> bool {
    let path = word.contains('/') && word.chars().any(char::is_alphabetic);
    let capitals =
        word.len() > 1 && word.starts_with(char::is_uppercase) && !word.contains(char::is_lowercase);
    path || capitals || (word.starts_with(char::is_uppercase) && word.ends_with("file"))
}

/// Texts in quotes: names with blanks in them.
fn quoted(text: &str) -> Vec<Word<'_>> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(open) = text.get(at..).and_then(|rest| rest.chars().next()) {
        let start = at + open.len_utf8();
        let close = match open {
            '"' | '\'' | '`' => Some(open),
            '“' => Some('”'),
            '«' => Some('»'),
            _ => None,
        };
        let before = text.get(..at).and_then(|text| text.chars().next_back());
        let opens = before.is_none_or(|c| c.is_whitespace() || OPENING.contains(&c));
        let end = close.filter(|_| opens).and_then(|close| end_of_quote(text, start, close));
        match end {
            Some(end) if end > start => {
                if let Some(text) = text.get(start..end) {
                    found.push(Word { at: start..end, text });
                }
                at = end;
            }
            _ => at = start,
        }
    }
    found
}

fn end_of_quote(text: &str, start: usize, close: char) -> Option<usize> {
    let rest = text.get(start..)?;
    let ends = rest.match_indices(close).find(|(at, found)| {
        let next = rest.get(at + found.len()..).and_then(|rest| rest.chars().next());
        next.is_none_or(|c| c.is_whitespace() || CLOSING.contains(&c))
    });
    ends.map(|(at, _)| start + at)
}
