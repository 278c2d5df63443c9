#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

use std::cell::Cell;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use super::*;
use crate::tools::calculator::{self, Fault};

fn calculate(expression: &str) -> Wish {
    Wish::Calculate(expression.to_owned())
}
fn time(zone: &str) -> Wish {
    Wish::Time(Some(zone.to_owned()))
}
fn read(name: &str) -> Wish {
    Wish::Read(name.to_owned())
}
fn list(folder: Option<&str>) -> Wish {
    Wish::List(folder.map(str::to_owned))
}

/// [CH-12] [CH-13] [CH-14]
#[test]
fn questions_and_what_they_ask_for() {
    let table: &[(&str, &[Wish])] = &[
        ("what is 17*23, and what time is it?", &[calculate("17*23"), Wish::Time(None)]),
        ("What time is it in New York and in Tokyo?", &[time("America/New_York"), time("Asia/Tokyo")]),
        ("the date in Asia/Kolkata please", &[time("Asia/Kolkata")]),
        (
            "time in San Francisco, São Paulo, UTC",
            &[time("America/Los_Angeles"), time("America/Sao_Paulo"), time("UTC")],
        ),
        ("What day is today?", &[Wish::Time(None)]),
        (
            "is sqrt(2)^2 + max(1, 2) more than (3 + 4) * -2?",
            &[calculate("sqrt(2)^2 + max(1, 2)"), calculate("(3 + 4) * -2")],
        ),
        ("2+2=5", &[calculate("2+2")]),
        ("17*23.", &[calculate("17*23")]),
        ("17 × 23 − 1!", &[calculate("17 × 23 − 1")]),
        ("(see 1+1)", &[calculate("1+1")]),
        ("1+1, 1+1 and 2+2", &[calculate("1+1"), calculate("2+2")]),
        ("10 + 5 - what?", &[calculate("10 + 5")]),
        ("- 2+2\n- 3*3", &[calculate("2+2"), calculate("3*3")]),
        ("1/0", &[calculate("1/0")]),
        ("read notes.txt", &[read("notes.txt")]),
        ("notes.txt", &[read("notes.txt")]),
        ("What is in `docs/plan-2.md`, and 2+2?", &[read("docs/plan-2.md"), calculate("2+2")]),
        ("Please read \"my list.txt\" and README.", &[read("my list.txt"), read("README")]),
        ("show me the file called todo", &[read("todo")]),
        ("read the file ../../etc/passwd", &[read("../../etc/passwd")]),
        ("cat /etc/passwd", &[read("/etc/passwd")]),
        ("open .env", &[read(".env")]),
        ("list files", &[list(None)]),
        ("Which files are there?", &[list(None)]),
        (
            "List the files in the folder docs/deep, and read report-2024-01.txt",
            &[list(Some("docs/deep")), read("report-2024-01.txt")],
        ),
        ("ls", &[list(None)]),
    ];
    for (question, found) in table {
        assert_eq!(wishes(question), *found, "{question}");
    }
}

/// [CH-15]
#[test]
fn what_only_looks_like_it_is_left_alone() {
    let questions = [
        "",
        "Hello!",
        "Tell me a joke about 3 - well, many - ducks.",
        "How many times did it rain?",
        "On 2026-03-13 and 13/03/2026 it was cold.",
        "version v1.2-3, 5kg*2kg, 1,000*3, 3*x, 5+3%, f(3+4) and 2.5.1+1",
        "e.g. at 5 p.m. or so",
        "See https://example.com/a/b.html?x=1+1 or mail me@example.com.",
        "Is Europe/Paris nice?",
        "We met in the mountain center.",
        "and/or",
        "-5",
        "((((",
        "1 +",
    ];
    for question in questions {
        assert_eq!(wishes(question), [], "{question}");
    }
}

/// [CH-15]
#[test]
fn a_hostile_question_takes_no_long_time() {
    let started = std::time::Instant::now();
    for question in
        ["(".repeat(1 << 20), "1+".repeat(1 << 20), "a.b ".repeat(1 << 18), "\"x ".repeat(1 << 18)]
    {
        let _ = wishes(&question);
    }
    assert!(started.elapsed().as_secs() < 20, "{:?}", started.elapsed());
    let _ = wishes(&"é".repeat(MAX_QUESTION));
}

fn number() -> impl Strategy<Value = String> {
    prop_oneof![
        (0u32..100_000).prop_map(|n| n.to_string()),
        (0u32..1_000, 0u32..1_000).prop_map(|(a, b)| format!("{a}.{b}")),
        (1u32..10, 0u32..20).prop_map(|(a, b)| format!("{a}e{b}")),
        Just("pi".to_owned()),
    ]
}

/// Arithmetic as people write it, with at least one operator or function.
fn expression() -> impl Strategy<Value = String> {
    let operators = prop::sample::select(vec!["+", "-", "*", "/", "%", "^", "**", "×", "÷", "−"]);
    let tree = number().prop_recursive(4, 16, 2, move |inner| {
        let binary = (inner.clone(), operators.clone(), inner.clone(), " ?");
        prop_oneof![
            4 => binary.prop_map(|(a, operator, b, gap)| format!("{a}{gap}{operator}{gap}{b}")),
            2 => inner.clone().prop_map(|a| format!("({a})")),
            1 => inner.clone().prop_map(|a| format!("-({a})")),
            1 => inner.clone().prop_map(|a| format!("sqrt({a})")),
            1 => (inner.clone(), inner).prop_map(|(a, b)| format!("max({a}, {b})")),
        ]
    });
    let bare = |text: &str| text.chars().all(|c| c.is_ascii_digit() || "(-) .epi".contains(c));
    tree.prop_filter("a bare number asks for nothing", move |text| !bare(text))
}

/// Words as they stand around an expression: none of them speaks of files or of time.
fn around() -> impl Strategy<Value = String> {
    let word = prop::sample::select(vec![
        "what",
        "is",
        "please",
        "work",
        "out",
        "the",
        "sum",
        "equals",
        "Müller",
        "日本",
        "I",
        "owe",
        "him",
        "42",
        "x",
        "e-mail",
        "well,",
        "so:",
        "(hm)",
        "and",
        "3.14",
        "$",
        "a",
        "or;",
        "\"quote\"",
        "don't",
    ]);
    prop::collection::vec(word, 0..6).prop_map(|words| words.join(" "))
}

/// As [`around`], but not ending in a number: `3 -(2)` is one expression.
fn before() -> impl Strategy<Value = String> {
    around()
        .prop_map(|words| words.trim_end_matches(|c: char| c.is_ascii_digit() || ". ".contains(c)).to_owned())
}

/// At least six tenths of the cases must have two operators or brackets.
///
/// [CH-12]
#[test]
fn any_expression_among_any_words_is_found_unchanged() {
    let (cases, rich) = (Cell::new(0u32), Cell::new(0u32));
    let end =
        prop::sample::select(vec!["", "?", ".", " ?", ", please", ")", "!", ";", " =", "\n", "…", "\""]);
    let config = Config { cases: 4_000, ..Config::default() };
    TestRunner::new(config)
        .run(&(before(), expression(), end, around()), |(before, expression, end, after)| {
            let question = format!("{before} {expression}{end} {after}");
            cases.set(cases.get() + 1);
            rich.set(
                rich.get() + u32::from(expression.chars().filter(|c| "+-*/%^×÷−(".contains(*c)).count() >= 2),
            );
            prop_assert_eq!(wishes(&question), [calculate(&expression)], "{}", question);
            let result = calculator::calculate(&expression);
            let unread =
                matches!(result, Err(Fault::Unreadable { .. } | Fault::Unfinished | Fault::Unclosed));
            prop_assert!(!unread, "{}: {:?}", expression, result);
            Ok(())
        })
        .unwrap();
    assert!(cases.get() >= 4_000 && rich.get() * 10 >= cases.get() * 6, "{rich:?} of {cases:?}");
}

/// [CH-13]
#[test]
fn any_file_name_is_found_unchanged() {
    let name = "[A-Za-z0-9_+-]{2,8}(/[A-Za-z0-9_.-]{2,8}){0,2}\\.[a-z][a-z0-9]{0,3}";
    let before =
        prop::sample::select(vec!["read ", "open the file ", "what is in ", "print ", "2+2? show me \""]);
    let (cases, deep) = (Cell::new(0u32), Cell::new(0u32));
    TestRunner::new(Config { cases: 2_000, ..Config::default() })
        .run(&(before, name, around()), |(before, name, after)| {
            let close = if before.ends_with('"') { "\"" } else { "" };
            let question =
                format!("{before}{name}{close} {}", after.replace("(hm)", "").replace("\"quote\"", ""));
            cases.set(cases.get() + 1);
            deep.set(deep.get() + u32::from(name.contains(['/', '-', '+'])));
            let found = wishes(&question);
            prop_assert!(found.contains(&read(&name)), "{}: {:?}", question, found);
            let others =
                found.iter().filter(|wish| **wish != read(&name) && **wish != calculate("2+2")).count();
            prop_assert_eq!(others, 0, "{}: {:?}", question, found);
            Ok(())
        })
        .unwrap();
    assert!(deep.get() * 2 >= cases.get(), "{deep:?} of {cases:?}");
}
