//! The time a text delta takes: the codec against the least a user could write by hand.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, reason = "a benchmark fails by panicking")]

use std::borrow::Cow;
use std::hint::black_box;
use std::sync::Arc;

use ai_google::GenerateContentCodec;
use ai_http::{CallInfo, Codec, Endpoint, Event, HttpModel, IdSeed, Parts};
use ai_provider::{CallContext, Delivery, LanguageModel, Message, Request, RequestId, StreamPart, TargetId};
use ai_testkit::{Cut, MemoryReply, MemoryTransport};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use futures_util::StreamExt;
use serde::Deserialize;

const DELTAS: usize = 20_000;
const ENDPOINT: &str = "http://localhost/v1";

/// What a chunk is to someone who wants its text alone.
#[derive(Deserialize)]
struct Chunk<'a> {
    #[serde(borrow)]
    candidates: Vec<Candidate<'a>>,
}

#[derive(Deserialize)]
struct Candidate<'a> {
    #[serde(borrow)]
    content: Content<'a>,
}

#[derive(Deserialize)]
struct Content<'a> {
    #[serde(borrow)]
    parts: Vec<Part<'a>>,
}

#[derive(Deserialize)]
struct Part<'a> {
    #[serde(borrow, default)]
    text: Option<Cow<'a, str>>,
}

fn frames() -> Vec<String> {
    let words = ["Hello", " world", ",", " how", " are", " you", " today", "?"];
    let frame = |at: usize| {
        let word = words.get(at % words.len()).expect("a word");
        format!(
            r#"{{"candidates":[{{"content":{{"parts":[{{"text":"{word}"}}],"role":"model"}},"index":0}}],"usageMetadata":{{"promptTokenCount":10,"candidatesTokenCount":{at},"totalTokenCount":{at},"promptTokensDetails":[{{"modality":"TEXT","tokenCount":10}}]}},"modelVersion":"gemini-2.5-flash","responseId":"mock00000000000000000"}}"#
        )
    };
    (0..DELTAS).map(frame).collect()
}

fn codec() -> GenerateContentCodec {
    GenerateContentCodec::new(Endpoint::base(ENDPOINT).expect("a URL"))
}

fn target() -> TargetId {
    TargetId::new("google", "m", ENDPOINT)
}

fn decode(c: &mut Criterion) {
    let frames = frames();
    let mut group = c.benchmark_group("decode");
    group.throughput(Throughput::Elements(DELTAS as u64));
    group.bench_function("by-hand", |b| {
        b.iter(|| {
            let mut bytes = 0;
            for frame in &frames {
                let chunk: Chunk<'_> = serde_json::from_str(black_box(frame)).expect("a chunk");
                for part in chunk.candidates.into_iter().flat_map(|candidate| candidate.content.parts) {
                    bytes += part.text.map_or(0, |text| text.len());
                }
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
                let event = Event { name: None, data: black_box(frame), number };
                decoder.event(event, &mut out).expect("a frame");
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
    let mut body: String = frames().iter().map(|frame| format!("data: {frame}\n\n")).collect();
    body += "data: {\"candidates\":[{\"finishReason\":\"STOP\"}]}\n\n";
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
