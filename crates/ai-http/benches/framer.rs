//! The SSE framer alone: the time per byte must not depend on how long a line is or how it is cut.
#![allow(missing_docs, reason = "criterion's macros make public items")]

use std::hint::black_box;
use std::time::Duration;

use ai_http::{Framer, Limits, SseFramer};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

const MIB: usize = 1024 * 1024;

/// Bytes of data in all events of a body that comes in pieces of this size.
fn frame(body: &[u8], piece: usize) -> usize {
    let mut framer = SseFramer::new(&Limits::default());
    let mut bytes = 0;
    for piece in body.chunks(piece) {
        framer.push(piece);
        while let Ok(Some(event)) = framer.next() {
            bytes += black_box(event.data).len();
        }
    }
    bytes
}

fn framer(criterion: &mut Criterion) {
    let delta = r#"{"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":" word"},"finish_reason":null}]}"#;
    let many = format!("data: {delta}\n\n").repeat(20_000).into_bytes();
    let line = |mib: usize| format!("data: {}\n\n", "a".repeat(mib * MIB)).into_bytes();
    let cases = [
        ("one line of 1 MiB in reads of 16 KiB", line(1), 16 * 1024),
        ("one line of 16 MiB in reads of 16 KiB", line(16), 16 * 1024),
        ("20,000 events in one buffer", many.clone(), usize::MAX),
        ("20,000 events in reads of 1 KiB", many.clone(), 1024),
        ("20,000 events in reads of 64 bytes", many, 64),
    ];
    let mut group = criterion.benchmark_group("framer");
    group.measurement_time(Duration::from_secs(3)).sample_size(20);
    for (name, body, piece) in cases {
        group.throughput(Throughput::Bytes(body.len() as u64));
        group.bench_function(name, |bencher| bencher.iter(|| frame(black_box(&body), piece)));
    }
    group.finish();
}

criterion_group!(benches, framer);
criterion_main!(benches);
