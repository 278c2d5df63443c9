//! Our own samples of the wire, and arbitrary ones: cut anywhere, they give the same.

use std::cell::Cell;

use ai_provider::{Delivery, ErrorClass, ErrorRecord, StreamPart};
use ai_testkit::Cut;
use bytes::Bytes;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};

use crate::support::*;

const SAMPLES: &[(&str, &[u8])] = &[
    ("blocked", include_bytes!("../samples/blocked.sse")),
    ("calls", include_bytes!("../samples/calls.sse")),
    ("cr", include_bytes!("../samples/cr.sse")),
    ("cut-call", include_bytes!("../samples/cut-call.sse")),
    ("error", include_bytes!("../samples/error.sse")),
    ("halves", include_bytes!("../samples/halves.sse")),
    ("list", include_bytes!("../samples/list.json")),
    ("no-blank-line", include_bytes!("../samples/no-blank-line.sse")),
    ("server", include_bytes!("../samples/server.sse")),
    ("stop-in-call", include_bytes!("../samples/stop-in-call.sse")),
    ("thoughts-crlf", include_bytes!("../samples/thoughts-crlf.sse")),
    ("whole", include_bytes!("../samples/whole.json")),
];

fn sample(name: &str) -> Bytes {
    Bytes::from_static(SAMPLES.iter().find(|(known, _)| *known == name).unwrap().1)
}

async fn decode(body: Bytes, cut: Cut) -> (Vec<StreamPart>, Option<ErrorRecord>) {
    decoded(Delivery::Stream, body, cut).await
}

async fn cut_everywhere(name: &str, body: Bytes) {
    let whole = decode(body.clone(), Cut::Whole).await;
    let two_pieces = (1..body.len()).map(|at| Cut::At(vec![at]));
    let cuts = [Cut::Event, Cut::Every(1)].into_iter().chain((0..100).map(Cut::Random)).chain(two_pieces);
    for cut in cuts {
        assert_eq!(decode(body.clone(), cut.clone()).await, whole, "{name} cut {cut:?}");
    }
}

/// [GG-2]
#[tokio::test]
async fn no_cutting_of_a_sample_changes_what_comes() {
    for (name, bytes) in SAMPLES {
        cut_everywhere(name, Bytes::from_static(bytes)).await;
    }
}

/// [GG-2]
#[tokio::test]
async fn no_cutting_changes_any_finish() {
    for raw in [
        "STOP",
        "MAX_TOKENS",
        "SAFETY",
        "RECITATION",
        "BLOCKLIST",
        "PROHIBITED_CONTENT",
        "SPII",
        "IMAGE_SAFETY",
        "MALFORMED_FUNCTION_CALL",
        "FINISH_REASON_UNSPECIFIED",
        "NEUES_WORT_Ä",
    ] {
        cut_everywhere(raw, Bytes::from(end(r#"[{"text":"é"}]"#, raw))).await;
    }
}

/// [GG-7] [GG-21]
#[tokio::test]
async fn each_sample_gives_what_was_put_into_it() {
    let read = async |name: &str| decode(sample(name), Cut::Whole).await;
    let (parts, error) = read("thoughts-crlf").await;
    assert_eq!((reasoning(&parts).as_str(), error), ("Grüße an 東京: nachdenken 🤔", None));
    assert_eq!((text(&parts).as_str(), reason(&parts).0), ("Es regnet ☔ \u{feff}.", "stop"));
    let usage = finish(&parts).usage;
    assert_eq!(
        (usage.input.total, usage.output.total, usage.output.reasoning),
        (Some(12), Some(14), Some(9))
    );

    let (parts, error) = read("calls").await;
    let call = |input: &str| ("weather".to_owned(), input.to_owned());
    let expected = [call(r#"{"city":"Zürich","days":[1,2]}"#), call(r#"{"city":"東京","days":[3,4]}"#)];
    assert_eq!((calls(&parts), inputs(&parts), error), (expected.to_vec(), expected.to_vec(), None));
    assert_eq!((text(&parts).as_str(), reason(&parts).0), ("Ich sehe \"nach\"…\n", "tool-calls"));
    assert_eq!(tool_calls(&parts)[1].id, "b-1");
    assert_eq!(finish(&parts).usage.input.no_cache, Some(210));

    for (name, words, unified) in [
        ("cr", "ab", "length"),
        ("no-blank-line", "hi 🙂", "stop"),
        ("halves", "a🙂b", "stop"),
        ("list", "Eins 🙂", "stop"),
        ("blocked", "", "content-filter"),
        ("server", "da", "stop"),
        ("whole", "Grüße 🙂", "tool-calls"),
    ] {
        let (parts, error) = read(name).await;
        assert_eq!((text(&parts).as_str(), reason(&parts).0, error), (words, unified, None), "{name}");
    }
    for (name, words, class) in [
        ("error", "par", ErrorClass::RateLimit),
        ("cut-call", "", ErrorClass::Incomplete),
        ("stop-in-call", "", ErrorClass::Incomplete),
    ] {
        let (parts, error) = read(name).await;
        assert_eq!(
            (text(&parts).as_str(), calls(&parts).len(), error.unwrap().class),
            (words, 0, class),
            "{name}"
        );
    }
    let (parts, _) = read("server").await;
    let count = |kind: fn(&StreamPart) -> bool| parts.iter().filter(|part| kind(part)).count();
    let counts = [
        count(|part| matches!(part, StreamPart::ToolCall(_))),
        count(|part| matches!(part, StreamPart::ToolResult(_))),
        count(|part| matches!(part, StreamPart::Source(_))),
        count(|part| matches!(part, StreamPart::File(_))),
        count(|part| matches!(part, StreamPart::Custom(_))),
    ];
    assert_eq!(counts, [2, 2, 2, 1, 1]);
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
        Just(json!([{"text": "t"}, {"functionCall": {"name": "f"}}])),
    ]
}

/// Mostly what belongs there, sometimes anything.
fn mostly(good: impl Strategy<Value = Value> + 'static) -> BoxedStrategy<Value> {
    prop_oneof![80 => good.boxed(), 1 => any_value().boxed()].boxed()
}

fn object(share: f64, fields: Vec<(&'static str, BoxedStrategy<Value>)>) -> impl Strategy<Value = Value> {
    let fields: Vec<_> = fields
        .into_iter()
        .map(|(name, value)| {
            prop::option::weighted(share, value)
                .prop_map(move |value| value.map(|value| (name.to_owned(), value)))
        })
        .collect();
    fields.prop_map(|fields| Value::Object(fields.into_iter().flatten().collect()))
}

fn one_of(words: &'static [&'static str]) -> BoxedStrategy<Value> {
    mostly(prop::sample::select(words).prop_map(Value::from))
}

fn part() -> impl Strategy<Value = Value> {
    let id = || one_of(&["", "a", "b", "gemini_0"]);
    let flag = || mostly(any::<bool>().prop_map(Value::from));
    let piece = object(
        0.7,
        vec![
            ("jsonPath", one_of(&["$.a", "$.a", "$.b", "$.c[0]", "$.c[1]", "$.d.e", "$"])),
            ("stringValue", one_of(&["", "x", "\"🙂"])),
            ("willContinue", flag()),
        ],
    );
    let pieces = mostly(prop::collection::vec(piece, 0..3).prop_map(Value::from));
    let call = object(
        0.5,
        vec![
            ("id", id()),
            ("name", one_of(&["f", "g"])),
            ("args", mostly(Just(json!({"x": 1})))),
            ("partialArgs", pieces),
            ("willContinue", flag()),
        ],
    );
    let signed = || ("thoughtSignature", one_of(&["", "S", "T"]));
    let code = object(0.7, vec![("id", id()), ("code", id()), ("outcome", one_of(&["OUTCOME_OK", "X"]))]);
    prop_oneof![
        4 => object(0.6, vec![("text", one_of(&["", "a", "{"])), ("thought", flag()), signed()]),
        4 => object(0.95, vec![("functionCall", mostly(call)), signed()]),
        1 => object(0.9, vec![("executableCode", mostly(code.boxed())), signed()]),
        1 => object(0.9, vec![("codeExecutionResult", mostly(object(0.7, vec![("id", id())]))), signed()]),
        1 => object(0.9, vec![("toolCall", mostly(object(0.7, vec![("id", id()), ("args", any_value().boxed())])))]),
        1 => object(0.9, vec![("toolResponse", mostly(object(0.7, vec![("id", id())])))]),
        1 => object(0.9, vec![("inlineData", mostly(object(0.7, vec![("data", one_of(&["", "aGk="]))])))]),
        1 => object(0.9, vec![("new", any_value().boxed()), signed()]),
    ]
}

fn frame() -> impl Strategy<Value = Value> {
    let parts = mostly(prop::collection::vec(part(), 0..3).prop_map(Value::from));
    let reason =
        prop_oneof![30 => Just(Value::Null), 1 => Just("STOP".into()), 1 => Just("MAX_TOKENS".into())];
    let candidate = object(
        0.95,
        vec![
            ("index", mostly(Just(0.into()))),
            ("content", mostly(object(0.95, vec![("parts", parts)]))),
            ("finishReason", mostly(reason)),
            ("groundingMetadata", any_value().boxed()),
        ],
    );
    object(
        0.95,
        vec![
            ("candidates", mostly(prop::collection::vec(candidate, 0..2).prop_map(Value::from))),
            (
                "usageMetadata",
                mostly(Just(json!({"promptTokenCount": 3, "promptTokensDetails": [{"x": 1}]}))),
            ),
            ("responseId", one_of(&["r"])),
            ("promptFeedback", mostly(Just(Value::Null))),
            ("error", mostly(Just(Value::Null))),
        ],
    )
}

/// [GG-6]
#[test]
fn whatever_a_server_sends_the_parts_are_in_order_and_one_thing_ends_them() {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    let (finished, failed, called) = (Cell::new(0), Cell::new(0), Cell::new(0));
    let ends = prop::option::of(Just(stop()));
    let cases = (prop::collection::vec(frame(), 1..6), ends, any::<u64>());
    let config = Config { cases: 512, failure_persistence: None, ..Config::default() };
    TestRunner::new(config)
        .run(&cases, |(frames, end, seed)| {
            let body: String = frames.iter().map(|frame| data(&frame.to_string())).chain(end).collect();
            let body = Bytes::from(body);
            // The order is checked within.
            let whole = runtime.block_on(decode(body.clone(), Cut::Whole));
            let finishes = whole.0.iter().filter(|part| matches!(part, StreamPart::Finish(_))).count();
            prop_assert_eq!(finishes, usize::from(whole.1.is_none()));
            match &whole.1 {
                None => finished.set(finished.get() + 1),
                Some(_) => failed.set(failed.get() + 1),
            }
            called.set(called.get() + u32::from(!tool_calls(&whole.0).is_empty()));
            prop_assert_eq!(runtime.block_on(decode(body, Cut::Random(seed))), whole);
            Ok(())
        })
        .unwrap();
    let counts = format!("{finished:?} finished, {failed:?} failed, {called:?} called, of 512");
    assert!(finished.get() > 50 && failed.get() > 100 && called.get() > 75, "{counts}");
}
