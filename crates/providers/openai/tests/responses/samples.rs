//! Our own samples of the wire, and arbitrary ones: cut anywhere, they give the same.

use std::cell::Cell;

use ai_provider::{Delivery, ErrorClass, ErrorRecord, StreamPart, UnifiedFinish};
use ai_testkit::Cut;
use bytes::Bytes;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};

use crate::support::{calls, decoded, finish, reasoning, text};

macro_rules! samples {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_bytes!(concat!("../samples/responses/", $name)))),*]
    };
}

const SAMPLES: &[(&str, &[u8])] = samples![
    "agent.sse",
    "crlf.sse",
    "cut-by-limit.sse",
    "cut.sse",
    "error.sse",
    "failed.sse",
    "ids-change.sse",
    "no-blank-line.sse",
    "open.sse",
    "refusal.sse",
    "server-tools.sse",
    "whole.json",
];

async fn decode(name: &str, cut: Cut) -> (Vec<StreamPart>, Option<ErrorRecord>) {
    let (_, bytes) = SAMPLES.iter().find(|(known, _)| *known == name).unwrap();
    decoded("openai", Delivery::Stream, Bytes::from_static(bytes), cut).await
}

/// [OA-201]
#[tokio::test]
async fn no_cutting_of_a_sample_changes_what_comes() {
    for (name, bytes) in SAMPLES {
        let whole = decode(name, Cut::Whole).await;
        let two_pieces = (1..bytes.len()).map(|at| Cut::At(vec![at]));
        let cuts = [Cut::Event, Cut::Every(1)].into_iter().chain((0..100).map(Cut::Random)).chain(two_pieces);
        for cut in cuts {
            assert_eq!(decode(name, cut.clone()).await, whole, "{name} cut {cut:?}");
        }
    }
}

/// [OA-201]
#[tokio::test]
async fn each_sample_gives_what_was_put_into_it() {
    let call = |id: &str, name: &str, input: &str| (id.to_owned(), name.to_owned(), input.to_owned());

    let (parts, error) = decode("agent.sse", Cut::Whole).await;
    assert_eq!(error, None);
    assert_eq!(reasoning(&parts), "**Zwei Städte**\n\nZürich und 東京Danach das Wetter 🌦️.");
    assert_eq!(text(&parts), "Ich sehe \"nach\"…\n");
    let weather = |id: &str, input: &str| call(id, "weather", input);
    assert_eq!(
        calls(&parts),
        [weather("call_a", r#"{"city":"Zürich"}"#), weather("call_b", r#"{"city":"東京"}"#)]
    );
    let usage = finish(&parts).usage;
    assert_eq!((usage.input.no_cache, usage.output.text), (Some(210), Some(68)));
    assert_eq!(parts.iter().filter(|part| matches!(part, StreamPart::Source(_))).count(), 1);

    let (parts, _) = decode("ids-change.sse", Cut::Whole).await;
    assert_eq!((text(&parts).as_str(), calls(&parts)), ("Ein zwei", vec![call("call_g", "f", r#"{"x":1}"#)]));

    let (parts, error) = decode("server-tools.sse", Cut::Whole).await;
    assert_eq!(error, None);
    let names: Vec<_> = calls(&parts).into_iter().map(|(_, name, _)| name).collect();
    let expected =
        ["web_search", "code_interpreter", "image_generation", "mcp.look", "mcp.write", "apply_patch", "sql"];
    assert_eq!(names, expected);
    let count = |wanted: fn(&StreamPart) -> bool| parts.iter().filter(|part| wanted(part)).count();
    assert_eq!(count(|part| matches!(part, StreamPart::ToolResult(_))), 5);
    assert_eq!(count(|part| matches!(part, StreamPart::ToolApprovalRequest(_))), 1);
    assert_eq!(count(|part| matches!(part, StreamPart::Custom(_))), 1);

    let (parts, _) = decode("cut-by-limit.sse", Cut::Whole).await;
    assert_eq!(
        (calls(&parts), finish(&parts).reason.unified),
        (vec![call("call_1", "f", "{}")], UnifiedFinish::Length)
    );
    for (name, class) in [
        ("error.sse", ErrorClass::Overloaded),
        ("failed.sse", ErrorClass::RateLimit),
        ("cut.sse", ErrorClass::Incomplete),
    ] {
        let (parts, error) = decode(name, Cut::Whole).await;
        assert_eq!((text(&parts).as_str(), error.unwrap().class), ("par 🙂", class));
    }
    for name in ["open.sse", "crlf.sse"] {
        let (parts, error) = decode(name, Cut::Whole).await;
        assert_eq!((reasoning(&parts).as_str(), text(&parts).as_str(), error), ("Hm… ja.", "Grüße 🙂", None));
        assert_eq!(finish(&parts).usage.output.total, Some(4));
    }
    let (parts, error) = decode("no-blank-line.sse", Cut::Whole).await;
    assert_eq!(
        (text(&parts).as_str(), finish(&parts).reason.unified, error),
        ("par 🙂", UnifiedFinish::Stop, None)
    );
    let (parts, _) = decode("refusal.sse", Cut::Whole).await;
    assert_eq!(finish(&parts).reason.unified, UnifiedFinish::ContentFilter);
    let (parts, _) = decode("whole.json", Cut::Whole).await;
    assert_eq!((text(&parts).as_str(), reasoning(&parts).as_str()), ("Grüße 🙂", "hä"));
    assert_eq!(calls(&parts), [call("a", "f", "{ \"x\" : 1 }")]);
}

/// A value that may stand anywhere.
fn any_value() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "\\PC{0,3}".prop_map(Value::from),
        Just(json!([])),
        Just(json!({})),
        Just(json!([{"type": "output_text", "text": "t"}, {"text": [1]}, "x"])),
    ]
}

/// Mostly what belongs there, sometimes anything.
fn mostly(good: impl Strategy<Value = Value> + 'static) -> BoxedStrategy<Value> {
    prop_oneof![80 => good.boxed(), 1 => any_value().boxed()].boxed()
}

fn object(fields: Vec<(&'static str, BoxedStrategy<Value>)>) -> impl Strategy<Value = Value> {
    let fields: Vec<_> = fields
        .into_iter()
        .map(|(name, value)| {
            prop::option::weighted(0.85, value)
                .prop_map(move |value| value.map(|value| (name.to_owned(), value)))
        })
        .collect();
    fields.prop_map(|fields| Value::Object(fields.into_iter().flatten().collect()))
}

fn one_of(words: &'static [&'static str]) -> BoxedStrategy<Value> {
    mostly(prop::sample::select(words).prop_map(Value::from))
}

fn item() -> impl Strategy<Value = Value> {
    let kinds = &[
        "message",
        "message",
        "reasoning",
        "reasoning",
        "function_call",
        "function_call",
        "function_call",
        "custom_tool_call",
        "web_search_call",
        "code_interpreter_call",
        "image_generation_call",
        "mcp_call",
        "mcp_approval_request",
        "shell_call",
        "shell_call_output",
        "apply_patch_call",
        "computer_call",
        "x",
    ];
    let part = object(vec![("text", one_of(&["", "a", "b"])), ("refusal", mostly(Just(Value::Null)))]);
    object(vec![
        ("type", one_of(kinds)),
        ("id", one_of(&["", "a", "b", "c"])),
        ("call_id", one_of(&["", "a", "b", "c"])),
        ("name", one_of(&["", "f", "g", "parallel"])),
        ("arguments", one_of(&["", "{", "{}", "{\"x\":1}", "[{\"name\":\"f\"}]"])),
        ("status", one_of(&["completed", "completed", "completed", "incomplete"])),
        ("input", one_of(&["", "a"])),
        ("code", one_of(&["", "a"])),
        ("result", one_of(&["iVBORw0KGgo="])),
        ("operation", mostly(Just(json!({"type": "create_file", "path": "p", "diff": "d"})))),
        ("content", mostly(prop::collection::vec(part.prop_map(Value::from), 0..3).prop_map(Value::from))),
        ("summary", mostly(Just(json!([{"type": "summary_text", "text": "s"}])))),
        ("approval_request_id", mostly(Just(Value::Null))),
    ])
}

fn any_event() -> impl Strategy<Value = Value> {
    let kinds = &[
        "response.created",
        "response.output_item.added",
        "response.output_item.added",
        "response.output_item.added",
        "response.output_item.done",
        "response.output_item.done",
        "response.output_text.delta",
        "response.output_text.delta",
        "response.output_text.done",
        "response.refusal.delta",
        "response.reasoning_summary_text.delta",
        "response.reasoning_text.delta",
        "response.function_call_arguments.delta",
        "response.function_call_arguments.delta",
        "response.function_call_arguments.done",
        "response.custom_tool_call_input.delta",
        "response.code_interpreter_call_code.delta",
        "response.output_text.annotation.added",
        "response.image_generation_call.partial_image",
        "response.x",
    ];
    let index = || mostly((0_i64..3).prop_map(Value::from));
    object(vec![
        ("type", one_of(kinds)),
        ("item_id", one_of(&["", "a", "b", "c"])),
        ("output_index", index()),
        ("content_index", index()),
        ("summary_index", index()),
        ("delta", one_of(&["", "a", "{", "}", "{\"x\":1}"])),
        ("text", one_of(&["", "a"])),
        ("arguments", one_of(&["", "{}"])),
        ("partial_image_b64", one_of(&["iVBORw0KGgo="])),
        ("annotation", mostly(Just(json!({"type": "url_citation", "url": "http://a"})))),
        ("item", mostly(item())),
        ("response", mostly(Just(json!({"id": "r", "store": true})))),
    ])
}

fn last_event() -> impl Strategy<Value = Value> {
    let output = prop::collection::vec(item(), 0..3).prop_map(Value::from);
    let response = object(vec![
        ("id", one_of(&["r"])),
        ("status", one_of(&["completed", "completed", "incomplete", "failed"])),
        ("output", mostly(output)),
        ("usage", mostly(Just(json!({"input_tokens": 3})))),
        ("incomplete_details", mostly(Just(Value::Null))),
    ]);
    object(vec![
        ("type", one_of(&["response.completed", "response.completed", "response.incomplete"])),
        ("response", mostly(response)),
    ])
}

/// [OA-239]
#[test]
fn whatever_a_server_sends_the_parts_are_in_order_and_one_thing_ends_them() {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    let (finished, failed, called) = (Cell::new(0), Cell::new(0), Cell::new(0));
    let events = prop::collection::vec(any_event(), 1..10);
    let cases = (events, prop::option::weighted(0.9, last_event()), any::<u64>());
    TestRunner::new(Config { cases: 1_024, failure_persistence: None, ..Config::default() })
        .run(&cases, |(events, last, seed)| {
            let events = events.iter().chain(&last).map(|event| format!("data: {event}\n\n"));
            let body: String = events.collect();
            // The order of the parts is checked on the way.
            let decode = |cut| runtime.block_on(decoded("openai", Delivery::Stream, body.clone(), cut));
            let (parts, error) = decode(Cut::Whole);
            let ends = parts.iter().filter(|part| matches!(part, StreamPart::Finish(_))).count();
            prop_assert_eq!(ends + usize::from(error.is_some()), 1);
            finished.set(finished.get() + ends);
            failed.set(failed.get() + usize::from(error.is_some()));
            called.set(called.get() + usize::from(!calls(&parts).is_empty()));
            prop_assert_eq!(decode(Cut::Random(seed)), (parts, error));
            Ok(())
        })
        .unwrap();
    let counts = [finished.get(), failed.get(), called.get()];
    assert!(finished.get() > 150 && failed.get() > 150 && called.get() > 150, "{counts:?}");
}
