use std::ops::Range;

use crate::tools::calculator::{CONSTANTS, FUNCTIONS, thousands};

/// What an expression is made of, and what ends one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A number or a constant.
    Number,
    /// What stands where a number could, and is none that the calculator reads: `5kg`, `12:30`, `x`.
    Unknown,
    Word,
    Function,
    Open,
    Close,
    /// Between arguments.
    Comma,
    /// `+` or `-`, which may be a sign, and `-` a dash.
    Sign,
    /// Any other operator.
    Operator,
    Bang,
    /// Punctuation, or the end of a line.
    Other,
}

impl Kind {
    pub(super) fn operates(self) -> bool {
        matches!(self, Self::Sign | Self::Operator)
    }

    pub(super) fn begins_operand(self) -> bool {
        matches!(self, Self::Number | Self::Unknown | Self::Function | Self::Open)
    }

    pub(super) fn ends_operand(self) -> bool {
        matches!(self, Self::Number | Self::Unknown | Self::Word | Self::Close | Self::Bang)
    }
}

/// A piece of a text, with its place.
#[derive(Clone, Debug)]
pub(super) struct Lexeme {
    pub(super) at: Range<usize>,
    pub(super) kind: Kind,
    /// Whether blanks stand before it.
    pub(super) gap: bool,
}

/// A whole text in pieces. What is glued together is one piece: no number is found within `v1.2` or `12:30`.
pub(super) fn lex(text: &str) -> Vec<Lexeme> {
    let mut lexer = Lexer { text, found: Vec::new(), in_function: Vec::new() };
    let (mut at, mut gap) = (0, false);
    while let Some(c) = lexer.from(at).chars().next() {
        if is_blank(c) {
            gap = true;
            at += c.len_utf8();
            continue;
        }
        let (kind, length) = lexer.next(at, c, gap);
        lexer.found.push(Lexeme { at: at..at + length, kind, gap });
        at += length;
        gap = false;
    }
    lexer.found
}

struct Lexer<'a> {
    text: &'a str,
    found: Vec<Lexeme>,
    /// Open brackets; true for those of a function.
    in_function: Vec<bool>,
}

impl<'a> Lexer<'a> {
    fn from(&self, at: usize) -> &'a str {
        self.text.get(at..).unwrap_or_default()
    }

    fn last(&self) -> Option<Kind> {
        self.found.last().map(|lexeme| lexeme.kind)
    }

    /// What stands here, and its length in bytes.
    fn next(&mut self, at: usize, c: char, gap: bool) -> (Kind, usize) {
        let rest = self.from(at);
        match c {
            '(' => {
                self.in_function.push(self.last() == Some(Kind::Function));
                (Kind::Open, 1)
            }
            ')' => {
                self.in_function.pop();
                (Kind::Close, 1)
            }
            ',' if self.arguments() => (Kind::Comma, 1),
            '!' => (Kind::Bang, 1),
            '+' | '-' | '−' | '–' => (Kind::Sign, c.len_utf8()),
            '%' => (Kind::Operator, percent(rest)),
            '*' | '×' | '·' | '/' | '÷' | '^' => {
                (Kind::Operator, if rest.starts_with("**") { 2 } else { c.len_utf8() })
            }
            '.' | '0'..='9' if number(rest, false) > 0 => self.number(rest),
            c if is_word(c) || is_sticky(c) => self.word(rest, gap),
            c => (Kind::Other, c.len_utf8()),
        }
    }

    fn arguments(&self) -> bool {
        self.in_function.last() == Some(&true)
    }

    fn number(&self, rest: &str) -> (Kind, usize) {
        let length = number(rest, !self.arguments());
        let behind = rest.get(length..).unwrap_or_default();
        let digit = |c: char| c.is_ascii_digit();
        // `3x4` is a product.
        if behind.strip_prefix(['x', 'X']).is_some_and(|behind| behind.starts_with(digit)) {
            return (Kind::Number, length);
        }
        let comma = !self.arguments();
        let glued = glued(behind, |mark, next| match mark {
            ',' => comma && digit(next),
            ':' => digit(next),
            '.' | '\'' | '’' => is_word(next),
            mark => is_sticky(mark) || matches!(mark, '€' | '£' | '¥' | '$'),
        });
        (if glued > 0 { Kind::Unknown } else { Kind::Number }, length + glued)
    }

    fn word(&self, rest: &str, gap: bool) -> (Kind, usize) {
        let operand = matches!(self.last(), Some(Kind::Number | Kind::Unknown | Kind::Close | Kind::Bang));
        let times = rest.strip_prefix(['x', 'X']).filter(|_| operand);
        if times.is_some_and(|behind| !gap && behind.starts_with(|c: char| c.is_ascii_digit())) {
            return (Kind::Operator, 1);
        }
        let length = glued(rest, |mark, next| match mark {
            '.' | '\'' | '’' => is_word(next),
            mark => is_sticky(mark),
        });
        let word = rest.get(..length).unwrap_or_default();
        let behind = rest.get(length..).unwrap_or_default();
        let ahead = behind.trim_start_matches(is_blank);
        let opens = ahead.starts_with('(');
        // `3 x -2` is a product, `x-2` a difference.
        let counts = begins_number(ahead) && !behind.starts_with(is_operator);
        let single = word.chars().nth(1).is_none();
        let article =
            matches!(word, "a" | "A" | "I") && gap && !behind.starts_with(|c| is_operator(c) || c == '(');
        let kind = if operand && (word == "mod" || counts && matches!(word, "x" | "X")) {
            Kind::Operator
        } else if opens && FUNCTIONS.iter().any(|function| function.name == word) {
            Kind::Function
        } else if CONSTANTS.iter().any(|(name, _)| *name == word) {
            Kind::Number
        } else if (single && !article) || behind.starts_with('(') || is_odd(word) {
            Kind::Unknown
        } else {
            Kind::Word
        };
        (kind, length)
    }
}

/// No word of a sentence: `v1.2`, `#3`, `___`.
fn is_odd(word: &str) -> bool {
    word.contains(|c: char| c.is_ascii_digit())
        || word.starts_with(is_sticky)
        || !word.contains(char::is_alphabetic)
}

/// How many bytes belong together: letters, digits, and marks that `joins` takes between them.
fn glued(text: &str, joins: impl Fn(char, char) -> bool) -> usize {
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let next = chars.peek().map_or(' ', |(_, next)| *next);
        if !is_word(c) && !joins(c, next) {
            return at;
        }
    }
    text.len()
}

/// Whether something that could be counted with stands here, and no word of a sentence.
fn begins_number(text: &str) -> bool {
    let text = text.trim_start_matches(['-', '−', '+']);
    let name = text.get(..text.find(|c| !is_word(c)).unwrap_or(text.len())).unwrap_or_default();
    let called = !name.is_empty() && text.get(name.len()..).is_some_and(|rest| rest.starts_with('('));
    let single = name.chars().count() == 1 && !matches!(name, "a" | "A" | "I");
    called
        || single
        || name == "pi"
        || name.contains(|c: char| c.is_ascii_digit())
        || text.starts_with(['(', '.'])
}

/// `%`, or `% of`.
fn percent(rest: &str) -> usize {
    let ahead = rest.get(1..).unwrap_or_default().trim_start_matches(is_blank);
    match ahead.strip_prefix("of") {
        Some(behind) if !behind.starts_with(is_word) => rest.len() - behind.len(),
        _ => 1,
    }
}

fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\u{a0}')
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Marks that make one thing of what they touch.
fn is_sticky(c: char) -> bool {
    matches!(c, '@' | '#' | '~' | '&' | '\\' | '°' | '√' | '∞' | '‰')
}

fn is_operator(c: char) -> bool {
    matches!(c, '+' | '-' | '−' | '–' | '*' | '×' | '·' | '/' | '÷' | '%' | '^')
}

/// How many bytes of a number stand here. A dot belongs to it only with digits behind it: else it ends a
/// sentence.
fn number(text: &str, grouped: bool) -> usize {
    let digits =
        |from: usize| text.get(from..).map_or(0, |rest| rest.bytes().take_while(u8::is_ascii_digit).count());
    let hexadecimal = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
    let hexadecimal = hexadecimal.map_or(0, |rest| rest.bytes().take_while(u8::is_ascii_hexdigit).count());
    if hexadecimal > 0 {
        return 2 + hexadecimal;
    }
    let mut end = digits(0).max(if grouped { thousands(text) } else { 0 });
    if text.get(end..).is_some_and(|rest| rest.starts_with('.')) && digits(end + 1) > 0 {
        end += 1 + digits(end + 1);
    }
    if end > 0 && text.get(end..).is_some_and(|rest| rest.starts_with(['e', 'E'])) {
        let sign = text.get(end + 1..).map_or(0, |rest| usize::from(rest.starts_with(['+', '-'])));
        let exponent = digits(end + 1 + sign);
        if exponent > 0 {
            end += 1 + sign + exponent;
        }
    }
    end
}
