use std::cell::Cell;
use std::collections::HashSet;

use ai_core::middleware::{PromptTools, TagFormat, ToolFormat};
use ai_provider::{FunctionTool, Message, Request, StreamPart, ToolCall, ToolDefinition, UnifiedFinish};
use ai_testkit::ScriptedModel;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{around, block_on, cut, said, shape, text_block};

#[derive(Clone, Debug)]
enum Said {
    Text(String),
    Call(Value),
}

fn read(deltas: &[String]) -> Vec<StreamPart> {
    let script = text_block(deltas.iter().map(String::as_str)).finish(UnifiedFinish::Stop);
    let model = ScriptedModel::new().reply(script);
    let tool = ToolDefinition::Function(FunctionTool::new("f", "", json!({"type": "object"})));
    let request = Request::new([Message::user("go")]).with_tools([tool]);
    let (parts, error) = block_on(said(&around(&model, PromptTools::new()), request));
    assert!(error.is_none());
    parts
}

fn word() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "</tool_use>",
        "</arguments>",
        "<tool_use>",
        "\"",
        "\\",
        "{",
        "}",
        "<",
        "/tool",
        "a",
        " ",
        "\n",
        "ö",
    ]);
    prop::collection::vec(piece, 0..6).prop_map(|pieces| pieces.concat())
}

fn said_in() -> impl Strategy<Value = Said> {
    let text = prop::collection::vec(prop::sample::select(vec!["a", "<", "b c", " </tool_use", "ö"]), 1..4);
    prop_oneof![
        text.prop_map(|pieces| Said::Text(pieces.concat())),
        (word(), word()).prop_map(|(key, value)| Said::Call(json!({ key: value }))),
    ]
}

/// [AC-231]
#[test]
fn calls_with_any_input_are_read_whatever_the_cut() {
    let (cases, tricky) = (Cell::new(0), Cell::new(0));
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig::with_cases(400));
    let inputs = (prop::collection::vec(said_in(), 0..6), prop::collection::vec(0usize..1000, 0..12));
    runner
        .run(&inputs, |(answer, places)| {
            cases.set(cases.get() + 1);
            let format = TagFormat::default();
            let mut text = String::new();
            let mut expected: Vec<String> = Vec::new();
            for said in &answer {
                match said {
                    Said::Text(words) => {
                        text.push_str(words);
                        match expected.last_mut() {
                            Some(last) if last.starts_with("T:") => last.push_str(words),
                            _ => expected.push(format!("T:{words}")),
                        }
                    }
                    Said::Call(input) => {
                        text.push_str(&format.call(&ToolCall::new("x", "f", input.to_string())));
                        expected.push(format!("C:f:{input}"));
                    }
                }
            }
            if answer
                .iter()
                .any(|said| matches!(said, Said::Call(input) if input.to_string().contains("</tool_use>")))
            {
                tricky.set(tricky.get() + 1);
            }
            // White space next to a call goes with it.
            let mut at = 0;
            while at < expected.len() {
                if let Some(words) = expected[at].strip_prefix("T:") {
                    let after = at > 0;
                    let before = at + 1 < expected.len();
                    let words = if after { words.trim_start() } else { words };
                    let words = if before { words.trim_end() } else { words };
                    let words = format!("T:{words}");
                    if words == "T:" {
                        expected.remove(at);
                        continue;
                    }
                    expected[at] = words;
                }
                at += 1;
            }
            if expected.is_empty() {
                expected.push("T:".to_owned());
            }
            let parts = read(&cut(&text, &places));
            prop_assert_eq!(shape(&parts), expected, "{:?}", text);
            let ids = parts.iter().filter_map(|part| match part {
                StreamPart::ToolCall(call) => Some(call.id.clone()),
                _ => None,
            });
            let ids: Vec<_> = ids.collect();
            prop_assert_eq!(ids.iter().collect::<HashSet<_>>().len(), ids.len());
            Ok(())
        })
        .unwrap();
    assert!(tricky.get() * 8 > cases.get(), "{} of {} had a tag in a string", tricky.get(), cases.get());
}

/// [AC-232]
#[test]
fn any_text_at_all_reads_the_same_whatever_the_cut_and_loses_nothing() {
    let piece = prop::sample::select(vec![
        "<tool_use>",
        "</tool_use>",
        "<name>",
        "f",
        "</name>",
        "<arguments>",
        "</arguments>",
        "{",
        "}",
        "\"",
        "\\",
        "<",
        "x",
        " ",
        "\n",
        "é",
    ]);
    let text = prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat());
    let (cases, calls, no_calls) = (Cell::new(0), Cell::new(0), Cell::new(0));
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig::with_cases(1_500));
    runner
        .run(&(text, prop::collection::vec(0usize..200, 0..8)), |(text, places)| {
            cases.set(cases.get() + 1);
            let whole = read(std::slice::from_ref(&text));
            let pieces = read(&cut(&text, &places));
            prop_assert_eq!(shape(&whole), shape(&pieces), "{:?}", text);
            if shape(&whole).iter().any(|part| part.starts_with('C')) {
                calls.set(calls.get() + 1);
            } else {
                no_calls.set(no_calls.get() + 1);
                prop_assert_eq!(shape(&whole), [format!("T:{text}")]);
            }
            Ok(())
        })
        .unwrap();
    assert!(calls.get() * 100 > cases.get(), "{} of {} held a call", calls.get(), cases.get());
    assert!(no_calls.get() * 3 > cases.get());
}

/// [AC-231]
#[test]
fn a_quote_that_is_never_closed_does_not_swallow_the_next_call() {
    let bad = "<tool_use><name>f</name><arguments>{\"a\": \"b}</arguments></tool_use>";
    for input in ["{}", "{\"c\":\"d\"}", "{\"c\":\"</tool_use\"}"] {
        let good = format!("<tool_use><name>f</name><arguments>{input}</arguments></tool_use>");
        for deltas in super::cuts(&format!("{bad} then {good}")) {
            assert_eq!(shape(&read(&deltas)), ["C:f:{\"a\": \"b}", "T:then", &format!("C:f:{input}")]);
        }
        let twice = read(&[format!("{bad}{bad}{good}")]);
        let wrong = "C:f:{\"a\": \"b}";
        assert_eq!(
            shape(&twice),
            [wrong, wrong, &format!("C:f:{input}")],
            "two quotes too many make no string"
        );
    }
}

/// [AC-233]
#[test]
fn the_work_is_linear_in_the_length() {
    // Hundreds of times a second; were each call to cost the length of the rest, an hour would not do.
    let half_open = "<tool_use><name>f</name><arguments>{\"</arguments></tool_use> ".repeat(20_000);
    let whole = "<tool_use><name>f</name><arguments>{}</arguments></tool_use> ".repeat(20_000);
    for text in [whole, half_open] {
        let characters = text.len();
        let parts = read(&[text]);
        let calls = parts.iter().filter(|part| matches!(part, StreamPart::ToolCall(_))).count();
        assert_eq!(calls, 20_000, "of {characters} bytes");
    }
}
