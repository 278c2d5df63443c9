//! Our own samples of the wire, and arbitrary ones: cut anywhere, they give the same.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests fail by panicking"
)]

mod support;

use std::cell::Cell;

use ai_provider::{Delivery, ErrorClass, StreamPart};
use ai_testkit::Cut;
use bytes::Bytes;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};
use support::{calls, data, decoded, dialect, finish, reasoning, text};

const SAMPLES: &[(&str, &[u8])] = &[
    ("cr", include_bytes!("samples/cr.sse")),
    ("crlf", include_bytes!("samples/crlf.sse")),
    ("cut-call", include_bytes!("samples/cut-call.sse")),
    ("error", include_bytes!("samples/error.sse")),
    ("no-blank-line", include_bytes!("samples/no-blank-line.sse")),
    ("pages", include_bytes!("samples/pages.sse")),
    ("tools-interleaved", include_bytes!("samples/tools-interleaved.sse")),
    ("whole", include_bytes!("samples/whole.json")),
];

fn sample(name: &str) -> Bytes {
    Bytes::from_static(SAMPLES.iter().find(|(known, _)| *known == name).unwrap().1)
}

async fn decode(name: &str, cut: Cut) -> (Vec<StreamPart>, Option<ai_provider::ErrorRecord>) {
    decoded(dialect("generic"), Delivery::Stream, sample(name), cut).await
}

/// [OA-2]
#[tokio::test]
async fn no_cutting_of_a_sample_changes_what_comes() {
    for (name, bytes) in SAMPLES {
        let whole = decode(name, Cut::Whole).await;
        let two_pieces = (1..bytes.len()).map(|at| Cut::At(vec![at]));
        let cuts = [Cut::Event, Cut::Every(1)].into_iter().chain((0..200).map(Cut::Random)).chain(two_pieces);
        for cut in cuts {
            assert_eq!(decode(name, cut.clone()).await, whole, "{name} cut {cut:?}");
        }
    }
}

/// [OA-7]
#[tokio::test]
async fn each_sample_gives_what_was_put_into_it() {
    let (parts, error) = decode("tools-interleaved", Cut::Whole).await;
    assert_eq!(error, None);
    assert_eq!(reasoning(&parts), "Zwei Städte: Zürich und 東京 🌦️.");
    assert_eq!(text(&parts), "Ich sehe \"nach\"…\n");
    let call = |id: &str, input: &str| (id.to_owned(), "weather".to_owned(), input.to_owned());
    assert_eq!(calls(&parts), [call("call_a", r#"{"city":"Zürich"}"#), call("call_b", r#"{"city":"東京"}"#)]);
    let usage = finish(&parts).usage;
    assert_eq!(
        (usage.input.total, usage.input.no_cache, usage.output.text),
        (Some(1210), Some(210), Some(68))
    );

    for (name, words) in [
        ("crlf", "Ein zwei\u{a0}🙂 \u{feff}drei"),
        ("cr", "ab"),
        ("no-blank-line", "hi 🙂"),
        ("pages", "Eins zwei"),
    ] {
        let (parts, error) = decode(name, Cut::Whole).await;
        assert_eq!((text(&parts).as_str(), error), (words, None), "{name}");
        finish(&parts);
    }
    let (parts, error) = decode("error", Cut::Whole).await;
    assert_eq!((text(&parts).as_str(), error.unwrap().class), ("par", ErrorClass::Quota));
    let (parts, error) = decode("cut-call", Cut::Whole).await;
    assert_eq!((calls(&parts).len(), error.unwrap().class), (0, ErrorClass::Incomplete));
    let (parts, error) = decode("whole", Cut::Whole).await;
    assert_eq!((text(&parts).as_str(), reasoning(&parts).as_str(), error), ("Grüße 🙂", "hä", None));
    let [(id, name, input)] = calls(&parts).try_into().unwrap();
    assert_eq!((id.as_str(), name.as_str()), ("a", "f"));
    assert_eq!(input.split_whitespace().collect::<String>(), r#"{"x":1}"#);
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
        Just(json!([{"type": "text", "text": "t"}, {"type": "thinking", "thinking": [{"text": "h"}]}])),
    ]
}

/// Mostly what belongs there, sometimes anything.
fn mostly(good: impl Strategy<Value = Value> + 'static) -> BoxedStrategy<Value> {
    prop_oneof![60 => good.boxed(), 1 => any_value().boxed()].boxed()
}

fn object(fields: Vec<(&'static str, BoxedStrategy<Value>)>) -> impl Strategy<Value = Value> {
    let fields: Vec<_> = fields
        .into_iter()
        .map(|(name, value)| {
            prop::option::weighted(0.8, value)
                .prop_map(move |value| value.map(|value| (name.to_owned(), value)))
        })
        .collect();
    fields.prop_map(|fields| Value::Object(fields.into_iter().flatten().collect()))
}

fn text_value() -> BoxedStrategy<Value> {
    mostly(prop_oneof![Just(""), Just("a"), Just("{"), Just("}"), Just("{\"x\":1}")].prop_map(Value::from))
}

fn frame() -> impl Strategy<Value = Value> {
    let id = || mostly(prop_oneof![Just(""), Just("a"), Just("b")].prop_map(Value::from));
    let index = || mostly((0_i64..3).prop_map(Value::from));
    let function = object(vec![("name", id()), ("arguments", text_value())]);
    let call = object(vec![("id", id()), ("index", index()), ("function", mostly(function))]);
    let delta = object(vec![
        ("content", text_value()),
        ("reasoning_content", text_value()),
        ("reasoning", text_value()),
        ("refusal", mostly(Just(Value::Null))),
        ("tool_calls", mostly(prop::collection::vec(call, 0..3).prop_map(Value::from))),
    ]);
    let reason = prop_oneof![8 => Just(Value::Null), 1 => Just("stop".into()), 1 => Just("length".into())];
    let choice = object(vec![
        ("index", mostly(Just(0.into()))),
        ("delta", mostly(delta)),
        ("finish_reason", mostly(reason)),
    ]);
    object(vec![
        ("id", id()),
        ("model", id()),
        ("created", any_value().boxed()),
        ("choices", mostly(prop::collection::vec(choice, 0..3).prop_map(Value::from))),
        ("usage", mostly(Just(json!({"prompt_tokens": 3})))),
        ("error", mostly(Just(Value::Null))),
        ("citations", any_value().boxed()),
    ])
}

/// [OA-6]
#[test]
fn whatever_a_server_sends_the_parts_are_in_order_and_one_thing_ends_them() {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    let (finished, failed, called) = (Cell::new(0), Cell::new(0), Cell::new(0));
    let ends = prop::option::of(Just(support::fin(r#""tool_calls""#)));
    let cases = (prop::collection::vec(frame(), 1..8), ends, prop::bool::weighted(0.3), any::<u64>());
    TestRunner::new(Config { cases: 1_024, failure_persistence: None, ..Config::default() })
        .run(&cases, |(frames, end, whole, seed)| {
            let body = match whole {
                true => frames[0].to_string().replace(r#""delta""#, r#""message""#),
                false => frames.iter().map(|frame| data(&frame.to_string())).chain(end).collect(),
            };
            let delivery = if whole { Delivery::Whole } else { Delivery::Stream };
            // The order of the parts is checked on the way.
            let decode = |cut| runtime.block_on(decoded(dialect("openai"), delivery, body.clone(), cut));
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
    assert!(finished.get() > 100 && failed.get() > 200 && called.get() > 50, "{counts:?}");
}
