use rust_decimal::{Decimal, MathematicalOps, RoundingStrategy};

use super::Fault;
use super::syntax::{Expr, Operator};

/// The largest angle, in radians: beyond it, taking the angle modulo 2π costs more of the 28 digits than are
/// held back from view.
const MAX_ANGLE: Decimal = Decimal::from_parts(10_000, 0, 0, false, 0);

/// A cosine not above this is zero but for rounding (1e-20).
const NO_COSINE: Decimal = Decimal::from_parts(1, 0, 0, false, 20);

pub(super) fn evaluate(expr: &Expr) -> Result<Decimal, Fault> {
    match expr {
        Expr::Number(value) => Ok(*value),
        Expr::Negative(inner) => Ok(-evaluate(inner)?),
        Expr::Factorial(inner) => factorial(evaluate(inner)?),
        Expr::Binary(operator, a, b) => binary(*operator, evaluate(a)?, evaluate(b)?),
        Expr::Call(function, arguments) => {
            let arguments: Result<Vec<_>, _> = arguments.iter().map(evaluate).collect();
            call(function.name, &arguments?)
        }
    }
}

fn binary(operator: Operator, a: Decimal, b: Decimal) -> Result<Decimal, Fault> {
    let value = match operator {
        Operator::Add => a.checked_add(b),
        Operator::Subtract => a.checked_sub(b),
        Operator::Multiply => a.checked_mul(b),
        Operator::Divide | Operator::Remainder if b.is_zero() => return Err(Fault::DivisionByZero),
        Operator::Divide => a.checked_div(b),
        Operator::Remainder => a.checked_rem(b),
        Operator::PercentOf => a.checked_mul(b).and_then(|product| product.checked_div(Decimal::ONE_HUNDRED)),
        Operator::Power => return power(a, b),
    };
    value.ok_or(Fault::OutOfRange)
}

fn power(base: Decimal, exponent: Decimal) -> Result<Decimal, Fault> {
    if base.is_zero() && exponent.is_sign_negative() && !exponent.is_zero() {
        return Err(Fault::DivisionByZero);
    }
    if !exponent.is_integer() {
        return match base.is_sign_negative() {
            true => Err(Fault::Undefined { function: "^" }),
            false => base.checked_powd(exponent).ok_or(Fault::OutOfRange),
        };
    }
    let times = u64::try_from(exponent.abs()).map_err(|_| Fault::OutOfRange)?;
    match base.checked_powu(times) {
        Some(power) if exponent.is_sign_negative() => {
            Decimal::ONE.checked_div(power).ok_or(Fault::OutOfRange)
        }
        Some(power) => Ok(power),
        None => Err(Fault::OutOfRange),
    }
}

fn factorial(n: Decimal) -> Result<Decimal, Fault> {
    if !n.is_integer() || (n.is_sign_negative() && !n.is_zero()) {
        return Err(Fault::Undefined { function: "!" });
    }
    let n = u64::try_from(n).map_err(|_| Fault::OutOfRange)?;
    // Leaves at the first product out of range, so that no number makes it long.
    (2..=n)
        .try_fold(Decimal::ONE, |product, factor| product.checked_mul(factor.into()))
        .ok_or(Fault::OutOfRange)
}

fn call(function: &'static str, arguments: &[Decimal]) -> Result<Decimal, Fault> {
    let Some((&x, more)) = arguments.split_first() else { return Err(Fault::Undefined { function }) };
    let undefined = Fault::Undefined { function };
    match function {
        "sqrt" => x.sqrt().ok_or(undefined),
        "abs" => Ok(x.abs()),
        "floor" => Ok(x.floor()),
        "ceil" => Ok(x.ceil()),
        "round" => {
            let decimals = more.first().copied().unwrap_or_default();
            let decimals = u32::try_from(decimals).ok().filter(|_| decimals.is_integer()).ok_or(undefined)?;
            Ok(x.round_dp_with_strategy(decimals, RoundingStrategy::MidpointAwayFromZero))
        }
        "exp" => x.checked_exp().ok_or(Fault::OutOfRange),
        "ln" => x.checked_ln().ok_or(undefined),
        "log10" => x.checked_log10().ok_or(undefined),
        "sin" | "cos" | "tan" if x.abs() > MAX_ANGLE => Err(Fault::AngleTooLarge { function }),
        "sin" => x.checked_sin().ok_or(undefined),
        "cos" => x.checked_cos().ok_or(undefined),
        // Not `checked_tan`, which is right to ten digits only.
        "tan" => match (x.checked_sin(), x.checked_cos()) {
            (Some(sin), Some(cos)) if cos.abs() > NO_COSINE => sin.checked_div(cos).ok_or(Fault::OutOfRange),
            _ => Err(undefined),
        },
        "min" => Ok(more.iter().copied().fold(x, Decimal::min)),
        "max" => Ok(more.iter().copied().fold(x, Decimal::max)),
        _ => Err(undefined),
    }
}
