#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "tests fail by panicking"
)]

use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::*;

fn words(expression: &str) -> String {
    calculate(expression).unwrap_or_else(|fault| format!("! {fault}"))
}

/// [CH-2] [CH-3]
#[test]
fn results_are_those_of_arithmetic_on_paper() {
    let table = [
        ("17*23", "391"),
        ("10/4", "2.5"),
        ("10/5", "2"),
        ("0.1+0.2", "0.3"),
        ("1/3", "0.333333333333333333333333"),
        ("1/3*3", "1"),
        ("1.10", "1.1"),
        ("79228162514264337593543950335", "79228162514264337593543950335"),
        ("2^50", "1125899906842624"),
        ("-2^2", "-4"),
        ("(-2)^2", "4"),
        ("2^3^2", "512"),
        ("2**3", "8"),
        ("2^-1", "0.5"),
        ("8-3-2", "3"),
        ("100/10/2", "5"),
        ("2+3*4", "14"),
        ("2*-3", "-6"),
        ("--3", "3"),
        ("+3", "3"),
        ("-5 % 3", "-2"),
        ("17×23−1", "390"),
        ("10÷4", "2.5"),
        ("1.5e3", "1500"),
        (".5 + 7.", "7.5"),
        (" ( 1 + 2 )\n* 3 ", "9"),
        ("sqrt(16)+abs(-2)", "6"),
        ("round(2.5)", "3"),
        ("round(-2.345, 2)", "-2.35"),
        ("max(1, 2+2, 3)-min(5, 4)", "0"),
        ("floor(-1.5)*ceil(1.2)", "-4"),
        ("ln(e)+log10(1000)+exp(0)", "5"),
        ("sin(pi)", "0"),
        ("cos(pi)", "-1"),
        ("tan(1)", "1.55740772465490223050697"),
        ("sin(10000)", "-0.30561438888825214136091"),
        ("0^0", "1"),
        ("1,000 + 2", "1002"),
        ("1,234,567.5*2", "2469135"),
        ("(1,000)-5 mod (1,000)", "995"),
        ("max(1,200)", "200"),
        ("max((1,200), 3)", "1200"),
        ("3 x 4", "12"),
        ("3x4X2", "24"),
        ("0x10 + 1", "17"),
        ("0xfF", "255"),
        ("0 x 10", "0"),
        ("5 mod 3", "2"),
        ("20% of 50", "10"),
        ("10 / 20% of 50 + 1", "2"),
        ("5 % 3", "2"),
        ("7!", "5040"),
        ("2^3! - 3! * 2", "52"),
        ("-3!", "-6"),
        ("0! + 27!", "10888869450418352160768000001"),
        ("5 – 3", "2"),
    ];
    for (expression, result) in table {
        assert_eq!(words(expression), result, "{expression}");
    }
}

/// [CH-4]
#[test]
fn what_has_no_result_is_said_in_words() {
    let table = [
        ("", "the expression is empty"),
        ("1/0", "division by zero"),
        ("1 % (2-2)", "division by zero"),
        ("0^-1", "division by zero"),
        ("9^9^9^9", "the result is out of range"),
        ("2^100", "the result is out of range"),
        ("10^28*10", "the result is out of range"),
        ("2^99999999999999999999", "the result is out of range"),
        ("exp(1000)", "the result is out of range"),
        ("99999999999999999999999999999", "a number of more than 28 digits cannot be held"),
        ("1e400", "a number of more than 28 digits cannot be held"),
        ("2+", "the expression ends where a number was expected"),
        ("2+*3", "cannot read the expression from `*3` on"),
        ("1 2", "cannot read the expression from `2` on"),
        ("1,00", "cannot read the expression from `,00` on"),
        ("1,000,00", "cannot read the expression from `,000,00` on"),
        ("1000,000", "cannot read the expression from `,000` on"),
        ("28!", "the result is out of range"),
        ("99999999999999999999!", "the result is out of range"),
        ("2.5!", "`!` has no value there"),
        ("(-1)!", "`!` has no value there"),
        ("3!!", "cannot read the expression from `!!` on"),
        ("3 xor 4", "cannot read the expression from `xor 4` on"),
        ("0x", "the expression ends where a number was expected"),
        ("50%", "the expression ends where a number was expected"),
        ("20% off 50", "`off` is not known"),
        ("5//2", "cannot read the expression from `/2` on"),
        ("2(3)", "cannot read the expression from `(3)` on; a product needs its sign, `*`"),
        ("(1+2", "a bracket is not closed"),
        ("1+2)", "cannot read the expression from `)` on"),
        ("x+1", "`x` is not known"),
        ("sqr(4)", "`sqr` is not known; did you mean `sqrt`?"),
        ("sqrt 4", "cannot read the expression from `4` on"),
        ("sqrt(1,2)", "`sqrt` takes one argument, not 2"),
        ("round(1,2,3)", "`round` takes a number and, if wanted, a number of decimals, not 3"),
        ("round(1,0.5)", "`round` has no value there"),
        ("sqrt(-1)", "`sqrt` has no value there"),
        ("ln(0)", "`ln` has no value there"),
        ("(-8)^0.5", "`^` has no value there"),
        ("tan(pi/2)", "`tan` has no value there"),
        ("sin(1e20)", "`sin` takes angles up to 10,000 radians"),
    ];
    for (expression, fault) in table {
        let shown = words(expression);
        assert!(shown.starts_with(&format!("! {fault}")), "{expression}: {shown}");
    }
}

/// Every construct that nests, at the longest an expression can be, on three quarters of the stack that a
/// thread of tokio's pool has.
///
/// [CH-5]
#[test]
fn the_deepest_nesting_fits_on_a_small_stack() {
    let fill = |open: &str, close: &str| {
        let depth = (MAX_EXPRESSION - 1) / (open.len() + close.len());
        format!("{}1{}", open.repeat(depth), close.repeat(depth))
    };
    let nests = ["(", "-", "+", "2^", "2^-", "-(", "abs(", "1-(", "1+2*3^(", "max(1,"];
    let deepest = nests.map(|open| match open.contains('(') {
        true => (fill(open, ")"), fill(open, "")),
        false => (fill(open, ""), fill(open, "")),
    });
    let on_a_small_stack = std::thread::Builder::new().stack_size(3 << 19);
    let all = on_a_small_stack.spawn(move || {
        deepest.map(|(closed, open)| {
            assert!(closed.len() > MAX_EXPRESSION - 15 && closed.len() <= MAX_EXPRESSION);
            let _ = calculate(&open);
            calculate(&closed)
        })
    });
    let results = all.unwrap().join().unwrap();
    assert_eq!(results[0], Ok("1".to_owned()));
    assert!(results.iter().filter(|result| result.is_ok()).count() >= 8, "{results:?}");
    assert_eq!(
        calculate(&"1".repeat(MAX_EXPRESSION + 1)),
        Err(Fault::TooLong { length: MAX_EXPRESSION + 1 })
    );
}

/// An expression of integers with its value, worked out beside the calculator.
fn integers() -> impl Strategy<Value = (String, i128)> {
    let leaf = (-99_999i128..100_000).prop_map(|n| match n {
        0.. => (n.to_string(), n),
        _ => (format!("({n})"), n),
    });
    leaf.prop_recursive(4, 24, 2, |inner| {
        (inner.clone(), inner, 0..3u8, " {0,2}").prop_map(|((a, x), (b, y), operator, space)| {
            let (sign, value) = match operator {
                0 => ("+", x + y),
                1 => ("-", x - y),
                _ => ("*", x.saturating_mul(y)),
            };
            (format!("({a}{space}{sign}{space}{b})"), value)
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// [CH-1]
    #[test]
    fn integers_are_exact_or_out_of_range((expression, value) in integers()) {
        let length = expression.chars().count();
        let expected = match value.unsigned_abs() {
            _ if length > MAX_EXPRESSION => Err(Fault::TooLong { length }),
            0..=79_228_162_514_264_337_593_543_950_335 => Ok(value.to_string()),
            _ => Err(Fault::OutOfRange),
        };
        let result = calculate(&expression);
        // A part may be out of range where the whole is not.
        if result != Err(Fault::OutOfRange) || expected.is_err() {
            prop_assert_eq!(result, expected, "{}", expression);
        } else {
            prop_assert!(expression.matches('*').count() >= 5, "{}", expression);
        }
    }

    /// [CH-5]
    #[test]
    fn any_text_is_answered_at_once(text in "[-+*/%^(),.eE0-9 ]{0,80}|[0-9^*.-]{0,500}|(sqrt|ln|exp|sin|tan|pi|e|round|max|[-+*/^(), 0-9.]){0,60}|\\PC{0,40}") {
        let started = Instant::now();
        let _ = calculate(&text);
        prop_assert!(started.elapsed() < Duration::from_secs(2), "{:?}", text);
    }
}
