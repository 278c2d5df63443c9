use std::cell::RefCell;
use std::collections::BTreeMap;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use agent_loop::{UiChunk, UiPart, UiReducer, UiRole};
use futures_util::FutureExt;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use super::*;
use crate::port::{LogBody, LogRecord, Read};
use crate::record::{NodeId, RowStatus, Terminal};

fn lease(epoch: u64) -> Lease {
    Lease::new(TopicId::from("t"), NodeId::from("n"), epoch)
}

fn attempt(epoch: u64, number: u64) -> AttemptId {
    AttemptId { epoch, number }
}

const FIRST: AttemptId = AttemptId { epoch: 1, number: 1 };

fn seed() -> UiMessage {
    UiMessage::new("row", UiRole::Assistant)
}

fn terminal() -> Terminal {
    Terminal::new("row".into(), RowStatus::Complete, None, true)
}

fn now<T>(future: impl Future<Output = T>) -> T {
    pin!(future).now_or_never().expect("memory never waits")
}

fn create(log: &MemoryLog, epoch: u64, attempt: AttemptId) -> Box<dyn LogWriter> {
    now(log.create(&lease(epoch), attempt, seed())).unwrap()
}

fn read(log: &MemoryLog, attempt: AttemptId, after: u64) -> Box<dyn LogReader> {
    now(log.read(&"t".into(), attempt, Some(after))).unwrap().unwrap()
}

fn delta(text: impl Into<String>) -> UiChunk {
    UiChunk::TextDelta { id: "0".into(), delta: text.into(), provider_metadata: None }
}

fn start() -> UiChunk {
    UiChunk::TextStart { id: "0".into(), provider_metadata: None }
}

/// What is there at once.
fn poll(reader: &mut dyn LogReader, most: usize) -> Option<(Read, Vec<Arc<LogRecord>>)> {
    let mut out = Vec::new();
    match reader.poll_read(&mut Context::from_waker(Waker::noop()), most, &mut out) {
        Poll::Ready(read) => Some((read.unwrap(), out)),
        Poll::Pending => None,
    }
}

/// A client: it folds what it reads, and checks that nothing is missing and nothing comes twice.
struct Client {
    reader: Box<dyn LogReader>,
    shown: UiReducer,
    last: u64,
    rebased: u32,
    terminal: Option<Terminal>,
    over: bool,
}

impl Client {
    fn new(reader: Box<dyn LogReader>) -> Self {
        let shown = UiReducer::continuing(seed());
        Self { reader, shown, last: 0, rebased: 0, terminal: None, over: false }
    }

    fn take(&mut self, read: Read, records: Vec<Arc<LogRecord>>) {
        match read {
            Read::Records => assert!(!records.is_empty()),
            Read::Rebase(snapshot) => {
                assert_eq!(snapshot.row.as_str(), "row");
                self.rebased += 1;
                self.last = snapshot.through;
                self.shown = UiReducer::continuing(seed());
                snapshot.chunks.into_iter().for_each(|chunk| self.shown.push(chunk).unwrap());
            }
            Read::End => self.over = true,
            Read::Abandoned => panic!("it has a writer"),
        }
        for record in records {
            assert_eq!(record.seq, self.last + 1);
            assert_eq!(self.terminal, None, "nothing follows the last record");
            self.last = record.seq;
            match &record.body {
                LogBody::Chunk(chunk) => self.shown.push_ref(chunk).unwrap(),
                LogBody::Terminal(terminal) => self.terminal = Some(terminal.clone()),
            }
        }
    }

    fn poll(&mut self, most: usize) -> bool {
        let got = poll(&mut *self.reader, most);
        let is_some = got.is_some();
        if let Some((read, records)) = got {
            assert!(records.len() <= most.max(1));
            self.take(read, records);
        }
        is_some
    }
}

#[derive(Clone, Debug)]
enum Move {
    Append(usize),
    Attach(Option<u64>),
    Read(usize, usize),
    Detach(usize),
}

fn moves() -> impl Strategy<Value = Vec<Move>> {
    let one = prop_oneof![
        6 => (1..40_usize).prop_map(Move::Append),
        1 => prop::option::of(0..60_u64).prop_map(Move::Attach),
        5 => (0..4_usize, 0..9_usize).prop_map(|(reader, most)| Move::Read(reader, most)),
        1 => (0..4_usize).prop_map(Move::Detach),
    ];
    prop::collection::vec(one, 0..120)
}

/// [SM-120] [SM-121] [SM-122]
#[test]
fn every_reader_ends_with_the_message() {
    const CASES: u32 = 1500;
    let seen: RefCell<BTreeMap<&str, u32>> = RefCell::default();
    let mut runner = TestRunner::new(Config { failure_persistence: None, ..Config::with_cases(CASES) });
    let tried = runner.run(&(moves(), 0..30_usize, 0..8_000_usize), |(moves, entries, bytes)| {
        let log = MemoryLog::new().with_max_entries(entries).with_max_bytes(bytes);
        let mut writer = create(&log, 1, FIRST);
        assert_eq!(writer.append(start()), 1);
        let mut appended = 1;
        let mut clients = vec![Client::new(read(&log, FIRST, 0))];
        for one in moves {
            match one {
                Move::Append(length) => {
                    appended += 1;
                    assert_eq!(writer.append(delta("x".repeat(length))), appended);
                }
                Move::Attach(after) => {
                    // One that has read so far; a number of the future is answered with all there is.
                    let mut client = Client::new(read(&log, FIRST, after.unwrap_or_default()));
                    if let Some(after) = after.filter(|after| *after > 0) {
                        let got = poll(&mut *client.reader, 0);
                        if after > appended {
                            assert!(
                                matches!(got, Some((Read::Rebase(_), _))),
                                "{after} of {appended}: {got:?}"
                            );
                            *seen.borrow_mut().entry("future").or_default() += 1;
                        }
                        client = Client::new(read(&log, FIRST, u64::MAX));
                    }
                    clients.push(client);
                }
                Move::Read(which, most) => {
                    if let Some(client) = clients.get_mut(which) {
                        client.poll(most);
                    }
                }
                Move::Detach(which) if which < clients.len() => drop(clients.remove(which)),
                Move::Detach(_) => {}
            }
        }
        now(writer.seal(terminal())).unwrap();
        for client in &mut clients {
            while client.poll(3) && !client.over {}
            assert!(client.over);
            assert_eq!(client.terminal, Some(terminal()));
            assert_eq!(*client.shown.message(), writer.message());
            let mut seen = seen.borrow_mut();
            *seen.entry(if client.rebased > 0 { "rebased" } else { "continuous" }).or_default() += 1;
        }
        Ok(())
    });
    tried.unwrap();
    let seen = seen.into_inner();
    for what in ["rebased", "continuous", "future"] {
        let count = seen.get(what).copied().unwrap_or_default();
        assert!(count * 100 >= CASES * 20, "only {count} are {what}");
    }
}

async fn read_all(client: &mut Client, most: usize) {
    let mut records = Vec::new();
    while !client.over {
        records.clear();
        let read = poll_fn(|cx| client.reader.poll_read(cx, most, &mut records)).await.unwrap();
        client.take(read, std::mem::take(&mut records));
    }
}

/// [SM-120] [SM-123]
#[test]
fn readers_on_other_threads_miss_nothing() {
    const DELTAS: u64 = 3_000;
    let log = MemoryLog::new().with_max_entries(50);
    let mut writer = create(&log, 1, FIRST);
    std::thread::scope(|scope| {
        let readers: Vec<_> = (0..3)
            .map(|most| {
                let mut client = Client::new(read(&log, FIRST, 0));
                scope.spawn(move || {
                    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
                    runtime.block_on(read_all(&mut client, most * 10));
                    client.shown.into_message()
                })
            })
            .collect();
        writer.append(start());
        for n in 0..DELTAS {
            writer.append(delta(format!("{n} ")));
        }
        now(writer.seal(terminal())).unwrap();
        for reader in readers {
            assert_eq!(reader.join().unwrap(), writer.message());
        }
    });
    let text = (0..DELTAS).map(|n| format!("{n} ")).collect::<String>();
    assert!(matches!(&writer.message().parts[..], [UiPart::Text { text: all, .. }] if *all == text));
}

#[derive(Default)]
struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// [SM-123]
#[test]
fn a_reader_that_waits_is_woken_once() {
    let log = MemoryLog::new();
    let mut writer = create(&log, 1, FIRST);
    let count = Arc::new(Count::default());
    let waker = Waker::from(Arc::clone(&count));
    let mut cx = Context::from_waker(&waker);
    let mut out = Vec::new();
    let mut readers: Vec<_> = (0..3).map(|_| read(&log, FIRST, 0)).collect();
    for reader in &mut readers {
        for _ in 0..5 {
            assert!(reader.poll_read(&mut cx, 1, &mut out).is_pending());
        }
    }
    drop(readers.pop());
    for _ in 0..4 {
        writer.append(start());
    }
    assert_eq!(count.0.load(Ordering::Relaxed), 2);
    assert!(readers[0].poll_read(&mut cx, 9, &mut out).is_ready());
    assert!(readers[0].poll_read(&mut cx, 9, &mut out).is_pending());
    now(writer.seal(terminal())).unwrap();
    assert_eq!(count.0.load(Ordering::Relaxed), 3);
}

/// [SM-124]
#[test]
fn one_allocation_for_a_record_and_none_for_its_readers() {
    let log = MemoryLog::new().with_max_entries(64);
    let mut writer = create(&log, 1, FIRST);
    writer.append(start());
    let mut readers: Vec<_> = (0..3).map(|_| read(&log, FIRST, 1)).collect();
    let mut out = Vec::with_capacity(1);
    let mut cx = Context::from_waker(Waker::noop());
    let mut step = |chunk: UiChunk| {
        writer.append(chunk);
        for reader in &mut readers {
            out.clear();
            assert!(matches!(reader.poll_read(&mut cx, 1, &mut out), Poll::Ready(Ok(Read::Records))));
            assert!(reader.poll_read(&mut cx, 1, &mut out).is_pending());
        }
    };
    (0..200).for_each(|_| step(delta("word ")));
    let chunks: Vec<_> = (0..1_000).map(|_| delta("word ")).collect();
    let counted = allocation_counter::measure(|| chunks.into_iter().for_each(&mut step));
    // The text of the message grows, seldom.
    assert!((1_000..1_010).contains(&counted.count_total), "{counted:?}");
}

/// [SM-122]
#[test]
fn a_log_that_is_never_read_stays_small() {
    const LIMIT: usize = 64 * 1024;
    let log = MemoryLog::new().with_max_bytes(LIMIT);
    let mut writer = create(&log, 1, FIRST);
    let sleeper = read(&log, FIRST, 0);
    writer.append(start());
    let counted = allocation_counter::measure(|| {
        for _ in 0..100_000 {
            writer.append(delta("x"));
        }
    });
    let text = 100_000 * 2;
    let bound = LIMIT + text + 64 * 1024;
    assert!(counted.bytes_max < bound as u64, "{counted:?}");
    // One record that is larger than all that may be kept is kept, alone.
    writer.append(delta("x".repeat(2 * LIMIT)));
    let got = poll(&mut *read(&log, FIRST, 100_001), 9);
    assert!(matches!(got, Some((Read::Records, records)) if records.len() == 1));
    drop(sleeper);
    // The bounds hold to the record; none is less than the last one.
    for (entries, kept) in [(0, 1), (1, 1), (3, 3)] {
        let log = MemoryLog::new().with_max_entries(entries);
        let mut writer = create(&log, 1, FIRST);
        (0..9).for_each(|_| assert!(writer.append(start()) > 0));
        let reads = |after| poll(&mut *read(&log, FIRST, after), 9);
        assert!(matches!(reads(9 - kept), Some((Read::Records, records)) if records.len() as u64 == kept));
        assert!(matches!(reads(8 - kept), Some((Read::Rebase(_), _))));
    }
}

/// [SM-125]
#[test]
fn a_log_without_a_writer_says_so_until_it_is_sealed() {
    let log = MemoryLog::new();
    let mut writer = create(&log, 1, FIRST);
    writer.append(start());
    let mut reader = read(&log, FIRST, 0);
    drop(writer);
    assert!(matches!(poll(&mut *reader, 9), Some((Read::Records, _))));
    assert!(matches!(poll(&mut *reader, 9), Some((Read::Abandoned, _))));
    assert!(poll(&mut *reader, 9).is_none());
    assert_eq!(now(log.create(&lease(1), FIRST, seed())).unwrap_err().kind(), StoreErrorKind::Conflict);
    now(log.seal_orphan(&lease(1), FIRST, terminal())).unwrap();
    let Some((Read::Records, records)) = poll(&mut *reader, 9) else { panic!() };
    assert_eq!((records[0].seq, &records[0].body), (2, &LogBody::Terminal(terminal())));
    assert!(matches!(poll(&mut *reader, 9), Some((Read::End, _))));
    // It has its end, and another is not there: both are left as they are.
    let other = Terminal::new("row".into(), RowStatus::Failed, None, true);
    now(log.seal_orphan(&lease(1), FIRST, other.clone())).unwrap();
    now(log.seal_orphan(&lease(1), attempt(1, 2), other)).unwrap();
    let Some((Read::Records, records)) = poll(&mut *read(&log, FIRST, 0), 9) else { panic!() };
    assert_eq!((records.len(), &records[1].body), (2, &LogBody::Terminal(terminal())));
    assert!(now(log.read(&"t".into(), attempt(1, 2), None)).unwrap().is_none());
}

/// [SM-126]
#[test]
fn a_greater_epoch_fences_the_writers_before_it() {
    let log = MemoryLog::new();
    let mut old = create(&log, 1, FIRST);
    old.append(start());
    let mut reader = read(&log, FIRST, 1);
    assert!(poll(&mut *reader, 9).is_none());
    let mut new = create(&log, 2, attempt(2, 1));
    assert!(old.is_fenced() && !new.is_fenced());
    assert!(matches!(poll(&mut *reader, 9), Some((Read::Abandoned, _))));
    assert_eq!(old.append(delta("late")), 2);
    assert!(now(old.flush()).unwrap_err().is_fenced());
    assert!(now(old.seal(terminal())).unwrap_err().is_fenced());
    assert!(now(log.create(&lease(1), attempt(1, 2), seed())).unwrap_err().is_fenced());
    assert!(now(log.seal_orphan(&lease(1), FIRST, terminal())).unwrap_err().is_fenced());
    now(log.seal_orphan(&lease(3), FIRST, terminal())).unwrap();
    assert!(new.is_fenced());
    let Some((Read::Records, records)) = poll(&mut *reader, 9) else { panic!() };
    assert_eq!(records[0].body, LogBody::Terminal(terminal()));
    assert_eq!(new.append(start()), 1);
    assert!(matches!(poll(&mut *read(&log, attempt(2, 1), 0), 9), Some((Read::Abandoned, _))));
}

/// [SM-127]
#[test]
fn nothing_follows_the_last_record() {
    let log = MemoryLog::new();
    let mut writer = create(&log, 1, FIRST);
    now(writer.seal(terminal())).unwrap();
    assert_eq!(writer.append(start()), 2);
    now(writer.seal(terminal())).unwrap();
    let other = Terminal::new("row".into(), RowStatus::Failed, None, true);
    assert_eq!(now(writer.seal(other)).unwrap_err().kind(), StoreErrorKind::Conflict);
    let mut reader = read(&log, FIRST, 0);
    assert!(matches!(poll(&mut *reader, 9), Some((Read::Records, records)) if records.len() == 1));
    assert!(matches!(poll(&mut *reader, 9), Some((Read::End, _))));
}

/// [SM-128]
#[test]
fn a_forgotten_log_is_read_to_its_end_by_those_who_have_it() {
    let log = MemoryLog::new();
    let mut writer = create(&log, 1, FIRST);
    let (mut reader, mut other) = (read(&log, FIRST, 0), read(&log, FIRST, 0));
    now(log.forget(&"t".into(), FIRST)).unwrap();
    now(log.forget(&"t".into(), FIRST)).unwrap();
    assert!(now(log.read(&"t".into(), FIRST, None)).unwrap().is_none());
    assert!(now(log.read(&"elsewhere".into(), FIRST, None)).unwrap().is_none());
    writer.append(start());
    assert!(matches!(poll(&mut *reader, 9), Some((Read::Records, _))));
    assert!(poll(&mut *reader, 9).is_none());
    drop(writer);
    for _ in 0..2 {
        poll(&mut *other, 9);
    }
    for reader in [&mut other, &mut reader] {
        while !matches!(poll(&mut **reader, 9), Some((Read::End, _))) {}
    }
}

/// [SM-129]
#[test]
fn what_does_not_fold_is_passed_on_all_the_same() {
    let log = MemoryLog::new();
    let mut writer = create(&log, 1, FIRST);
    writer.append(delta("of no block"));
    writer.append(start());
    assert!(
        matches!(poll(&mut *read(&log, FIRST, 0), 9), Some((Read::Records, records)) if records.len() == 2)
    );
    assert_eq!(writer.message().parts.len(), 1);
    let mut fold = crate::Fold::new(seed());
    fold.push(&delta("of no block"));
    fold.push(&start());
    assert_eq!((fold.refused(), fold.message().parts.len(), fold.chunks().len()), (1, 1, 2));
}
