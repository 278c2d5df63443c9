//! The time a text delta takes: the codec against the least a user could write by hand.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, reason = "a benchmark fails by panicking")]

use std::borrow::Cow;
use std::hint::black_box;
use std::sync::Arc;

use ai_anthropic::MessagesCodec;
use ai_http::{CallInfo, Codec, Endpoint, Event, HttpModel, IdSeed, Parts};
use ai_provider::{CallContext, Delivery, LanguageModel, Message, Request, RequestId, StreamPart, TargetId};
use ai_testkit::{Cut, MemoryReply, MemoryTransport};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use futures_util::StreamExt;
use serde::Deserialize;

const DELTAS: usize = 20_000;
const ENDPOINT: &str = "http://localhost/v1";

/// What an event is to someone who wants its text alone.
#[derive(Deserialize)]
struct Piece<'a> {
    #[serde(rename = "type", borrow)]
    _kind: Cow<'a, str>,
    #[serde(borrow, default)]
    delta: Option<Delta<'a>>,
}

#[derive(Deserialize)]
struct Delta<'a> {
    #[serde(borrow, default)]
    text: Cow<'a, str>,
}

fn frames() -> Vec<String> {
    let words = ["Hello", " world", ",", " how", " are", " you", " today", "?"];
    let frame = |at: usize| {
        let word = words.get(at % words.len()).expect("a word");
        format!(
            r#"{{"type":"content_block_delta","index":0,"delta":{{"type":"text_delta","text":"{word}"}}}}"#
        )
    };
    (0..DELTAS).map(frame).collect()
}

fn codec() -> MessagesCodec {
    MessagesCodec::new(Endpoint::base(ENDPOINT).expect("a URL"))
}

fn target() -> TargetId {
    TargetId::new("anthropic", "m", ENDPOINT)
}

fn decode(c: &mut Criterion) {
    let frames = frames();
    let mut group = c.benchmark_group("decode");
    group.throughput(Throughput::Elements(DELTAS as u64));
    group.bench_function("by-hand", |b| {
        b.iter(|| {
            let mut bytes = 0;
            for frame in &frames {
                let event = serde_json::from_str::<Piece<'_>>(black_box(frame)).expect("an event");
                bytes += event.delta.map_or(0, |delta| delta.text.len());
            }
            bytes
        });
    });
    group.bench_function("codec", |b| {
        let (codec, target) = (codec(), target());
        let ids = IdSeed::new(&RequestId::from("bench"));
        let info = CallInfo { target: &target, account: None, delivery: Delivery::Stream, ids };
        b.iter(|| {
            let mut decoder = codec.decoder(&info);
            let mut out = Parts::default();
            let mut bytes = 0;
            for (number, frame) in (1..).zip(&frames) {
                let event = Event { name: Some("content_block_delta"), data: black_box(frame), number };
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

/// The whole way of an answer: framer, driver and codec, without a network.
fn stream(c: &mut Criterion) {
    let deltas: String =
        frames().iter().map(|frame| format!("event: content_block_delta\ndata: {frame}\n\n")).collect();
    let end = concat!(
        r#"data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":1}}"#,
        "\n\n",
        r#"data: {"type":"message_stop"}"#,
        "\n\n",
    );
    let body = deltas + end;
    let transport = MemoryTransport::new().repeat(MemoryReply::sse(body).cut(Cut::Every(16 * 1024)));
    let model = HttpModel::new(codec(), target(), Arc::new(transport));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    let mut group = c.benchmark_group("stream");
    group.throughput(Throughput::Elements(DELTAS as u64));
    group.bench_function("http-model", |b| {
        b.iter(|| {
            runtime.block_on(async {
                let request = Request::new([Message::user("Hi")]);
                let mut answer = model.stream(request, CallContext::new());
                let mut bytes = 0;
                while let Some(part) = answer.next().await {
                    if let StreamPart::TextDelta { delta, .. } = part.expect("a part") {
                        bytes += delta.len();
                    }
                }
                bytes
            })
        });
    });
    group.finish();
}

criterion_group!(benches, decode, stream);
criterion_main!(benches);
