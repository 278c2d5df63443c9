use std::ops::Range;

use super::lexemes::{Kind, Lexeme, lex};

/// The expressions of a text, each as long as it goes: what hangs together with something the calculator cannot
/// read is left alone as a whole, so that no part of an expression is taken for it. Something is an expression
/// if it has an operator, a function, or brackets within brackets: a bare number is not, nor is a date.
pub(super) fn find(text: &str) -> Vec<Range<usize>> {
    let lexemes = lex(text);
    let mut runs: Vec<Run> = Vec::new();
    let mut at = 0;
    while at < lexemes.len() {
        match Run::read(text, &lexemes, at) {
            Some(run) => {
                at = run.end;
                // `2 + 5 kg * 3`: one unit does not make two expressions of it.
                let ours = runs.last_mut().filter(|last| run.cut && last.end + 1 == run.start);
                ours.into_iter().for_each(|last| last.cut = true);
                runs.push(run);
            }
            None => at += 1,
        }
    }
    runs.iter().filter_map(|run| run.expression(text, &lexemes)).collect()
}

/// Pieces that hang together.
#[derive(Debug)]
struct Run {
    start: usize,
    end: usize,
    /// Whether something belongs to it that is not in it.
    cut: bool,
}

impl Run {
    /// The run that begins here, if one does.
    fn read(text: &str, lexemes: &[Lexeme], start: usize) -> Option<Self> {
        let kind = |at: usize| lexemes.get(at).map(|lexeme| lexeme.kind);
        let gap = |at: usize| lexemes.get(at).is_none_or(|lexeme| lexeme.gap);
        let first = kind(start)?;
        let before = start.checked_sub(1).and_then(kind);
        let operand_follows = kind(start + 1).is_some_and(Kind::begins_operand);
        let cut = match first {
            Kind::Number | Kind::Unknown | Kind::Function | Kind::Open => false,
            // A sign, not the dash of a list or a sentence; but `5 kg - 2` is a difference.
            Kind::Sign if operand_follows && !gap(start + 1) => {
                !gap(start) && before.is_some_and(Kind::ends_operand)
            }
            Kind::Sign | Kind::Operator if operand_follows && before.is_some_and(Kind::ends_operand) => true,
            // `*` may be the bullet of a list.
            Kind::Operator if operand_follows && !gap(start + 1) => true,
            _ => return None,
        };
        let mut run = Self { start, end: start + 1, cut };
        let mut depth = usize::from(first == Kind::Open);
        while let Some(next) = kind(run.end) {
            let at = run.end;
            if next == Kind::Close && depth == 0 {
                // `1+1)*2` is more than what was read.
                run.cut |= kind(at + 1).is_some_and(Kind::operates)
                    && kind(at + 2).is_some_and(Kind::begins_operand)
                    && gap(at + 1) == gap(at + 2);
                break;
            }
            if !joins(text, lexemes, &run, at) {
                break;
            }
            match next {
                Kind::Open => depth += 1,
                Kind::Close => depth -= 1,
                _ => {}
            }
            run.end += 1;
        }
        Some(run)
    }

    /// The expression in it, if it is one that can be passed on whole.
    fn expression(&self, text: &str, lexemes: &[Lexeme]) -> Option<Range<usize>> {
        let mut parts = lexemes.get(self.start..self.end)?;
        let mut behind = lexemes.get(self.end).is_none_or(|next| next.gap || next.kind == Kind::Other);
        // A dash that begins the rest of the sentence.
        while let [rest @ .., last] = parts
            && last.kind == Kind::Sign
            && last.gap
            && behind
        {
            (parts, behind) = (rest, last.gap);
        }
        // Brackets that are opened here and closed after more words.
        let open = unmatched(parts);
        if let Some((opening, rest)) = parts.split_at_checked(open)
            && opening.iter().all(|part| part.kind == Kind::Open)
            && unmatched(rest) == 0
        {
            parts = rest;
        }
        let whole = !self.cut && !parts.iter().any(|part| matches!(part.kind, Kind::Unknown | Kind::Word));
        let [first, .., last] = parts else { return None };
        let range = first.at.start..last.at.end;
        let words = text.get(range.clone())?;
        let ends = last.kind.ends_operand();
        (whole && ends && has_substance(parts) && !is_date(words) && !is_phone(words)).then_some(range)
    }
}

/// Whether a piece belongs to what was read before it.
fn joins(text: &str, lexemes: &[Lexeme], run: &Run, at: usize) -> bool {
    let (Some(last), Some(next)) = (at.checked_sub(1).and_then(|at| lexemes.get(at)), lexemes.get(at)) else {
        return false;
    };
    let glued = !next.gap;
    match (last.kind, next.kind) {
        (_, Kind::Other) => false,
        // `a -(3)`
        (Kind::Unknown | Kind::Word, Kind::Sign) => {
            glued || lexemes.get(at + 1).is_some_and(|after| after.gap)
        }
        (last, next)
            if last.ends_operand() && (next.operates() || next == Kind::Close || next == Kind::Comma) =>
        {
            true
        }
        (last, Kind::Bang) => last.ends_operand() && glued && is_factorial(text, lexemes, run, at),
        (Kind::Number, Kind::Number) if !glued => splits_thousands(text, last, next),
        (Kind::Number | Kind::Close, Kind::Open) if !glued => is_arithmetic(lexemes, at),
        (last, next) if last.ends_operand() => glued && (next.begins_operand() || next == Kind::Word),
        (Kind::Open, Kind::Word) => false,
        (_, Kind::Word) => glued,
        _ => true,
    }
}

/// Whether a `!` is meant as an operator and not as the end of a sentence.
fn is_factorial(text: &str, lexemes: &[Lexeme], run: &Run, at: usize) -> bool {
    let kind = |at: usize| lexemes.get(at).map(|lexeme| lexeme.kind);
    match kind(at + 1) {
        Some(Kind::Close | Kind::Comma) => true,
        Some(next) if next.operates() => {
            kind(at + 2).is_some_and(|after| after.begins_operand() || after == Kind::Sign)
        }
        next => {
            let alone = run.start + 1 == at;
            let again =
                lexemes.get(run.start..at).is_some_and(|run| run.iter().any(|part| part.kind == Kind::Bang));
            let before = run.start.checked_sub(1).and_then(|before| lexemes.get(before));
            let asked = before.and_then(|before| text.get(before.at.clone())).is_some_and(asks);
            next != Some(Kind::Bang) && (again || alone && (asked || (before.is_none() && next.is_none())))
        }
    }
}

fn asks(word: &str) -> bool {
    let words = ["is", "what's", "what’s", "whats", "calculate", "compute", "evaluate", "out", "of", "solve"];
    words.iter().any(|known| word.eq_ignore_ascii_case(known))
}

/// `1 000`
fn splits_thousands(text: &str, first: &Lexeme, second: &Lexeme) -> bool {
    let digits = |lexeme: &Lexeme| {
        let word = text.get(lexeme.at.clone()).unwrap_or_default();
        if word.bytes().all(|b| b.is_ascii_digit()) { word.len() } else { 0 }
    };
    (1..=3).contains(&digits(first)) && digits(second) == 3
}

/// Whether brackets that open here hold an expression.
fn is_arithmetic(lexemes: &[Lexeme], at: usize) -> bool {
    let (mut depth, mut operator) = (0usize, false);
    for lexeme in lexemes.iter().skip(at) {
        match lexeme.kind {
            Kind::Open => depth += 1,
            Kind::Close if depth == 1 => return operator,
            Kind::Close => depth -= 1,
            Kind::Sign | Kind::Operator => operator = true,
            Kind::Number | Kind::Function | Kind::Comma => {}
            _ => return false,
        }
    }
    false
}

/// How many brackets are not closed.
fn unmatched(parts: &[Lexeme]) -> usize {
    parts.iter().fold(0, |open: usize, part| match part.kind {
        Kind::Open => open + 1,
        Kind::Close => open.saturating_sub(1),
        _ => open,
    })
}

fn has_substance(parts: &[Lexeme]) -> bool {
    let pairs = parts.iter().zip(parts.iter().skip(1));
    let pair = |(a, b): (&Lexeme, &Lexeme)| match (a.kind, b.kind) {
        (Kind::Open, Kind::Open) => true,
        (a, b) => a.ends_operand() && b.operates(),
    };
    parts.iter().any(|part| matches!(part.kind, Kind::Function | Kind::Bang)) || pairs.into_iter().any(pair)
}

/// `2026-03-13` or `13/03/2026`, which are no subtraction and no division.
fn is_date(text: &str) -> bool {
    ['-', '/']
        .iter()
        .any(|sign| matches!(lengths(text, *sign).as_deref(), Some([4, 1..=2, 1..=2] | [1..=2, 1..=2, 4])))
}

/// `555-1234` or `+1-555-123-4567`
fn is_phone(text: &str) -> bool {
    let digits = text.strip_prefix('+').unwrap_or(text);
    matches!(lengths(digits, '-').as_deref(), Some([3, 4] | [3, 2..=3, 4] | [1..=3, 3, 3, 4]))
}

/// How long the numbers are, if nothing else stands between these signs.
fn lengths(text: &str, sign: char) -> Option<Vec<usize>> {
    let parts = text.split(sign);
    parts.map(|part| part.bytes().all(|b| b.is_ascii_digit()).then_some(part.len())).collect()
}
