//! Our own samples of the wire, and arbitrary ones: cut anywhere, they give the same.

use std::cell::Cell;

use ai_provider::{Delivery, ErrorClass, ErrorRecord, StreamPart};
use ai_testkit::Cut;
use bytes::Bytes;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};

use crate::support::{called, calls, decoded, end, finish, reasoning, text};

const SAMPLES: &[(&str, &[u8])] = &[
    ("cr", include_bytes!("../samples/cr.sse")),
    ("crlf", include_bytes!("../samples/crlf.sse")),
    ("cut-call", include_bytes!("../samples/cut-call.sse")),
    ("error", include_bytes!("../samples/error.sse")),
    ("no-blank-line", include_bytes!("../samples/no-blank-line.sse")),
    ("server-tools", include_bytes!("../samples/server-tools.sse")),
    ("thinking-tools", include_bytes!("../samples/thinking-tools.sse")),
    ("whole", include_bytes!("../samples/whole.json")),
];

fn sample(name: &str) -> Bytes {
    Bytes::from_static(SAMPLES.iter().find(|(known, _)| *known == name).unwrap().1)
}

async fn decode(name: &str, cut: Cut) -> (Vec<StreamPart>, Option<ErrorRecord>) {
    decoded(Delivery::Stream, sample(name), cut).await
}

/// [AN-2]
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

/// [AN-7]
#[tokio::test]
async fn each_sample_gives_what_was_put_into_it() {
    let (parts, error) = decode("thinking-tools", Cut::Whole).await;
    assert_eq!(error, None);
    assert_eq!(reasoning(&parts), "Zwei Städte: Zürich und 東京 🌦️.");
    assert_eq!(text(&parts), "Ich sehe \"nach\"…\n");
    assert_eq!(
        calls(&parts),
        [
            called("toolu_a", "weather", r#"{"city":"Zürich"}"#),
            called("toolu_b", "weather", r#"{"city":"東京"}"#),
        ]
    );
    let usage = finish(&parts).usage;
    assert_eq!(
        (usage.input.total, usage.input.no_cache, usage.output.text),
        (Some(1210), Some(10), Some(68))
    );

    for (name, words) in [("crlf", "Ein zwei\u{a0}🙂 \u{feff}drei"), ("cr", "ab"), ("no-blank-line", "hi 🙂")]
    {
        let (parts, error) = decode(name, Cut::Whole).await;
        assert_eq!((text(&parts).as_str(), error), (words, None), "{name}");
        assert_eq!(finish(&parts).usage.input.total, Some(25), "{name}");
    }
    let (parts, error) = decode("server-tools", Cut::Whole).await;
    assert_eq!((calls(&parts).len(), error), (3, None));
    assert_eq!(text(&parts), "Found it.");
    let (parts, error) = decode("error", Cut::Whole).await;
    assert_eq!((text(&parts).as_str(), error.unwrap().class), ("par", ErrorClass::Overloaded));
    let (parts, error) = decode("cut-call", Cut::Whole).await;
    assert_eq!((calls(&parts).len(), error.unwrap().class), (0, ErrorClass::Incomplete));
    let (parts, error) = decode("whole", Cut::Whole).await;
    assert_eq!((text(&parts).as_str(), reasoning(&parts).as_str(), error), ("Grüße 🙂", "hä", None));
    assert_eq!(calls(&parts)[0].2.split_whitespace().collect::<String>(), r#"{"x":1}"#);
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
        Just(json!({"type": "text_delta", "text": "t"})),
    ]
}

/// Mostly what belongs there, sometimes anything.
fn mostly(good: impl Strategy<Value = Value> + 'static) -> BoxedStrategy<Value> {
    prop_oneof![80 => good.boxed(), 1 => any_value().boxed()].boxed()
}

fn object(fields: Vec<(&'static str, BoxedStrategy<Value>)>) -> impl Strategy<Value = Value> + Clone {
    let fields: Vec<_> = fields
        .into_iter()
        .map(|(name, value)| {
            prop::option::weighted(0.92, value)
                .prop_map(move |value| value.map(|value| (name.to_owned(), value)))
        })
        .collect();
    fields.prop_map(|fields| Value::Object(fields.into_iter().flatten().collect()))
}

fn one_of(words: &'static [&'static str]) -> BoxedStrategy<Value> {
    mostly(prop::sample::select(words).prop_map(Value::from))
}

fn event() -> impl Strategy<Value = Value> {
    let index = || mostly((0_i64..3).prop_map(Value::from));
    let kinds = &[
        "text",
        "thinking",
        "redacted_thinking",
        "tool_use",
        "tool_use",
        "server_tool_use",
        "bash_code_execution_tool_result",
        "compaction",
        "fallback",
        "odd",
    ];
    let words = &["", "a", "{", "}", "{\"x\":1}", " "];
    let content = object(vec![
        ("type", one_of(kinds)),
        ("id", one_of(&["", "a", "b", "c"])),
        ("tool_use_id", one_of(&["a", "b"])),
        ("name", one_of(&["f", "json", "bash_code_execution"])),
        ("text", one_of(words)),
        ("thinking", one_of(words)),
        ("signature", one_of(&["", "S"])),
        ("data", one_of(words)),
        ("input", mostly(prop_oneof![Just(json!({})), Just(json!({"x": 1}))])),
    ]);
    let deltas = &[
        "text_delta",
        "thinking_delta",
        "signature_delta",
        "input_json_delta",
        "citations_delta",
        "odd_delta",
    ];
    let change = object(vec![
        ("type", one_of(deltas)),
        ("text", one_of(words)),
        ("thinking", one_of(words)),
        ("partial_json", one_of(words)),
        ("signature", one_of(&["", "S"])),
        ("stop_reason", one_of(&["end_turn", "max_tokens", "tool_use"])),
    ]);
    let named = |kind: &'static str| mostly(Just(Value::from(kind)));
    let of = |kind, more: Vec<(&'static str, BoxedStrategy<Value>)>| {
        object([vec![("type", named(kind)), ("index", index())], more].concat())
    };
    prop_oneof![
        4 => of("content_block_start", vec![("content_block", mostly(content))]),
        6 => of("content_block_delta", vec![("delta", mostly(change.clone()))]),
        3 => of("content_block_stop", vec![]),
        1 => of("message_delta", vec![("delta", mostly(change)), ("usage", mostly(Just(json!({"output_tokens": 3}))))]),
        1 => of("message_start", vec![("message", mostly(Just(json!({"id": "m", "usage": {"input_tokens": 1}}))))]),
        1 => of("ping", vec![("error", any_value().boxed())]),
    ]
}

/// [AN-6]
#[test]
fn whatever_a_server_sends_the_parts_are_in_order_and_one_thing_ends_them() {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    let (finished, failed, called) = (Cell::new(0), Cell::new(0), Cell::new(0));
    let ends = prop::option::weighted(0.8, prop_oneof![Just(end("tool_use")), Just(end("max_tokens"))]);
    let cases = (prop::collection::vec(event(), 1..10), ends, prop::bool::weighted(0.2), any::<u64>());
    TestRunner::new(Config { cases: 400, failure_persistence: None, ..Config::default() })
        .run(&cases, |(events, end, whole, seed)| {
            let body = match whole {
                true => {
                    let blocks: Vec<_> =
                        events.iter().filter_map(|event| event.get("content_block")).collect();
                    json!({"type": "message", "content": blocks, "stop_reason": "end_turn"}).to_string()
                }
                false => events.iter().map(|event| format!("data: {event}\n\n")).chain(end).collect(),
            };
            let delivery = if whole { Delivery::Whole } else { Delivery::Stream };
            // The order of the parts is checked on the way.
            let decode = |cut| runtime.block_on(decoded(delivery, body.clone(), cut));
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
    assert!(finished.get() > 40 && failed.get() > 80 && called.get() > 20, "{counts:?}");
}
