#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    missing_docs,
    reason = "tests fail by panicking"
)]

use std::cell::Cell;

use ai_provider::{
    ErrorClass, Finish, FinishReason, ModelError, Source, StreamPart, ToolCall, ToolOutput, ToolResult,
    UnifiedFinish, Usage,
};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};

use super::*;

fn row(asserted: Value) -> Expected {
    let mut row = json!({"file": "f", "api": "a", "dialect": "d", "delivery": "stream", "status": 200});
    row.as_object_mut().unwrap().extend(asserted.as_object().unwrap().clone());
    serde_json::from_value(row).unwrap()
}

fn mismatches(asserted: Value, outcome: &Outcome) -> Vec<String> {
    compare(&row(asserted), outcome)
}

fn parts() -> Vec<StreamPart> {
    let usage: Usage =
        serde_json::from_value(json!({"input": {"total": 7}, "output": {"total": 3, "text": 3}})).unwrap();
    let mut call = ToolCall::new("call_1", "weather", r#"{ "city": "Oslo", "days": 2 }"#);
    call.provider_executed = true;
    let mut preliminary = ToolResult::new("call_1", "weather", ToolOutput::Text("soon".into()));
    preliminary.preliminary = true;
    vec![
        StreamPart::StreamStart { warnings: Vec::new() },
        StreamPart::reasoning_start("r"),
        StreamPart::reasoning_delta("r", "Hm"),
        StreamPart::reasoning_end("r"),
        StreamPart::text_start("0"),
        StreamPart::text_delta("0", "925 ÷ 5"),
        StreamPart::text_end("0"),
        StreamPart::text_start("1"),
        StreamPart::text_delta("1", " = 185"),
        StreamPart::text_end("1"),
        StreamPart::ToolCall(Box::new(call)),
        StreamPart::ToolCall(Box::new(ToolCall::new("call_2", "sql", "SELECT 1"))),
        StreamPart::ToolResult(Box::new(preliminary)),
        StreamPart::ToolResult(Box::new(ToolResult::new(
            "call_1",
            "weather",
            ToolOutput::Text("rain".into()),
        ))),
        StreamPart::Source(Box::new(Source::Url {
            id: "s".into(),
            url: "http://x".into(),
            title: None,
            metadata: None,
        })),
        StreamPart::Finish(Box::new(Finish {
            reason: FinishReason::new(UnifiedFinish::ToolCalls, "tool_use"),
            usage,
            metadata: None,
        })),
    ]
}

fn outcome() -> Outcome {
    Outcome::from_parts(&parts(), None)
}

fn full_row() -> Value {
    json!({
        "text": {"chars": 13, "sha": "71ff7ea726e9"},
        "reasoning": {"chars": 2, "sha": "db11db1e5c34"},
        "blocks": {"text": 2, "reasoning": 1},
        "calls": [
            {"id": "call_1", "name": "weather", "input": {"days": 2, "city": "Oslo"}, "providerExecuted": true},
            {"id": null, "name": "sql", "input": "SELECT 1", "providerExecuted": false},
        ],
        "results": 1,
        "sources": 1,
        "finish": {"unified": "tool-calls", "raw": "tool_use"},
        "usage": {"input": {"total": 7}, "output": {"total": 3, "text": 3}},
        "note": "prose",
    })
}

fn failed() -> Outcome {
    let error = ModelError::new(ErrorClass::Quota, "You exceeded your quota, pay").with_status(429);
    Outcome::from_parts(&[], Some(&error))
}

fn failed_row() -> Value {
    json!({
        "calls": [],
        "finish": null,
        "usage": {"input": {}, "output": {}},
        "error": {"class": "quota", "status": 429, "retryable": false, "messageStart": "You exceeded your quota"},
    })
}

/// The paths of all values of a row that are not objects or arrays with something in them.
fn leaves(value: &Value, path: String, out: &mut Vec<String>) {
    match value {
        Value::Object(members) if !members.is_empty() => {
            members.iter().for_each(|(key, value)| leaves(value, format!("{path}/{key}"), out));
        }
        Value::Array(items) if !items.is_empty() => {
            items.iter().enumerate().for_each(|(at, value)| leaves(value, format!("{path}/{at}"), out));
        }
        _ => out.push(path),
    }
}

#[test]
fn what_matches_has_no_mismatches() {
    assert_eq!(mismatches(full_row(), &outcome()), [""; 0]);
    assert_eq!(mismatches(failed_row(), &failed()), [""; 0]);
    assert_eq!(mismatches(json!({}), &outcome()), [""; 0]);
}

#[test]
fn every_leaf_of_a_row_is_checked() {
    for (row, outcome) in [(full_row(), outcome()), (failed_row(), failed())] {
        let mut paths = Vec::new();
        leaves(&row, String::new(), &mut paths);
        paths.retain(|path| path != "/note" && path != "/calls/1/id");
        // An empty object asserts nothing by itself.
        paths.retain(|path| row.pointer(path) != Some(&json!({})));
        assert!(paths.len() >= 6, "{paths:?}");
        for path in paths {
            let mut row = row.clone();
            *row.pointer_mut(&path).unwrap() = json!("something else");
            let found = mismatches(row, &outcome);
            assert_eq!(found.len(), 1, "{path}: {found:?}");
            assert!(found[0].contains("something else"), "{found:?}");
        }
    }
}

#[test]
fn an_unknown_key_is_a_mismatch_wherever_it_stands() {
    let mut objects = vec![String::new()];
    objects.extend(["/text", "/blocks", "/calls/0", "/finish", "/usage", "/usage/input"].map(str::to_owned));
    for path in objects {
        let mut row = full_row();
        row.pointer_mut(&path).unwrap().as_object_mut().unwrap().insert("colour".into(), json!(null));
        let found = mismatches(row, &outcome());
        assert_eq!(found.len(), 1, "{path}: {found:?}");
        assert!(found[0].ends_with("colour: the comparison knows no such key"), "{found:?}");
    }
}

#[test]
fn sentences_say_where_and_what() {
    let found = mismatches(json!({"usage": {"output": {"total": 5, "reasoning": 0}}}), &outcome());
    assert_eq!(
        found,
        ["usage.output.reasoning: expected 0, got null", "usage.output.total: expected 5, got 3"]
    );
    assert_eq!(
        mismatches(json!({"calls": []}), &outcome()),
        [r#"calls: expected 0, got 2: ["weather", "sql"]"#]
    );
    let found = mismatches(json!({"finish": {"unified": "stop"}}), &failed());
    assert_eq!(found[0], r#"finish: expected {"unified":"stop"}, got null"#);
    assert_eq!(found[1], "error: expected none, got quota: You exceeded your quota, pay");
    let found = mismatches(json!({"error": {"class": "quota"}}), &outcome());
    assert_eq!(found, [r#"error: expected {"class":"quota"}, got null"#]);
}

#[test]
fn unknown_usage_is_not_zero() {
    let asserted = json!({"usage": {"input": {"cacheRead": 0}, "output": {"reasoning": null}}});
    assert_eq!(mismatches(asserted, &outcome()), ["usage.input.cacheRead: expected 0, got null"]);
}

#[test]
fn input_is_compared_whole_and_as_json() {
    let with = |input: &str| {
        let parts = [StreamPart::ToolCall(Box::new(ToolCall::new("1", "t", input)))];
        Outcome::from_parts(&parts, None)
    };
    let calls = |input: Value| json!({"calls": [{"input": input}]});
    assert_eq!(mismatches(calls(json!({"a": 1})), &with("{\"a\" : 1}")), [""; 0]);
    assert_eq!(mismatches(calls(json!({})), &with("")), [""; 0]);
    assert_eq!(mismatches(calls(json!({"a": 1})), &with(r#"{"a":1,"b":2}"#)).len(), 1);
    assert_eq!(mismatches(calls(json!({})), &with(r#"{"b":2}"#)).len(), 1);
    assert_eq!(mismatches(calls(json!({"a": 1})), &with(r#"{"a":1"#)).len(), 1);
    for input in ["SELECT 1", r#""SELECT 1""#] {
        assert_eq!(mismatches(calls(json!("SELECT 1")), &with(input)), [""; 0]);
    }
    assert_eq!(mismatches(calls(json!("12")), &with("12")), [""; 0]);
    assert_eq!(mismatches(calls(json!("SELECT 2")), &with("SELECT 1")).len(), 1);
}

#[test]
fn generated_ids_may_be_any_but_not_the_same() {
    let outcome = |ids: [&str; 2]| {
        let parts = ids.map(|id| StreamPart::ToolCall(Box::new(ToolCall::new(id, "t", "{}"))));
        Outcome::from_parts(&parts, None)
    };
    let asserted = json!({"calls": [{"id": null}, {"id": null}]});
    assert_eq!(mismatches(asserted.clone(), &outcome(["x", "y"])), [""; 0]);
    assert_eq!(
        mismatches(asserted.clone(), &outcome(["x", "x"])),
        ["calls: the id `x` is empty or used twice"]
    );
    assert_eq!(mismatches(asserted, &outcome(["x", ""])), ["calls: the id `` is empty or used twice"]);
}

#[test]
fn the_row_of_an_outcome_matches_it() {
    let calls =
        prop::collection::btree_map("[a-z]{1,4}", prop_oneof!["\\PC{0,8}", Just("[1]".to_owned())], 0..4);
    let texts = ("\\PC{0,20}", "\\PC{0,20}");
    let cases = (texts, prop::array::uniform4(0_usize..5), calls, any::<Option<u64>>());
    let free_form = Cell::new(0);
    let ran = TestRunner::new(Config::default()).run(&cases, |((text, reasoning), counts, calls, total)| {
        let finish = Some(UnifiedFinish::Stop.into());
        let mut outcome = Outcome { text, reasoning, finish, ..Outcome::default() };
        [outcome.text_blocks, outcome.reasoning_blocks, outcome.results, outcome.sources] = counts;
        outcome.calls = calls.into_iter().map(|(id, input)| ToolCall::new(id, "t", input)).collect();
        outcome.usage.input.total = total;
        let no_json = outcome.calls.iter().any(|call| call.input_json().is_err());
        free_form.set(free_form.get() + u32::from(no_json));
        prop_assert_eq!(mismatches(outcome.to_row(), &outcome), [""; 0]);
        Ok(())
    });
    ran.unwrap();
    assert!(free_form.get() > 75, "{free_form:?}");
}

#[test]
fn a_stream_is_wrapped_as_its_api_does() {
    assert_eq!(sse_body("google-generate-content", "{\"a\":1}\n{}\n"), b"data: {\"a\":1}\n\ndata: {}\n\n");
    assert_eq!(sse_body("openai-chat", "{}\n\n"), b"data: {}\n\ndata: \n\ndata: [DONE]\n\n");
    let unnamed = b"data: {\"a\":1}\n\ndata: \n\n";
    assert_eq!(sse_body("anthropic-messages", "{\"a\":1}\n\n"), unnamed);
}

#[test]
fn a_line_that_is_no_row_is_named() {
    let good = r#"{"file":"f","api":"a","dialect":"d","delivery":"error-body","status":429}"#;
    let (line, _) = expected::parse(&format!("{good}\n\n{{}}\n")).unwrap_err();
    assert_eq!(line, 3);
    let rows = expected::parse(&format!("{good}\n\n")).unwrap();
    assert_eq!((rows.len(), rows[0].delivery, rows[0].status), (1, RecordedDelivery::ErrorBody, 429));
    assert!(expected::parse(&good.replace("error-body", "smoke")).is_err());
}

#[test]
fn a_folder_is_found_from_the_root_of_the_repository() {
    assert_eq!(folder(None), Path::new(ROOT).join("../shared/fixtures"));
    assert_eq!(folder(Some("recordings".into())), Path::new(ROOT).join("recordings"));
    assert_eq!(folder(Some("/recordings".into())), Path::new("/recordings"));
    assert!(Path::new(ROOT).join("Cargo.toml").is_file());
}

#[test]
fn every_row_at_hand_can_be_read_and_compared() {
    let Some(folder) = require() else { return };
    let rows = expected(&folder).unwrap();
    assert!(!rows.is_empty());
    for row in rows {
        let body = row.body(&folder).unwrap();
        assert!(!body.is_empty(), "{}", row.file);
        assert!(!row.asserted.is_empty(), "{}", row.file);
        let found = compare(&row, &Outcome::default());
        let unknown: Vec<_> = found.iter().filter(|found| found.contains("no such key")).collect();
        assert!(unknown.is_empty(), "{}: {unknown:?}", row.file);
        assert!(!found.is_empty(), "{}: nothing came, and the row has no objection", row.file);
    }
}
