use std::collections::HashSet;

use ai_provider::ToolCall;
use serde_json::Value;

use super::expected::Expected;
use super::outcome::{Outcome, call_row};

/// Compares an outcome with its row: one sentence per mismatch, each beginning with the place in the row, for
/// example `usage.output.total: expected 5, got 6`.
///
/// Every key of the row is checked, those inside its objects too; a key the comparison does not know is a
/// mismatch, so nothing in a row is ever passed over. What the row does not name is not asserted, but for two
/// things: an error needs a row that expects one, and no two calls share an id.
///
/// A call id of `null` stands for any, since we make it. The input of a call is compared as JSON, whole; a
/// string also matches an input that is this text and no JSON.
pub fn compare(row: &Expected, outcome: &Outcome) -> Vec<String> {
    let actual = outcome.to_row();
    let mut found = Vec::new();
    for (key, expected) in &row.asserted {
        match (key.as_str(), expected) {
            ("calls", Value::Array(expected)) => calls(expected, &outcome.calls, &mut found),
            _ => member(key, key, expected, &actual, &mut found),
        }
    }
    if let (None, Some(error)) = (row.asserted.get("error"), &outcome.error) {
        found.push(format!("error: expected none, got {error}"));
    }
    found
}

/// Compares a member of an object with that of the same name.
fn member(path: &str, key: &str, expected: &Value, object: &Value, found: &mut Vec<String>) {
    match object.get(key) {
        None => found.push(format!("{path}: the comparison knows no such key")),
        Some(actual) => value(path, expected, actual, found),
    }
}

/// Compares what a row asserts: of an object, the members it names; anything else, whole.
fn value(path: &str, expected: &Value, actual: &Value, found: &mut Vec<String>) {
    match (expected, actual) {
        (Value::Object(members), Value::Object(_)) => {
            for (key, expected) in members {
                member(&format!("{path}.{key}"), key, expected, actual, found);
            }
        }
        (Value::String(start), Value::String(message)) if path == "error.messageStart" => {
            if !message.starts_with(start) {
                found.push(differ(path, expected, actual));
            }
        }
        _ if expected == actual => {}
        _ => found.push(differ(path, expected, actual)),
    }
}

fn calls(expected: &[Value], actual: &[ToolCall], found: &mut Vec<String>) {
    if expected.len() != actual.len() {
        let names: Vec<_> = actual.iter().map(|call| call.name.as_str()).collect();
        found.push(format!("calls: expected {}, got {}: {names:?}", expected.len(), actual.len()));
    }
    for (at, (expected, actual)) in expected.iter().zip(actual).enumerate() {
        call(&format!("calls[{at}]"), expected, actual, found);
    }
    let mut ids = HashSet::new();
    for id in actual.iter().map(|call| &call.id).filter(|id| id.is_empty() || !ids.insert(*id)) {
        found.push(format!("calls: the id `{id}` is empty or used twice"));
    }
}

fn call(path: &str, expected: &Value, actual: &ToolCall, found: &mut Vec<String>) {
    let row = call_row(actual);
    let Value::Object(members) = expected else {
        found.push(differ(path, expected, &row));
        return;
    };
    for (key, expected) in members {
        let path = format!("{path}.{key}");
        match (key.as_str(), expected) {
            ("id", Value::Null) => {}
            ("input", Value::String(text)) if *text == actual.input => {}
            ("input", _) if row.get("input") == Some(expected) => {}
            ("input", _) => found.push(differ(&path, expected, &Value::from(actual.input.as_str()))),
            _ => member(&path, key, expected, &row, found),
        }
    }
}

fn differ(path: &str, expected: &Value, actual: &Value) -> String {
    format!("{path}: expected {expected}, got {actual}")
}
