//! Arithmetic, exact where decimals are: 28 digits and a decimal point, no binary fractions.

mod evaluate;
mod syntax;
#[cfg(test)]
mod tests;

use schemars::JsonSchema;
use serde::Deserialize;

pub(crate) use self::syntax::{CONSTANTS, FUNCTIONS, thousands};

/// The longest expression, in characters. The grammar recurses, so the length bounds the stack: a sum over a
/// page of numbers fits, and the deepest nesting of that length needs a fraction of a thread's stack.
pub(crate) const MAX_EXPRESSION: usize = 200;

/// Digits shown of a result that is no integer: four fewer than the arithmetic has, so that its own rounding
/// does not show (`1/3*3` is 1).
const SHOWN_DIGITS: u32 = 24;

/// Input of the calculator.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CalculatorArgs {
    /// The expression, for example `17*23` or `sqrt(2)^3`. Operators: + - * / % (remainder) ^ ! and brackets; also
    /// `5 mod 3` and `20% of 50`. Numbers: `1,000.5` (outside of functions), `1e3`, `0x1F`.
    /// Functions: sqrt, abs, floor, ceil, round, exp, ln, log10, sin, cos, tan (radians), min, max.
    /// Constants: pi, e.
    pub(crate) expression: String,
}

/// Why there is no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Fault {
    #[error("the expression is empty")]
    Empty,
    #[error("the expression has {length} characters; at most {MAX_EXPRESSION} are taken")]
    TooLong { length: usize },
    #[error("the expression ends where a number was expected")]
    Unfinished,
    #[error("a bracket is not closed")]
    Unclosed,
    #[error("cannot read the expression from `{rest}` on{}", if rest.starts_with('(') { "; a product needs its sign, `*`" } else { "" })]
    Unreadable { rest: String },
    #[error("`{name}` is not known{}", suggestion.as_ref().map(|s| format!("; did you mean `{s}`?")).unwrap_or_default())]
    UnknownName { name: String, suggestion: Option<String> },
    #[error("`{function}` takes {takes}, not {given}")]
    Arguments { function: &'static str, takes: &'static str, given: usize },
    #[error("a number of more than 28 digits cannot be held")]
    NumberTooLong,
    #[error("division by zero")]
    DivisionByZero,
    #[error("the result is out of range: numbers go up to about 7.9e28 and have at most 28 decimals")]
    OutOfRange,
    #[error("`{function}` takes angles up to 10,000 radians")]
    AngleTooLarge { function: &'static str },
    #[error("`{function}` has no value there")]
    Undefined { function: &'static str },
}

/// Works an expression out and writes the result: integers without decimals, others with up to 24 digits.
///
/// # Errors
/// If the expression cannot be read or has no value.
pub(crate) fn calculate(expression: &str) -> Result<String, Fault> {
    let value = evaluate::evaluate(&syntax::parse(expression)?)?;
    let shown = if value.is_integer() { Some(value) } else { value.round_sf(SHOWN_DIGITS) };
    Ok(shown.unwrap_or(value).normalize().to_string())
}
