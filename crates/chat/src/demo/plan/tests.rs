#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

use proptest::prelude::*;

use super::*;

const ALL: &[&str] = &["current_time", "calculator", "read_file", "list_files"];

fn outcome(tool: &str, input: Value, result: Result<&str, &str>) -> Outcome {
    let result = result.map(str::to_owned).map_err(str::to_owned);
    Outcome { tool: tool.to_owned(), input, result }
}

fn answer(question: &str, tools: &[&str], outcomes: &[Outcome]) -> String {
    match plan(question, tools, outcomes).next {
        Next::Answer(text) => text,
        Next::Call(calls) => panic!("no answer but {calls:?}"),
    }
}

/// [CH-16]
#[test]
fn all_tools_a_question_needs_are_called_in_one_step() {
    let planned = plan("what is 17*23, what time is it, and what is in notes.txt? list files", ALL, &[]);
    let calls = vec![
        ("calculator", json!({"expression": "17*23"})),
        ("current_time", json!({})),
        ("list_files", json!({})),
        ("read_file", json!({"path": "notes.txt"})),
    ];
    let Next::Call(mut called) = planned.next else { panic!("{planned:?}") };
    called.sort_by_key(|(name, _)| *name);
    assert_eq!(called, calls);
    for found in ["17*23", "the time", "notes.txt", "calculator"] {
        assert!(planned.reasoning.contains(found), "{}", planned.reasoning);
    }
}

/// [CH-17]
#[test]
fn results_and_errors_become_the_answer() {
    let outcomes = [
        outcome("calculator", json!({"expression": "17*23"}), Ok("391")),
        outcome("current_time", json!({}), Ok("Friday 2026-03-13 14:05:06 in UTC (UTC+00:00)")),
        outcome("calculator", json!({"expression": "1/0"}), Err("division by zero")),
        outcome("read_file", json!({"path": "notes.txt"}), Ok("buy milk\n")),
        outcome("read_file", json!({"path": "empty"}), Ok("")),
        outcome("list_files", json!({}), Ok("a\nb")),
        outcome("current_time", json!({"zone": "Mars"}), Err("there is no time zone `Mars`.")),
    ];
    assert_eq!(
        answer("whatever was asked", ALL, &outcomes),
        "17*23 = 391. It is Friday 2026-03-13 14:05:06 in UTC (UTC+00:00). calculator failed on 1/0: division by \
         zero.\n\nnotes.txt says:\nbuy milk\n\nempty is empty.\n\nThe root folder holds:\na\nb\n\ncurrent_time \
         failed on Mars: there is no time zone `Mars`. Ask for the time in UTC, or in a zone such as \
         Europe/Paris, and I can tell it."
    );
    assert_eq!(
        plan("", ALL, &outcomes).reasoning,
        "7 tools have answered, 2 with an error; I put it into words."
    );
}

/// [CH-17]
#[test]
fn a_long_file_is_quoted_in_part() {
    let text = "é".repeat(2_000);
    let said = answer("", ALL, &[outcome("read_file", json!({"path": "long"}), Ok(&text))]);
    assert!(said.starts_with("long begins (I show 1500 of 2000 characters):\néé"));
    assert_eq!(said.matches('é').count(), 1_499);
}

/// [CH-18]
#[test]
fn what_it_cannot_do_is_said() {
    assert_eq!(
        answer("read notes.txt", &["calculator"], &[]),
        "I see the file notes.txt, but start the program with --root FOLDER to let me look at files."
    );
    assert_eq!(answer("2+2", &[], &[]), "I see the expression 2+2, but its tool is switched off.");
    for question in ["Hello!", "Why is the sky blue?", ""] {
        let said = answer(question, ALL, &[]);
        assert!(said.starts_with("I am a demo made of a few rules, not a language model"), "{said}");
        assert!(said.contains("--model PROVIDER:MODEL"), "{said}");
    }
    assert!(!answer("Hello!", &["calculator"], &[]).contains("file"));
    let many: Vec<_> = (0..20).map(|n| format!("{n}+1")).collect();
    let planned = plan(&many.join(", "), ALL, &[]);
    let Next::Call(calls) = planned.next else { panic!("{planned:?}") };
    assert_eq!(calls.len(), MAX_CALLS);
    let outcomes: Vec<_> = calls.into_iter().map(|(tool, input)| outcome(tool, input, Ok("1"))).collect();
    assert!(answer(&many.join(", "), ALL, &outcomes).ends_with("so 4 more had to wait."));
}

proptest! {
    /// Whatever is asked, the demo calls only tools it was given, and answers once it has results.
    ///
    /// [CH-16] [CH-17]
    #[test]
    fn only_given_tools_are_called_and_never_twice(
        question in "([a-z]{1,6} |[0-9]+[-+*/][0-9]+ |time |list files |read [a-z]{2,5}\\.txt |Paris ){0,8}",
        tools in prop::sample::subsequence(ALL, 0..=4),
    ) {
        let first = plan(&question, &tools, &[]);
        prop_assert!(!first.reasoning.is_empty());
        if let Next::Call(calls) = first.next {
            prop_assert!(!calls.is_empty() && calls.iter().all(|(name, _)| tools.contains(name)));
            let outcomes: Vec<_> =
                calls.into_iter().map(|(tool, input)| outcome(tool, input, Ok("RESULT"))).collect();
            let said = answer(&question, &tools, &outcomes);
            prop_assert_eq!(said.matches("RESULT").count(), outcomes.len(), "{}", said);
        }
    }
}
