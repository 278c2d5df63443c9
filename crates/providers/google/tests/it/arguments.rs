//! Arguments that come in pieces.

use std::cell::Cell;

use ai_provider::ErrorClass;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};

use crate::support::*;

/// A frame with these pieces of the open call.
fn frame(pieces: &[Value], goes_on: bool) -> String {
    let call = json!({"partialArgs": pieces, "willContinue": goes_on});
    gm(&json!([{"functionCall": call}]).to_string())
}

fn begin() -> String {
    gm(r#"[{"functionCall":{"name":"f","willContinue":true}}]"#)
}

/// What comes of a call with these pieces, one in each frame.
async fn built(pieces: &[Value]) -> (Vec<(String, String)>, Vec<(String, String)>, Option<ErrorClass>) {
    let frames: String = pieces.iter().map(|piece| frame(std::slice::from_ref(piece), true)).collect();
    let (parts, error) = stream(begin() + &frames + &gm(r#"[{"functionCall":{}}]"#) + &stop()).await;
    (calls(&parts), inputs(&parts), error.map(|error| error.class()))
}

fn text(path: &str, text: &str, goes_on: bool) -> Value {
    json!({"jsonPath": path, "stringValue": text, "willContinue": goes_on})
}

fn number(path: &str, number: i64) -> Value {
    json!({"jsonPath": path, "numberValue": number})
}

/// [GG-44]
#[tokio::test]
async fn pieces_build_objects_and_lists() {
    let pieces = [
        text("$.city", "Zü", true),
        text("$.city", "rich \"Hb\"", true),
        text("$.city", "", false),
        json!({"jsonPath": "$.days", "numberValue": 1.5}),
        json!({"jsonPath": "$.wet", "boolValue": false}),
        json!({"jsonPath": "$.none", "nullValue": null}),
        json!({"jsonPath": "$.also_none", "nullValue": "NULL_VALUE"}),
        text("$.stops[0].name", "a", false),
        number("$.stops[0].at", 1),
        text("$.stops[1].name", "b", false),
        number("$.grid[0][0]", 1),
        number("$.grid[0][1]", 2),
        number("$.grid[1][0]", 3),
        text("$['a key.']", "x", false),
        text(r#"$["it's"]["q\"]"]"#, "y", false),
        json!({"jsonPath": "$.nothing", "willContinue": true}),
    ];
    let (calls, inputs, error) = built(&pieces).await;
    let expected = r#"{"city":"Zürich \"Hb\"","days":1.5,"wet":false,"none":null,"also_none":null,"stops":[{"name":"a","at":1},{"name":"b"}],"grid":[[1,2],[3]],"a key.":"x","it's":{"q\"]":"y"}}"#;
    assert_eq!((calls[0].1.as_str(), error), (expected, None));
    assert_eq!(inputs, calls, "what was shown is what was called");
}

/// [GG-46]
#[tokio::test]
async fn a_piece_for_a_closed_place_still_finds_it() {
    for (pieces, expected) in [
        (
            vec![text("$.a", "x", false), number("$.b", 1), text("$.a", "y", false)],
            json!({"a": "xy", "b": 1}),
        ),
        (
            vec![text("$.a.b", "x", false), number("$.c", 1), number("$.a.d", 2)],
            json!({"a": {"b": "x", "d": 2}, "c": 1}),
        ),
        (vec![number("$.a[0]", 1), number("$.b", 1), number("$.a[1]", 2)], json!({"a": [1, 2], "b": 1})),
        (vec![number("$.a", 1), number("$.a", 2)], json!({"a": 2})),
        (
            vec![text("$.a", "x", true), number("$.b", 1), text("$.a", "y", true), text("$.a", "", false)],
            json!({"a": "xy", "b": 1}),
        ),
    ] {
        let (calls, _, error) = built(&pieces).await;
        assert_eq!(error, None, "{pieces:?}");
        assert_eq!(serde_json::from_str::<Value>(&calls[0].1).unwrap(), expected, "{pieces:?}");
    }
    // Arguments that were there at the beginning are gone on with.
    let body = gm(r#"[{"functionCall":{"name":"f","args":{"a":"x"},"willContinue":true}}]"#);
    let parts = good(body + &frame(&[text("$.a", "y", false), number("$.b", 1)], false) + &stop()).await;
    assert_eq!(serde_json::from_str::<Value>(&calls(&parts)[0].1).unwrap(), json!({"a": "xy", "b": 1}));
}

/// [GG-48]
#[tokio::test]
async fn pieces_that_do_not_fit_are_a_protocol_error() {
    let deep = format!("${}", ".a".repeat(101));
    for pieces in [
        vec![number("", 1)],
        vec![number("$", 1)],
        vec![number("a", 1)],
        vec![number("$a", 1)],
        vec![number("$.", 1)],
        vec![number("$..a", 1)],
        vec![number("$.a[", 1)],
        vec![number("$.a[]", 1)],
        vec![number("$.a[x]", 1)],
        vec![number("$.a[-1]", 1)],
        vec![number("$.a['b]", 1)],
        vec![number("$.a['b'", 1)],
        vec![number("$[0]", 1)],
        vec![number("$.*", 1), number("$.a[*]", 1)],
        vec![number(&deep, 1)],
        // A hole, also one as large as memory.
        vec![number("$.a[1]", 1)],
        vec![number("$.a[0]", 1), number("$.a[2]", 1)],
        vec![number("$.a[4294967296]", 1)],
        vec![number("$.a[99999999999999999999999]", 1)],
        // Two types at one place.
        vec![number("$.a", 1), number("$.a.b", 1)],
        vec![number("$.a.b", 1), number("$.a", 1)],
        vec![number("$.a.b", 1), number("$.a[0]", 1)],
        vec![text("$.a", "x", true), number("$.a", 1)],
        vec![number("$.a", 1), text("$.a", "x", false)],
        vec![json!({"jsonPath": "$.a", "numberValue": "NaN"})],
        vec![json!({"jsonPath": "$.a", "numberValue": {"x": 1}})],
    ] {
        let (calls, _, error) = built(&pieces).await;
        assert_eq!((error, calls.len()), (Some(ErrorClass::Protocol), 0), "{pieces:?}");
    }
    let (parts, error) = stream(gm(r#"[{"functionCall":{"name":"f","args":7,"willContinue":true}}]"#)).await;
    assert_eq!((error.unwrap().class(), calls(&parts).len()), (ErrorClass::Protocol, 0));
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "[a-z\"\\\\ü🙂\n]{0,6}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 1..4).prop_map(Value::from),
            prop::collection::btree_map("[a-c.'\\[]{1,3}", inner, 1..4)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

/// The pieces of a value in the order in which a model writes them; texts in pieces of two characters.
fn pieces(path: &str, value: &Value, out: &mut Vec<Value>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                let name = name.replace('\\', "\\\\").replace('\'', "\\'");
                pieces(&format!("{path}['{name}']"), value, out);
            }
        }
        Value::Array(items) => {
            for (nth, item) in items.iter().enumerate() {
                pieces(&format!("{path}[{nth}]"), item, out);
            }
        }
        Value::String(whole) => {
            let letters: Vec<_> = whole.chars().collect();
            for part in letters.chunks(2) {
                out.push(text(path, &part.iter().collect::<String>(), true));
            }
            out.push(text(path, "", false));
        }
        Value::Number(number) => out.push(json!({"jsonPath": path, "numberValue": number})),
        Value::Bool(bool) => out.push(json!({"jsonPath": path, "boolValue": bool})),
        Value::Null => out.push(json!({"jsonPath": path, "nullValue": null})),
    }
}

/// [GG-44] [GG-46]
#[test]
fn any_arguments_are_built_in_order_and_out_of_order() {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    let (nested, moved) = (Cell::new(0), Cell::new(0));
    let fields = prop::collection::btree_map("[a-d]{1,2}", value(), 1..4);
    let config = Config { cases: 256, failure_persistence: None, ..Config::default() };
    TestRunner::new(config)
        .run(&fields, |fields| {
            let value = Value::Object(fields.into_iter().collect());
            let mut ordered = Vec::new();
            pieces("$", &value, &mut ordered);
            let depth =
                value.as_object().unwrap().values().any(|value| value.is_object() || value.is_array());
            nested.set(nested.get() + u32::from(depth));
            let (calls, inputs, error) = runtime.block_on(built(&ordered));
            prop_assert_eq!(error, None);
            prop_assert_eq!(&inputs, &calls);
            prop_assert_eq!(serde_json::from_str::<Value>(&calls[0].1).unwrap(), value.clone());

            // Each field in two rounds: the texts once more, of which the second is added to the first.
            let again: Vec<_> =
                ordered.iter().filter(|piece| piece.get("stringValue").is_some()).cloned().collect();
            let all: Vec<_> = ordered.iter().chain(&again).cloned().collect();
            moved.set(moved.get() + u32::from(again.len() > 1 && ordered.len() > again.len()));
            let (calls, _, error) = runtime.block_on(built(&all));
            prop_assert_eq!(error, None);
            prop_assert_eq!(serde_json::from_str::<Value>(&calls[0].1).unwrap(), twice(value));
            Ok(())
        })
        .unwrap();
    assert!(nested.get() > 100 && moved.get() > 60, "{nested:?} nested, {moved:?} moved, of 256");
}

/// The value with each text said twice.
fn twice(value: Value) -> Value {
    match value {
        Value::String(text) => Value::from(text.repeat(2)),
        Value::Array(items) => items.into_iter().map(twice).collect(),
        Value::Object(fields) => fields.into_iter().map(|(name, value)| (name, twice(value))).collect(),
        other => other,
    }
}
