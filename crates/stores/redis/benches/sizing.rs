//! How much one server and one node carry: `cargo bench -p stream-store-redis`. The figures of `docs/scale-out.md`.
//!
//! It starts a `redis-server` of its own. Nodes are stores with their own connections in this process.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::disallowed_methods,
    missing_docs,
    reason = "a measurement fails by panicking"
)]

#[path = "../tests/it/server.rs"]
#[allow(dead_code, unused_imports, unused_macros, reason = "shared with the tests")]
mod server;

use std::future::poll_fn;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use agent_loop::UiRole;
use server::Server;
use stream_manager::memory::MemoryLog;
use stream_manager::port::{Lease, LogBody, LogReader, LogWriter, Read, ReplayLog, UiChunk, UiMessage};
use stream_manager::record::{AttemptId, RowStatus, Terminal, TopicId};
use tokio::time::sleep;

const FIRST: AttemptId = AttemptId { epoch: 1, number: 1 };

fn delta(text: String) -> UiChunk {
    UiChunk::TextDelta { id: "0".into(), delta: text, provider_metadata: None }
}

async fn create(log: &dyn ReplayLog, topic: &TopicId) -> Box<dyn LogWriter> {
    let lease = Lease::new(topic.clone(), "n".into(), 1);
    let mut writer = log.create(&lease, FIRST, UiMessage::new("row", UiRole::Assistant)).await.unwrap();
    writer.append(UiChunk::TextStart { id: "0".into(), provider_metadata: None });
    writer.flush().await.unwrap();
    writer
}

/// Reads to the end; what came is given to `seen`.
async fn read(log: &dyn ReplayLog, topic: &TopicId, mut seen: impl FnMut(&UiChunk)) -> u64 {
    let mut reader: Box<dyn LogReader> = log.read(topic, FIRST, None).await.unwrap().unwrap();
    let (mut records, mut count) = (Vec::new(), 0);
    loop {
        let read = poll_fn(|cx| reader.poll_read(cx, 256, &mut records)).await.unwrap();
        for record in records.drain(..) {
            if let LogBody::Chunk(chunk) = &record.body {
                count += 1;
                seen(chunk);
            }
        }
        if read == Read::End {
            return count;
        }
    }
}

fn terminal() -> Terminal {
    Terminal::new("row".into(), RowStatus::Complete, None, true)
}

/// What this process has used of the processor.
fn cpu() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    let ticks: u64 = fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap();
    Duration::from_millis(ticks * 10)
}

/// Writes as fast as the log takes it; one reader on another node.
async fn throughput(
    name: &str,
    writing: Arc<dyn ReplayLog>,
    reading: Arc<dyn ReplayLog>,
    topics: usize,
    deltas: usize,
) -> f64 {
    let (begun, used) = (Instant::now(), cpu());
    let tasks: Vec<_> = (0..topics)
        .map(|number| {
            let (writing, reading) = (Arc::clone(&writing), Arc::clone(&reading));
            let topic = TopicId::from(format!("{name}-{number}"));
            tokio::spawn(async move {
                let mut writer = create(&*writing, &topic).await;
                let reader = tokio::spawn(async move { read(&*reading, &topic, |_| {}).await });
                for number in 0..deltas {
                    writer.append(delta(format!(" word{:04}", number % 10_000)));
                    // No provider is faster than the log; a reader that lags behind its window would begin anew.
                    if number % 256 == 0 {
                        writer.flush().await.unwrap();
                    }
                }
                writer.seal(terminal()).await.unwrap();
                assert_eq!(reader.await.unwrap(), deltas as u64 + 1);
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    let total = (topics * deltas) as f64;
    let (wall, used) = (begun.elapsed(), cpu() - used);
    let each = used.as_secs_f64() * 1e6 / total;
    println!(
        "{name}: {:.0} deltas/s, {each:.2} µs of CPU for each (writer and one reader)",
        total / wall.as_secs_f64()
    );
    each
}

fn micros() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_micros() as u64
}

/// Fifty topics at fifty deltas a second: from an append on one node to a reader on another.
async fn delay(writing: Arc<dyn ReplayLog>, reading: Arc<dyn ReplayLog>) {
    let used = cpu();
    let tasks: Vec<_> = (0..50)
        .map(|number| {
            let (writing, reading) = (Arc::clone(&writing), Arc::clone(&reading));
            let topic = TopicId::from(format!("delay-{number}"));
            tokio::spawn(async move {
                let mut writer = create(&*writing, &topic).await;
                let reader = tokio::spawn(async move {
                    let mut late = Vec::new();
                    read(&*reading, &topic, |chunk| {
                        if let UiChunk::TextDelta { delta, .. } = chunk {
                            late.push(micros() - delta.parse::<u64>().unwrap());
                        }
                    })
                    .await;
                    late
                });
                for _ in 0..250 {
                    sleep(Duration::from_millis(20)).await;
                    writer.append(delta(micros().to_string()));
                }
                writer.seal(terminal()).await.unwrap();
                reader.await.unwrap()
            })
        })
        .collect();
    let mut late = Vec::new();
    for task in tasks {
        late.extend(task.await.unwrap());
    }
    late.sort_unstable();
    let at = |share: usize| late[(late.len() - 1) * share / 1000] as f64 / 1000.0;
    println!(
        "delay, 50 topics at 50 deltas/s: p50 {:.1} ms, p99 {:.1} ms, p99.9 {:.1} ms; {:.0} % of one core for both nodes",
        at(500),
        at(990),
        at(999),
        (cpu() - used).as_secs_f64() / 5.0 * 100.0
    );
}

/// Many readers of one topic on one node.
async fn readers(writing: Arc<dyn ReplayLog>, reading: Arc<dyn ReplayLog>, count: usize) {
    let topic = TopicId::from(format!("readers-{count}"));
    let mut writer = create(&*writing, &topic).await;
    let tasks: Vec<_> = (0..count)
        .map(|_| {
            let (reading, topic) = (Arc::clone(&reading), topic.clone());
            tokio::spawn(async move { read(&*reading, &topic, |_| {}).await })
        })
        .collect();
    sleep(Duration::from_millis(500)).await;
    let used = cpu();
    for number in 0..250 {
        sleep(Duration::from_millis(20)).await;
        writer.append(delta(format!(" word{number}")));
    }
    writer.seal(terminal()).await.unwrap();
    for task in tasks {
        assert_eq!(task.await.unwrap(), 251);
    }
    let each = (cpu() - used).as_secs_f64() * 1e6 / (250 * count) as f64;
    println!("{count} readers of one topic on a node: {each:.2} µs of CPU per delta and reader");
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    let Some(server) = Server::start(&["--appendfsync", "everysec"]).await else { return };
    let memory: Arc<dyn ReplayLog> = Arc::new(MemoryLog::new());
    let (writing, reading): (Arc<dyn ReplayLog>, Arc<dyn ReplayLog>) =
        (Arc::new(server.store().await), Arc::new(server.store().await));
    throughput("warm-up", Arc::clone(&writing), Arc::clone(&reading), 1, 1000).await;
    let alone = throughput("in memory, 50 writers", Arc::clone(&memory), memory, 50, 4000).await;
    throughput("redis, 1 writer", Arc::clone(&writing), Arc::clone(&reading), 1, 20_000).await;
    let used = async || {
        let info = server.command(&["INFO", "memory"]).await;
        let line = info
            .lines()
            .find_map(|line| line.strip_prefix("used_memory_dataset:"))
            .unwrap()
            .trim()
            .to_owned();
        line.parse::<i64>().unwrap()
    };
    let before = used().await;
    let each = throughput("redis, 50 writers", Arc::clone(&writing), Arc::clone(&reading), 50, 4000).await;
    println!(
        "memory of the server: {:.0} bytes for each delta of 9 characters",
        (used().await - before) as f64 / 200_000.0
    );
    println!("CPU against memory: {:.1} ×", each / alone);
    delay(Arc::clone(&writing), Arc::clone(&reading)).await;
    for count in [100, 1000] {
        readers(Arc::clone(&writing), Arc::clone(&reading), count).await;
    }
}
