#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail by panicking")]

use std::cell::Cell;

use ai_http::{CallInfo, Decoder, Event, IdSeed, Parts};
use ai_provider::{Delivery, ModelError, RequestId, StreamPart, TargetId};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};

use super::super::ChatDecoder;
use crate::dialect::Dialect;

fn decoder(dialect: Dialect) -> ChatDecoder {
    let target = TargetId::new("acme", "m", "https://acme.test/v1");
    let ids = IdSeed::new(&RequestId::from("r"));
    let info = CallInfo { target: &target, account: None, delivery: Delivery::Stream, ids };
    ChatDecoder::new(dialect.into(), &info)
}

fn generic() -> Dialect {
    Dialect::generic("acme", "https://acme.test/v1")
}

/// The parts of these frames, and how many were read by being alike.
fn decode(dialect: Dialect, frames: &[String]) -> (Vec<StreamPart>, Option<ModelError>, usize) {
    let (mut decoder, mut out, mut parts, mut alike) = (decoder(dialect), Parts::default(), Vec::new(), 0);
    for (number, data) in (1..).zip(frames) {
        alike += usize::from(decoder.finish.is_none() && decoder.alike.read(data).is_some());
        let next = decoder.event(Event { name: None, data, number }, &mut out);
        parts.extend(std::iter::from_fn(|| out.pop()));
        if let Err(error) = next {
            return (parts, Some(error), alike);
        }
    }
    (parts, None, alike)
}

fn frame(delta: Value) -> Value {
    json!({ "id": "c", "model": "m", "choices": [{ "index": 0, "delta": delta, "finish_reason": null }] })
}

fn strings() -> impl Strategy<Value = String> {
    prop_oneof![4 => "[a-z <>{}]{0,6}", 2 => "[\"\\\\\n\u{1}é\u{1F600}]{0,4}", 1 => Just("</think>".to_owned())]
}

/// Deltas above all, in runs of the same kind, and between them what a frame may say besides.
fn frames() -> impl Strategy<Value = Vec<Value>> {
    let call = |index: u64, input: String| json!({ "tool_calls": [{ "index": index, "function": { "arguments": input } }] });
    let delta = prop_oneof![
        4 => prop::collection::vec(strings(), 1..6)
            .prop_map(|texts| texts.into_iter().map(|text| frame(json!({ "content": text }))).collect::<Vec<_>>()),
        3 => (0..2_u64, prop::collection::vec(strings(), 1..6)).prop_map(move |(index, inputs)| {
            let begin = json!({ "tool_calls": [{ "index": index, "id": format!("c{index}"), "function": { "name": "t" } }] });
            let pieces = inputs.into_iter().map(|input| frame(call(index, input)));
            std::iter::once(frame(begin)).chain(pieces).collect()
        }),
        1 => strings().prop_map(|text| vec![frame(json!({ "reasoning_content": text, "content": null }))]),
        1 => strings().prop_map(|text| vec![frame(json!({ "content": text, "refusal": "no" }))]),
        1 => strings().prop_map(|text| vec![frame(json!({ "content": [{ "text": text }] }))]),
        1 => strings().prop_map(|text| {
            let mut last = frame(json!({ "content": text }));
            last["choices"][0]["finish_reason"] = json!("stop");
            vec![last]
        }),
        1 => strings().prop_map(|text| {
            let mut counted = frame(json!({ "content": text }));
            counted["usage"] = json!({ "prompt_tokens": 1 });
            vec![counted]
        }),
        1 => strings().prop_map(|text| {
            let mut failed = frame(json!({ "content": text }));
            failed["error"] = json!({ "message": text });
            vec![failed]
        }),
    ];
    prop::collection::vec(delta, 1..8).prop_map(|runs| runs.concat())
}

/// White space that no two frames have alike.
fn unlike(frames: &[Value]) -> Vec<String> {
    let spaced = |(at, frame): (usize, &Value)| {
        frame.to_string().replacen('{', &format!("{{{}", " ".repeat(at + 1)), 1)
    };
    frames.iter().enumerate().map(spaced).collect()
}

/// [OA-288]
#[test]
fn frames_that_are_alike_say_what_they_say_one_by_one() {
    let (all, hits) = (Cell::new(0), Cell::new(0));
    let mut runner = TestRunner::deterministic();
    let told = |dialect: Dialect, frames: &[Value]| {
        let alike: Vec<_> = frames.iter().map(Value::to_string).collect();
        let (parts, error, hit) = decode(dialect.clone(), &alike);
        let (wanted, other, none) = decode(dialect, &unlike(frames));
        assert_eq!((parts, error.map(|error| error.class())), (wanted, other.map(|error| error.class())));
        assert_eq!(none, 0, "the other way reads each frame");
        (all.get() + frames.len(), hits.get() + hit)
    };
    runner
        .run(&frames(), |frames| {
            for dialect in [generic(), Dialect { reasoning_tag: Some("think".into()), ..generic() }] {
                let (seen, hit) = told(dialect, &frames);
                all.set(seen);
                hits.set(hit);
            }
            Ok(())
        })
        .unwrap();
    assert!(hits.get() * 10 > all.get(), "{} of {} frames were alike", hits.get(), all.get());
}

/// [OA-288]
#[test]
fn what_only_looks_alike_is_read_whole() {
    let like = |text: &str| frame(json!({ "content": "@" })).to_string().replace("\"@\"", text);
    for odd in [r#""a","x":"b""#, r#""a"#, r#""\ud800""#, "null", "7", "\"a\nb\"", r#"["a"]"#, ""] {
        let frames = [like("\"first\""), like(odd), like("\"last\"")];
        let mut decoder = decoder(generic());
        let mut out = Parts::default();
        let event = |data, number| Event { name: None, data, number };
        decoder.event(event(&frames[0], 1), &mut out).unwrap();
        assert!(decoder.alike.read(&frames[1]).is_none(), "{odd}");
        assert!(decoder.alike.read(&frames[2]).is_some());
    }
}

/// [OA-288]
#[test]
fn a_frame_that_is_long_is_not_kept() {
    let long = |text: &str| {
        format!(
            "{{\"pad\":\"{}\",{}",
            "x".repeat(4 << 10),
            &frame(json!({ "content": text })).to_string()[1..]
        )
    };
    let (parts, error, alike) = decode(generic(), &[long("a"), long("b")]);
    assert_eq!((parts.len(), error.is_none(), alike), (4, true, 0));
}
