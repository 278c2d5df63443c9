use std::ops::RangeInclusive;

use rust_decimal::Decimal;
use winnow::combinator::{
    Infix, Postfix, Prefix, alt, cut_err, dispatch, expression, not, opt, preceded, separated,
};
use winnow::error::{ErrMode, ParserError};
use winnow::stream::AsChar;
use winnow::token::{one_of, take_while};
use winnow::{ModalResult, Parser};

use super::{Fault, MAX_EXPRESSION};
use crate::text::{nearest, shorten};

/// An expression that has been read.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Expr {
    Number(Decimal),
    Negative(Box<Expr>),
    Factorial(Box<Expr>),
    Binary(Operator, Box<Expr>, Box<Expr>),
    Call(&'static Function, Vec<Expr>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    /// `20% of 50`.
    PercentOf,
    Power,
}

/// A function of the calculator.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Function {
    pub(crate) name: &'static str,
    takes: &'static str,
    arity: RangeInclusive<usize>,
}

const fn function(name: &'static str, takes: &'static str, arity: RangeInclusive<usize>) -> Function {
    Function { name, takes, arity }
}

const ONE: &str = "one argument";
const SOME: &str = "at least one argument";

pub(crate) const FUNCTIONS: &[Function] = &[
    function("sqrt", ONE, 1..=1),
    function("abs", ONE, 1..=1),
    function("floor", ONE, 1..=1),
    function("ceil", ONE, 1..=1),
    function("round", "a number and, if wanted, a number of decimals", 1..=2),
    function("exp", ONE, 1..=1),
    function("ln", ONE, 1..=1),
    function("log10", ONE, 1..=1),
    function("sin", ONE, 1..=1),
    function("cos", ONE, 1..=1),
    function("tan", ONE, 1..=1),
    function("min", SOME, 1..=usize::MAX),
    function("max", SOME, 1..=usize::MAX),
];

pub(crate) const CONSTANTS: &[(&str, Decimal)] = &[("pi", Decimal::PI), ("e", Decimal::E)];

/// Reads an expression.
pub(super) fn parse(text: &str) -> Result<Expr, Fault> {
    let length = text.trim().chars().count();
    match length {
        0 => return Err(Fault::Empty),
        1..=MAX_EXPRESSION => {}
        _ => return Err(Fault::TooLong { length }),
    }
    let plain = without_thousands(text.trim_end());
    let mut rest = plain.as_str();
    match sum(&mut rest) {
        Ok(expr) if rest.is_empty() => Ok(expr),
        Ok(_) => Err(Fault::from_input(&rest)),
        Err(error) => Err(error.into_inner().unwrap_or_else(|_| Fault::from_input(&rest))),
    }
}

/// `1,000` as `1000`. Not between the arguments of a function, where a comma is a comma.
fn without_thousands(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut in_function = Vec::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        match c {
            '(' => {
                let name = plain.trim_end().rsplit(|c: char| !is_word(c)).next();
                in_function.push(FUNCTIONS.iter().any(|function| Some(function.name) == name));
            }
            ')' => _ = in_function.pop(),
            _ => {}
        }
        let within = plain.ends_with(|c| is_word(c) || matches!(c, '.' | ','));
        let length = match in_function.last() {
            Some(true) => 0,
            _ if within => 0,
            _ => thousands(rest),
        };
        let (read, behind) = rest.split_at(length.max(c.len_utf8()));
        match length {
            0 => plain.push_str(read),
            _ => plain.extend(read.chars().filter(|c| *c != ',')),
        }
        rest = behind;
    }
    plain
}

/// How many bytes of an integer with thousands separators stand here.
pub(crate) fn thousands(text: &str) -> usize {
    let digits =
        |from: usize| text.get(from..).map_or(0, |rest| rest.bytes().take_while(u8::is_ascii_digit).count());
    let comma = |at: usize| text.get(at..).is_some_and(|rest| rest.starts_with(','));
    let first = digits(0);
    let mut end = first;
    while comma(end) && digits(end + 1) == 3 {
        end += 4;
    }
    let more = comma(end) && digits(end + 1) > 0;
    if (1..=3).contains(&first) && end > first && !more { end } else { 0 }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

impl ParserError<&str> for Fault {
    type Inner = Self;

    fn from_input(input: &&str) -> Self {
        match input.trim() {
            "" => Self::Unfinished,
            rest => Self::Unreadable { rest: shorten(rest, 20) },
        }
    }

    fn into_inner(self) -> Result<Self, Self> {
        Ok(self)
    }
}

type Cut = ErrMode<Fault>;

fn sum(input: &mut &str) -> ModalResult<Expr, Fault> {
    expression(operand)
        .prefix(preceded(spaces, sign))
        .postfix(preceded(spaces, factorial))
        .infix(preceded(spaces, operator))
        .parse_next(input)
}

/// `3!`, but not `3!!`, which some take for something else than `(3!)!`.
fn factorial<'i>(input: &mut &'i str) -> ModalResult<Postfix<&'i str, Expr, Cut>, Fault> {
    ('!', not('!')).parse_next(input)?;
    Ok(Postfix(7, |_, a| Ok(Expr::Factorial(Box::new(a)))))
}

/// A sign binds tighter than a product and looser than a power: `-2^2` is −4, `2^-1` is 0.5.
fn sign<'i>(input: &mut &'i str) -> ModalResult<Prefix<&'i str, Expr, Cut>, Fault> {
    dispatch! { one_of(['-', '−', '–', '+']);
        '-' | '−' | '–' => Prefix(5, |_, a| Ok(Expr::Negative(Box::new(a)))),
        _ => Prefix(5, |_, a| Ok(a)),
    }
    .parse_next(input)
}

fn operator<'i>(input: &mut &'i str) -> ModalResult<Infix<&'i str, Expr, Cut>, Fault> {
    if opt("**").parse_next(input)?.is_some() {
        return Ok(Infix::Right(6, |_, a, b| binary(Operator::Power, a, b)));
    }
    if opt(('%', spaces, "of", word_end)).parse_next(input)?.is_some() {
        return Ok(Infix::Left(4, |_, a, b| binary(Operator::PercentOf, a, b)));
    }
    if opt(("mod", word_end)).parse_next(input)?.is_some() {
        return Ok(Infix::Left(3, |_, a, b| binary(Operator::Remainder, a, b)));
    }
    if opt((one_of(['x', 'X']), not(one_of(char::is_alphabetic)))).parse_next(input)?.is_some() {
        return Ok(Infix::Left(3, |_, a, b| binary(Operator::Multiply, a, b)));
    }
    dispatch! { one_of(['+', '-', '−', '–', '*', '×', '·', '/', '÷', '%', '^']);
        '+' => Infix::Left(1, |_, a, b| binary(Operator::Add, a, b)),
        '-' | '−' | '–' => Infix::Left(1, |_, a, b| binary(Operator::Subtract, a, b)),
        '*' | '×' | '·' => Infix::Left(3, |_, a, b| binary(Operator::Multiply, a, b)),
        '/' | '÷' => Infix::Left(3, |_, a, b| binary(Operator::Divide, a, b)),
        '%' => Infix::Left(3, |_, a, b| binary(Operator::Remainder, a, b)),
        _ => Infix::Right(6, |_, a, b| binary(Operator::Power, a, b)),
    }
    .parse_next(input)
}

fn word_end(input: &mut &str) -> ModalResult<(), Fault> {
    not(one_of(is_word)).parse_next(input)
}

fn binary(operator: Operator, a: Expr, b: Expr) -> ModalResult<Expr, Fault> {
    Ok(Expr::Binary(operator, Box::new(a), Box::new(b)))
}

fn operand(input: &mut &str) -> ModalResult<Expr, Fault> {
    preceded(spaces, alt((hexadecimal, number, brackets, named))).parse_next(input)
}

/// `0x1F`.
fn hexadecimal(input: &mut &str) -> ModalResult<Expr, Fault> {
    let digits =
        preceded(('0', one_of(['x', 'X'])), take_while(1.., AsChar::is_hex_digit)).parse_next(input)?;
    let value = i128::from_str_radix(digits, 16).ok();
    let value = value.and_then(|value| Decimal::try_from_i128_with_scale(value, 0).ok());
    value.map(Expr::Number).ok_or(ErrMode::Cut(Fault::NumberTooLong))
}

fn number(input: &mut &str) -> ModalResult<Expr, Fault> {
    let digits = || take_while(1.., AsChar::is_dec_digit);
    let fraction = ('.', take_while(0.., AsChar::is_dec_digit));
    let exponent = (one_of(['e', 'E']), opt(one_of(['+', '-'])), digits());
    let whole = (digits(), opt(fraction)).void();
    let text = (alt((whole, ('.', digits()).void())), opt(exponent)).take().parse_next(input)?;
    let value = if text.contains(['e', 'E']) {
        Decimal::from_scientific(text).ok()
    } else {
        Decimal::from_str_exact(text).ok()
    };
    value.map(Expr::Number).ok_or(ErrMode::Cut(Fault::NumberTooLong))
}

fn brackets(input: &mut &str) -> ModalResult<Expr, Fault> {
    '('.parse_next(input)?;
    let inner = cut_err(sum).parse_next(input)?;
    close(input)?;
    Ok(inner)
}

fn close(input: &mut &str) -> ModalResult<(), Fault> {
    preceded(spaces, ')').void().parse_next(input).map_err(|_: Cut| match input.trim() {
        "" => ErrMode::Cut(Fault::Unclosed),
        _ => ErrMode::from_input(input).cut(),
    })
}

fn named(input: &mut &str) -> ModalResult<Expr, Fault> {
    let name = take_while(1.., is_word).parse_next(input)?;
    if let Some((_, value)) = CONSTANTS.iter().find(|(known, _)| *known == name) {
        return Ok(Expr::Number(*value));
    }
    let Some(function) = FUNCTIONS.iter().find(|known| known.name == name) else {
        let known =
            FUNCTIONS.iter().map(|function| function.name).chain(CONSTANTS.iter().map(|(name, _)| *name));
        let suggestion = nearest(name, known).map(str::to_owned);
        return Err(ErrMode::Cut(Fault::UnknownName { name: shorten(name, 20), suggestion }));
    };
    cut_err(preceded(spaces, '(')).parse_next(input)?;
    let arguments: Vec<Expr> = cut_err(separated(1.., sum, preceded(spaces, ','))).parse_next(input)?;
    close(input)?;
    let given = arguments.len();
    if !function.arity.contains(&given) {
        let Function { name: function, takes, .. } = function;
        return Err(ErrMode::Cut(Fault::Arguments { function, takes, given }));
    }
    Ok(Expr::Call(function, arguments))
}

fn spaces(input: &mut &str) -> ModalResult<(), Fault> {
    take_while(0.., char::is_whitespace).void().parse_next(input)
}
