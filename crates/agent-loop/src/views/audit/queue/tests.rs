use std::cell::RefCell;
use std::time::UNIX_EPOCH;

use ai_core::run::ToolStatus;
use tokio::time::{Instant, sleep};

use super::super::entry::{AuditEvent, Digest};
use super::*;

fn entry(seq: u64, event: AuditEvent) -> AuditEntry {
    AuditEntry { run: "r".to_owned(), seq, at: UNIX_EPOCH, step: 1, event }
}

fn digest() -> Digest {
    Digest { bytes: 1, hash: "0".repeat(16), content: None }
}

fn sample(seq: u64) -> AuditEntry {
    entry(seq, AuditEvent::CallProgress { call_id: "c".into(), output: digest() })
}

fn result(seq: u64) -> AuditEntry {
    let (call_id, tool, status) = ("c".into(), "t".to_owned(), ToolStatus::Ok);
    entry(
        seq,
        AuditEvent::CallEnded { call_id, tool, status, duration_ms: None, output: digest(), usage: None },
    )
}

fn numbers(queue: &AuditQueue) -> Vec<u64> {
    std::iter::from_fn(|| queue.pop()).map(|entry| entry.seq).collect()
}

/// [AL-251]
#[test]
fn samples_give_way_and_nothing_else_does() {
    let queue = AuditQueue::new(3);
    for seq in 1..=3 {
        queue.push(sample(seq)).unwrap();
    }
    queue.push(sample(4)).unwrap();
    assert_eq!((queue.len(), queue.dropped()), (3, 1), "a new sample is left out");
    queue.push(result(5)).unwrap();
    assert_eq!((queue.len(), queue.dropped()), (3, 2), "an old one gives its place");
    for seq in 6..=8 {
        queue.push(result(seq)).unwrap();
    }
    assert_eq!((queue.len(), queue.dropped()), (4, 4));
    for seq in 9..=28 {
        queue.push(result(seq)).unwrap();
    }
    assert_eq!(queue.len(), 24, "eight times the bound");
    let full = queue.push(result(29)).unwrap_err();
    assert_eq!(full.to_string(), "the audit is behind: no room for entry 29 of run r");
    assert_eq!(full.into_entry(), result(29));
    queue.push(sample(30)).unwrap();
    assert_eq!((queue.len(), queue.dropped()), (24, 5));
    assert_eq!(numbers(&queue), (5..=28).collect::<Vec<_>>());
    queue.push(sample(31)).unwrap();
    assert_eq!(numbers(&queue), [31], "and there is room again");
}

/// [AL-252]
#[tokio::test(start_paused = true)]
async fn a_flush_takes_at_most_its_time_and_loses_nothing() {
    let queue = AuditQueue::new(100);
    for seq in 1..=10 {
        queue.push(result(seq)).unwrap();
    }
    let written = RefCell::new(Vec::new());
    let start = Instant::now();
    let slow = async |entry: AuditEntry| {
        sleep(Duration::from_millis(400)).await;
        written.borrow_mut().push(entry.seq);
        Ok::<_, ()>(())
    };
    assert_eq!(queue.flush(Duration::from_secs(1), slow).await, 8);
    assert_eq!((start.elapsed(), &written.borrow()[..]), (Duration::from_secs(1), &[1, 2][..]));
    // What came too late is there for another time, and so is what could not be written.
    let fails = async |entry: AuditEntry| if entry.seq < 5 { Ok(()) } else { Err("the disk is full") };
    assert_eq!(queue.flush(Duration::from_secs(1), fails).await, 6);
    let hangs = async |_: AuditEntry| std::future::pending::<Result<(), ()>>().await;
    assert_eq!(queue.flush(Duration::from_secs(1), hangs).await, 6);
    assert_eq!(start.elapsed(), Duration::from_secs(2));
    assert_eq!(queue.flush(Duration::ZERO, async |_| Ok::<_, ()>(())).await, 0, "what needs no time");
    assert!(queue.is_empty());
}

/// [AL-252]
#[tokio::test(start_paused = true)]
async fn entries_that_come_during_a_flush_are_written_too_and_none_twice() {
    let queue = AuditQueue::new(2);
    queue.push(sample(1)).unwrap();
    queue.push(result(2)).unwrap();
    let written = RefCell::new(Vec::new());
    let write = async |entry: AuditEntry| {
        if entry.seq == 1 {
            // Takes the place of the sample that is being written.
            queue.push(result(3)).unwrap();
        }
        written.borrow_mut().push(entry.seq);
        Ok::<_, ()>(())
    };
    assert_eq!(queue.flush(Duration::from_secs(1), write).await, 0);
    assert_eq!(&written.borrow()[..], [1, 2, 3]);
}
