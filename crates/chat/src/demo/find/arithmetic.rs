use std::ops::Range;

use crate::tools::calculator::{CONSTANTS, FUNCTIONS};

/// The expressions of a text, longest first from each place, none inside another. Something is an expression
/// if it has an operator or a function: a bare number is not, nor is a date.
///
/// It may stand between any words and punctuation, but not glued to them: `5kg`, `v1.2-3` and `1,000*3` hold
/// none that could be passed on as it is meant.
pub(super) fn find(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(c) = text.get(at..).and_then(|rest| rest.chars().next()) {
        match starts(text, at).then(|| Scan::new(text, at).run()).flatten() {
            Some(end) if !is_date(text.get(at..end).unwrap_or_default()) => {
                found.push(at..end);
                at = end;
            }
            Some(end) => at = end,
            None => at += c.len_utf8(),
        }
    }
    found
}

/// Whether an expression may start here: at a character that begins one, with no word, number or operator
/// directly before it.
fn starts(text: &str, at: usize) -> bool {
    let mut before = text.get(..at).unwrap_or_default().chars().rev();
    let free = match (before.next(), before.next()) {
        (Some(','), Some(digit)) => !digit.is_ascii_digit(),
        (Some('('), Some(name)) => !is_word(name),
        (Some(c), _) => !(is_word(c) || is_operator(c) || matches!(c, '.' | '\\' | '@' | '#' | '~' | '&')),
        (None, _) => true,
    };
    let mut from = text.get(at..).unwrap_or_default().chars();
    free && match (from.next(), from.next()) {
        // A dash with a blank behind it begins an item of a list.
        (Some(c), next) if is_sign(c) => next.is_some_and(|next| !next.is_whitespace()),
        (Some(c), _) => c.is_alphanumeric() || matches!(c, '(' | '.'),
        (None, _) => false,
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn is_sign(c: char) -> bool {
    matches!(c, '-' | '−' | '+')
}

fn is_operator(c: char) -> bool {
    is_sign(c) || matches!(c, '*' | '×' | '·' | '/' | '÷' | '%' | '^')
}

/// `2026-03-13` or `13/03/2026`, which are no subtraction and no division.
fn is_date(text: &str) -> bool {
    ['-', '/'].iter().any(|sign| {
        let lengths: Option<Vec<_>> = text
            .split(*sign)
            .map(|part| part.bytes().all(|b| b.is_ascii_digit()).then_some(part.len()))
            .collect();
        matches!(lengths.as_deref(), Some([4, 1..=2, 1..=2] | [1..=2, 1..=2, 4]))
    })
}

/// A reading of one expression from left to right. It keeps the last place at which all brackets were closed
/// and an operand was complete: the expression ends there, whatever words follow.
struct Scan<'a> {
    text: &'a str,
    at: usize,
    /// Open brackets; true for those of a function, which may hold commas.
    brackets: Vec<bool>,
    /// Whether there is something to work out.
    substance: bool,
    end: Option<usize>,
}

impl<'a> Scan<'a> {
    fn new(text: &'a str, at: usize) -> Self {
        Self { text, at, brackets: Vec::new(), substance: false, end: None }
    }

    fn run(mut self) -> Option<usize> {
        while self.operand() && self.operator() {}
        // Stopped within a word (`5kg`, `3*x`, `2.5.1`): what was read is a part of something else.
        let before = self.text.get(..self.at).and_then(|text| text.chars().next_back());
        let ahead = self.rest().trim_start_matches('.');
        let glued = ahead.starts_with(is_word) && before.is_some_and(|c| is_word(c) || is_operator(c));
        // An operator that hangs on the last operand (`5+3%`) would change what is meant.
        let behind = self.end.and_then(|end| self.text.get(end..));
        let hanging = behind.is_some_and(|rest| rest.starts_with(is_operator));
        self.end.filter(|_| !glued && !hanging)
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// What follows the blanks, and how many bytes they take.
    fn ahead(&self) -> (&'a str, usize) {
        let rest = self.rest();
        let ahead = rest.trim_start_matches([' ', '\t', '\u{a0}']);
        (ahead, rest.len() - ahead.len())
    }

    fn mark(&mut self) {
        if self.substance && self.brackets.is_empty() {
            self.end = Some(self.at);
        }
    }

    /// Reads signs and opening brackets up to a number or a constant. Whether there was one.
    fn operand(&mut self) -> bool {
        loop {
            let (ahead, blanks) = self.ahead();
            let Some(c) = ahead.chars().next() else { return false };
            let name = ahead.get(..ahead.find(|c| !is_word(c)).unwrap_or(ahead.len())).unwrap_or_default();
            let opens = ahead.get(name.len()..).is_some_and(|rest| rest.starts_with('('));
            if is_sign(c) {
                self.at += blanks + c.len_utf8();
            } else if c == '(' {
                self.brackets.push(false);
                self.at += blanks + 1;
            } else if opens && FUNCTIONS.iter().any(|function| function.name == name) {
                self.brackets.push(true);
                self.substance = true;
                self.at += blanks + name.len() + 1;
            } else {
                let constant = !opens && CONSTANTS.iter().any(|(constant, _)| *constant == name);
                let length = if constant { name.len() } else { number(ahead) };
                if length > 0 {
                    self.at += blanks + length;
                    self.mark();
                }
                return length > 0;
            }
        }
    }

    /// Reads closing brackets up to an operator, or a comma between arguments. Whether there was one.
    fn operator(&mut self) -> bool {
        loop {
            let (ahead, blanks) = self.ahead();
            match ahead.chars().next() {
                Some(')') if self.brackets.pop().is_some() => {
                    self.at += blanks + 1;
                    self.mark();
                }
                Some(',') if self.brackets.last() == Some(&true) => {
                    self.at += blanks + 1;
                    return true;
                }
                Some(c) if is_operator(c) => {
                    self.at += blanks + if ahead.starts_with("**") { 2 } else { c.len_utf8() };
                    self.substance = true;
                    return true;
                }
                _ => return false,
            }
        }
    }
}

/// How many bytes of a number stand here. A dot belongs to it only with digits behind it: else it ends a
/// sentence.
fn number(text: &str) -> usize {
    let digits =
        |from: usize| text.get(from..).map_or(0, |rest| rest.bytes().take_while(u8::is_ascii_digit).count());
    let mut end = digits(0);
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
