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
        ("8 / 2(2+2)", &[calculate("8 / 2(2+2)")]),
        ("8 / 2 (2+2) is?", &[calculate("8 / 2 (2+2)")]),
        ("(1+2)(3+4), ok", &[calculate("(1+2)(3+4)")]),
        ("2+2 (that is 4) and 3+3 (or 6)", &[calculate("2+2"), calculate("3+3")]),
        ("What is 7!?", &[calculate("7!")]),
        ("7!", &[calculate("7!")]),
        (
            "3! + 2 and (4!)*2 or 2*3! / 4!",
            &[calculate("3! + 2"), calculate("(4!)*2"), calculate("2*3! / 4!")],
        ),
        ("1,000 + 2, and 1,234.5*2.", &[calculate("1,000 + 2"), calculate("1,234.5*2")]),
        ("3 x 4 or 3x4?", &[calculate("3 x 4"), calculate("3x4")]),
        ("0x10 + 1", &[calculate("0x10 + 1")]),
        ("5 mod 3", &[calculate("5 mod 3")]),
        ("what is 20% of 50?", &[calculate("20% of 50")]),
        ("((1))", &[calculate("((1))")]),
        ("1 + 5 – 3 – that's", &[calculate("1 + 5 – 3")]),
        ("sqrt (16+9) or (2+3*(4", &[calculate("sqrt (16+9)"), calculate("(2+3*(4")]),
        ("1 000 + 2", &[calculate("1 000 + 2")]),
        ("5//2 and 2+*3", &[calculate("5//2"), calculate("2+*3")]),
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
        ("list the files in \"d dir\"", &[list(Some("d dir"))]),
        ("List all files in the folder 'my files', please", &[list(Some("my files"))]),
        ("list the files in \"..\"", &[list(Some(".."))]),
        ("list the files in ..", &[list(Some(".."))]),
        ("list the files in ../..?", &[list(Some("../.."))]),
        ("ls ../secret", &[list(Some("../secret"))]),
        ("ls docs", &[list(Some("docs"))]),
        ("list files /etc", &[list(Some("/etc"))]),
        ("list the docs folder", &[list(Some("docs"))]),
        ("list the folder \"a b\"", &[list(Some("a b"))]),
        ("list the files in this folder...", &[list(None)]),
        ("What is in the current directory?", &[list(None)]),
        ("list the files and 2+2", &[list(None), calculate("2+2")]),
        ("show me the files here, and the time", &[list(None), Wish::Time(None)]),
    ];
    for (question, found) in table {
        assert_eq!(wishes(question), *found, "{question}");
    }
}

/// [CH-58]
#[test]
fn a_place_that_is_not_known_is_asked_for_as_it_was_said() {
    let table: &[(&str, &[Wish])] = &[
        ("What time is it in Atlantis?", &[time("Atlantis")]),
        ("what time is it in atlantis", &[time("atlantis")]),
        ("In New Atlantis, what is the time?", &[time("New Atlantis")]),
        ("time in Springfield and Paris", &[time("Springfield"), time("Europe/Paris")]),
        ("time in Paris and Springfield, please", &[time("Europe/Paris"), time("Springfield")]),
        (
            "time in Rome, Gotham City and Berlin",
            &[time("Europe/Rome"), time("Gotham City"), time("Europe/Berlin")],
        ),
        ("what time is it on Mars", &[time("Mars")]),
        ("Tell me the Narnia time", &[time("Narnia")]),
        ("What time is it in UTC+5?", &[time("UTC+5")]),
        ("what is the time at UTC+05:30, and 2+2?", &[time("UTC+05:30"), calculate("2+2")]),
        ("time in utc - 3", &[time("utc - 3")]),
        ("time in UTC+99", &[time("UTC+99")]),
        ("time in +05:30", &[time("+05:30")]),
        ("What time is it in PST?", &[time("PST")]),
        ("the time CST and EST", &[time("CST"), time("EST")]),
        ("what time is it in the morning?", &[Wish::Time(None)]),
        ("What is the Time now, and what is 2+2?", &[Wish::Time(None), calculate("2+2")]),
        ("What Time is it on Monday in general?", &[Wish::Time(None)]),
        ("what time is it, and what is in notes.txt?", &[Wish::Time(None), read("notes.txt")]),
        ("time in UTC and 17*23", &[time("UTC"), calculate("17*23")]),
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
        "version v1.2-3, 5kg*2kg, 3*x, 5+3%, f(3+4) and 2.5.1+1",
        "e.g. at 5 p.m. or so",
        "See https://example.com/a/b.html?x=1+1 or mail me@example.com.",
        "Is Europe/Paris nice?",
        "We met in the mountain center.",
        "and/or",
        "-5",
        "((((",
        "1 +",
        "12:30 - 1 or 1 - 12:30 or 2*3 + 12:30",
        "call 555-1234 or (555) 123-4567 or +1-555-123-4567",
        "3*x + 2*5, (hm) x-(2*2), x * 3 + 4, 10 + 5 - x and 2 + 5 kg * 3",
        "5²+1, √16+9, 3€*4+1, 1'000+2, 1_000+2 and 1+1,2+2",
        "1+1)*2, 5° + 3°*2 and foo(2)+3",
        "what % of 50 is 20? 20% of people!",
        "I owe him 42! It is 1!!",
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
    let operators =
        prop::sample::select(vec!["+", "-", "*", "/", "%", "^", "**", "×", "÷", "−", " x ", " mod "]);
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
        "y",
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

/// An expression made longer by what the calculator may or may not read: what is found is the whole of it, or
/// nothing. At least a quarter of the cases must be found, and a quarter not.
///
/// [CH-57]
#[test]
fn no_part_of_an_expression_is_taken_for_the_whole() {
    let (cases, found) = (Cell::new(0u32), Cell::new(0u32));
    let odd = prop::sample::select(vec![
        "12:30", "x", "5kg", "2.5.1", "1'000", "5²", "f(3)", "v1.2", "3€", "foo*2",
    ]);
    let operand = prop_oneof![
        4 => expression().prop_map(|text| format!("({text})")),
        1 => odd.prop_map(str::to_owned),
        1 => prop::sample::select(vec!["1,000", "0x1F", "(4!)", "20% of 50", "((7))", "2(3)"]).prop_map(str::to_owned),
    ];
    let glue =
        prop::sample::select(vec!["*", " * ", "/", " + ", "-", " - ", "^", "+", " mod ", " × ", "–", "//"]);
    let parts = prop::collection::vec((operand, glue), 2..5);
    TestRunner::new(Config { cases: 3_000, ..Config::default() })
        .run(&(parts, before()), |(parts, before)| {
            let mut whole: String = parts.iter().map(|(operand, glue)| format!("{operand}{glue}")).collect();
            let last = parts.last().map_or(0, |(_, glue)| glue.len());
            whole.truncate(whole.len() - last);
            let question = format!("{before} {whole}?");
            let wishes = wishes(&question);
            cases.set(cases.get() + 1);
            found.set(found.get() + u32::try_from(wishes.len()).unwrap());
            prop_assert!(wishes.is_empty() || wishes == [calculate(&whole)], "{}: {:?}", question, wishes);
            Ok(())
        })
        .unwrap();
    assert!(found.get() * 4 >= cases.get() && found.get() * 4 <= cases.get() * 3, "{found:?} of {cases:?}");
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
