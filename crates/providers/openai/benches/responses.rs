//! The time a text delta of a response takes: the codec against the least a user could write by hand.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, reason = "a benchmark fails by panicking")]

use std::borrow::Cow;
use std::hint::black_box;

use ai_http::{CallInfo, Codec, Endpoint, Event, IdSeed, Parts};
use ai_openai::{ResponsesCodec, ResponsesDialect};
use ai_provider::{Delivery, RequestId, StreamPart, TargetId};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use serde::Deserialize;

const DELTAS: usize = 20_000;
const ENDPOINT: &str = "http://localhost/v1";

/// What an event is to someone who wants its text alone.
#[derive(Deserialize)]
struct Delta<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    delta: Option<Cow<'a, str>>,
}

fn frames() -> Vec<String> {
    let words = ["Hello", " world", ",", " how", " are", " you", " today", "?"];
    let frame = |at: usize| {
        let word = words.get(at % words.len()).expect("a word");
        format!(
            r#"{{"type":"response.output_text.delta","sequence_number":{at},"item_id":"msg_bench","output_index":0,"content_index":0,"delta":"{word}","logprobs":[],"obfuscation":"uxYtkBLrKq"}}"#
        )
    };
    (0..DELTAS).map(frame).collect()
}

fn decode(c: &mut Criterion) {
    let frames = frames();
    let mut group = c.benchmark_group("responses-decode");
    group.throughput(Throughput::Elements(DELTAS as u64));
    group.bench_function("by-hand", |b| {
        b.iter(|| {
            let mut text = String::new();
            for frame in &frames {
                let event = serde_json::from_str::<Delta<'_>>(black_box(frame)).expect("an event");
                if event.kind == "response.output_text.delta" {
                    text.push_str(&event.delta.unwrap_or_default());
                }
            }
            text.len()
        });
    });
    group.bench_function("codec", |b| {
        let dialect = ResponsesDialect::by_name("openai").expect("a row of the table");
        let codec = ResponsesCodec::new(dialect, Endpoint::base(ENDPOINT).expect("a URL"));
        let target = TargetId::new("openai", "m", ENDPOINT);
        let ids = IdSeed::new(&RequestId::from("bench"));
        let info = CallInfo { target: &target, account: None, delivery: Delivery::Stream, ids };
        b.iter(|| {
            let mut decoder = codec.decoder(&info);
            let mut out = Parts::default();
            let mut bytes = 0;
            for (number, frame) in (1..).zip(&frames) {
                let event =
                    Event { name: Some("response.output_text.delta"), data: black_box(frame), number };
                decoder.event(event, &mut out).expect("an event");
                while let Some(part) = out.pop() {
                    if let StreamPart::TextDelta { delta, .. } = part {
                        bytes += delta.len();
                    }
                }
            }
            bytes
        });
    });
    group.finish();
}

criterion_group!(benches, decode);
criterion_main!(benches);
