use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;

use agent_loop::{UiReducer, UiRole};
use stream_manager::port::{
    Lease, LogBody, LogReader, LogRecord, LogWriter, Ownership, Read, ReplayLog, StoreErrorKind, UiChunk,
    UiMessage,
};
use stream_manager::record::{AttemptId, RowStatus, Terminal};
use stream_store_redis::{RedisSettings, RedisStore};
use tokio::time::{sleep, timeout};

use crate::server::server;

pub(crate) const FIRST: AttemptId = AttemptId { epoch: 1, number: 1 };

/// Longer than anything here takes on a busy machine.
pub(crate) const LONG: Duration = Duration::from_secs(60);

pub(crate) fn lease(epoch: u64) -> Lease {
    Lease::new("t".into(), "n".into(), epoch)
}

pub(crate) fn seed() -> UiMessage {
    UiMessage::new("row", UiRole::Assistant)
}

pub(crate) fn terminal() -> Terminal {
    Terminal::new("row".into(), RowStatus::Complete, None, true)
}

pub(crate) fn start() -> UiChunk {
    UiChunk::TextStart { id: "0".into(), provider_metadata: None }
}

pub(crate) fn delta(text: impl Into<String>) -> UiChunk {
    UiChunk::TextDelta { id: "0".into(), delta: text.into(), provider_metadata: None }
}

pub(crate) async fn create(store: &RedisStore, epoch: u64) -> Box<dyn LogWriter> {
    store.create(&lease(epoch), FIRST, seed()).await.unwrap()
}

/// A client: it folds what it reads, and checks that nothing is missing and nothing comes twice.
pub(crate) struct Client {
    reader: Box<dyn LogReader>,
    pub(crate) shown: UiReducer,
    pub(crate) last: u64,
    pub(crate) rebased: u32,
    pub(crate) terminal: Option<Terminal>,
}

impl Client {
    pub(crate) async fn attach(store: &RedisStore, after: u64) -> Self {
        let reader = store.read(&"t".into(), FIRST, Some(after)).await.unwrap().expect("the log is there");
        Self { reader, shown: UiReducer::continuing(seed()), last: after, rebased: 0, terminal: None }
    }

    pub(crate) async fn next(&mut self) -> Result<Read, StoreErrorKind> {
        let mut records: Vec<Arc<LogRecord>> = Vec::new();
        let read = poll_fn(|cx| self.reader.poll_read(cx, 100, &mut records));
        let read = timeout(LONG, read).await.expect("something comes").map_err(|error| error.kind())?;
        if let Read::Rebase(snapshot) = &read {
            assert_eq!(snapshot.row.as_str(), "row");
            self.rebased += 1;
            self.last = snapshot.through;
            self.shown = UiReducer::continuing(seed());
            snapshot.chunks.iter().for_each(|chunk| self.shown.push_ref(chunk).unwrap());
        }
        for record in records {
            assert_eq!(record.seq, self.last + 1, "each number behind the one before");
            assert_eq!(self.terminal, None, "nothing follows the last record");
            self.last = record.seq;
            match &record.body {
                LogBody::Chunk(chunk) => self.shown.push_ref(chunk).unwrap(),
                LogBody::Terminal(terminal) => self.terminal = Some(terminal.clone()),
                other => panic!("{other:?}"),
            }
        }
        Ok(read)
    }

    pub(crate) async fn until(&mut self, seq: u64) {
        while self.last < seq {
            self.next().await.unwrap();
        }
    }

    pub(crate) async fn read_to_end(&mut self) {
        while self.next().await.unwrap() != Read::End {}
    }
}

/// [ST-120]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_reader_on_every_node_gets_every_record_once() {
    let server = server!();
    let (one, other) = (server.store().await, server.store().await);
    let mut writer = create(&one, 1).await;
    assert_eq!(writer.append(start()), 1);
    let mut readers = Vec::new();
    for number in 2..=600_u64 {
        assert_eq!(writer.append(delta(format!("{number} "))), number);
        if number % 100 == 0 {
            let store = if number % 200 == 0 { &one } else { &other };
            let mut client = Client::attach(store, 0).await;
            readers.push(tokio::spawn(async move {
                client.read_to_end().await;
                client
            }));
            writer.flush().await.unwrap();
        }
    }
    let mut middle = Client::attach(&other, 300).await;
    writer.seal(terminal()).await.unwrap();
    let message = writer.message();
    for reader in readers {
        let mut client = reader.await.unwrap();
        assert_eq!((client.last, client.rebased), (601, 0));
        assert_eq!(client.terminal, Some(terminal()));
        assert_eq!(*client.shown.message(), message);
    }
    while middle.reader_end().await {}
    assert_eq!((middle.last, middle.rebased), (601, 0));
    let mut late = Client::attach(&other, 601).await;
    assert_eq!(late.next().await, Ok(Read::End));
    assert!(one.read(&"t".into(), AttemptId { epoch: 1, number: 2 }, None).await.unwrap().is_none());
}

impl Client {
    /// Reads without folding, from the middle of a message. Whether there is more.
    async fn reader_end(&mut self) -> bool {
        let mut records: Vec<Arc<LogRecord>> = Vec::new();
        let read = poll_fn(|cx| self.reader.poll_read(cx, 7, &mut records)).await.unwrap();
        assert!(records.len() <= 7);
        for record in records {
            assert_eq!(record.seq, self.last + 1);
            self.last = record.seq;
        }
        read != Read::End
    }
}

/// [ST-121]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deltas_are_gathered_and_what_ends_a_step_takes_them_along() {
    let server = server!();
    let store = server.store_with(RedisSettings::default().with_gather(Duration::from_secs(3600))).await;
    let mut writer = create(&store, 1).await;
    let mut client = Client::attach(&store, 0).await;
    writer.append(start());
    for number in 0..300 {
        writer.append(delta(format!("{number} ")));
    }
    let length =
        || async { server.command(&["XLEN", &server.key("log").await]).await.parse::<u64>().unwrap() };
    assert_eq!(length().await, 1, "nothing is sent before its time");
    writer.append(UiChunk::FinishStep);
    client.until(302).await;
    assert_eq!(length().await, 2, "all of it in one entry");
    for _ in 0..20 {
        writer.append(delta("x".repeat(1024)));
    }
    client.until(317).await;
    drop(client);
}

/// [ST-122]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_readers_on_a_node_cost_one() {
    let server = server!();
    let (writing, reading) = (server.store().await, server.store().await);
    let mut writer = create(&writing, 1).await;
    writer.append(start());
    writer.flush().await.unwrap();
    let mut clients = Vec::new();
    for _ in 0..50 {
        let mut client = Client::attach(&reading, 0).await;
        client.until(1).await;
        clients.push(client);
    }
    let calls = || async {
        let stats = server.command(&["INFO", "commandstats"]).await;
        let line =
            stats.lines().find_map(|line| line.strip_prefix("cmdstat_xread:calls=")).unwrap().to_owned();
        line.split(',').next().unwrap().parse::<u64>().unwrap()
    };
    let connections = || async { server.command(&["CLIENT", "LIST"]).await.lines().count() };
    let before = calls().await;
    for round in 0..20_u64 {
        writer.append(delta("x"));
        writer.flush().await.unwrap();
        for client in &mut clients {
            client.until(round + 2).await;
        }
    }
    let made = calls().await - before;
    assert!(made <= 60, "{made} reads for 20 entries and 50 readers");
    let count = connections().await;
    assert!(count <= 7, "{count} connections of two nodes, and the one that asks");
}

/// [ST-123]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_place_that_is_trimmed_or_to_come_begins_anew() {
    let server = server!();
    let store = server.store_with(RedisSettings::default().with_log_bytes(32 * 1024)).await;
    let mut writer = create(&store, 1).await;
    writer.append(start());
    for number in 0..4000 {
        writer.append(delta(format!("{number:-<100}")));
        if number % 20 == 0 {
            writer.flush().await.unwrap();
        }
    }
    writer.flush().await.unwrap();
    let entries: u64 = server.command(&["XLEN", &server.key("log").await]).await.parse().unwrap();
    assert!(entries < 190, "{entries} of some 200 entries are left");

    let mut behind = Client::attach(&server.store().await, 0).await;
    behind.until(4001).await;
    assert_eq!(behind.rebased, 1);
    assert_eq!(*behind.shown.message(), writer.message());
    let mut ahead = Client::attach(&store, 5000).await;
    assert!(matches!(ahead.next().await, Ok(Read::Rebase(_))));
    ahead.until(4001).await;
    assert_eq!(*ahead.shown.message(), writer.message());
    writer.append(delta("on"));
    writer.seal(terminal()).await.unwrap();
    for client in [&mut behind, &mut ahead] {
        client.read_to_end().await;
        assert_eq!((client.last, client.rebased), (4003, 1));
        assert_eq!(*client.shown.message(), writer.message());
    }
}

/// [ST-124]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_server_refuses_what_an_old_owner_adds_to_a_sealed_log() {
    let server = server!();
    let (old, new) = (server.store().await, server.store().await);
    let mut writer = create(&old, 1).await;
    writer.append(start());
    writer.flush().await.unwrap();
    let interrupted = Terminal::new("row".into(), RowStatus::Interrupted, None, true);
    new.seal_orphan(&lease(2), FIRST, interrupted.clone()).await.unwrap();
    writer.append(delta("late"));
    assert_eq!(writer.flush().await.unwrap_err().kind(), StoreErrorKind::Fenced);
    assert!(writer.is_fenced());
    assert_eq!(writer.seal(terminal()).await.unwrap_err().kind(), StoreErrorKind::Fenced);
    let key = server.key("log").await;
    let refused = server.command(&["XADD", &key, "1-9", "d", "{}"]).await;
    assert!(refused.contains("equal or smaller"), "{refused}");

    let mut client = Client::attach(&old, 0).await;
    client.read_to_end().await;
    assert_eq!((client.last, client.terminal), (2, Some(interrupted.clone())));
    let again = Terminal::new("row".into(), RowStatus::Failed, None, true);
    new.seal_orphan(&lease(2), FIRST, again.clone()).await.unwrap();
    let nowhere = AttemptId { epoch: 1, number: 7 };
    new.seal_orphan(&lease(2), nowhere, again.clone()).await.unwrap();
    assert!(new.read(&"t".into(), nowhere, None).await.unwrap().is_none());
    let stale = old.seal_orphan(&lease(1), FIRST, again).await;
    assert_eq!(stale.unwrap_err().kind(), StoreErrorKind::Fenced);
    let mut client = Client::attach(&new, 0).await;
    client.read_to_end().await;
    assert_eq!(client.terminal, Some(interrupted), "the first end counts");
}

/// [ST-125]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_owner_fences_the_writers_of_the_old() {
    let server = server!();
    let (old, new) = (server.store().await, server.store().await);
    let mut writer = create(&old, 1).await;
    writer.append(start());
    writer.flush().await.unwrap();
    let next = AttemptId { epoch: 2, number: 1 };
    let _writer = new.create(&lease(2), next, seed()).await.unwrap();
    writer.append(delta("late"));
    assert_eq!(writer.flush().await.unwrap_err().kind(), StoreErrorKind::Fenced);
    let stale = old.create(&lease(1), AttemptId { epoch: 1, number: 2 }, seed()).await;
    assert_eq!(stale.unwrap_err().kind(), StoreErrorKind::Fenced);
    let twice = new.create(&lease(2), next, seed()).await;
    assert_eq!(twice.unwrap_err().kind(), StoreErrorKind::Conflict);
    let mut client = Client::attach(&new, 0).await;
    client.until(1).await;
    assert_eq!(client.next().await, Ok(Read::Abandoned));
}

/// [ST-126]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn readers_learn_that_nobody_writes_any_more() {
    let server = server!();
    let store = server.store().await;
    let mut writer = create(&store, 1).await;
    writer.append(start());
    let mut client = Client::attach(&store, 0).await;
    drop(writer);
    assert_eq!(client.next().await, Ok(Read::Records));
    assert_eq!(client.next().await, Ok(Read::Abandoned));
    store.seal_orphan(&lease(1), FIRST, terminal()).await.unwrap();
    client.read_to_end().await;
    assert_eq!(client.terminal, Some(terminal()));

    // The node died: its lease runs out.
    let acquired = store.acquire(&"dead".into(), &"n".into(), Duration::from_millis(300)).await.unwrap();
    let stream_manager::port::Acquired::Held(lease) = acquired else { panic!("{acquired:?}") };
    let mut writer = store.create(&lease, FIRST, seed()).await.unwrap();
    writer.append(start());
    writer.flush().await.unwrap();
    let mut reader = server.store().await.read(&"dead".into(), FIRST, None).await.unwrap().unwrap();
    let mut records = Vec::new();
    let mut next = async || poll_fn(|cx| reader.poll_read(cx, 9, &mut records)).await.unwrap();
    assert_eq!(next().await, Read::Records);
    assert_eq!(timeout(LONG, next()).await.unwrap(), Read::Abandoned);
    assert!(writer.is_fenced(), "by the node's own clock");
}

/// [ST-127]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_follows_the_end_and_logs_go_by_themselves() {
    let server = server!();
    let settings = RedisSettings::default().with_log_kept(Duration::from_secs(40));
    let store = server.store_with(settings.with_log_idle(Duration::from_secs(400))).await;
    let mut writer = create(&store, 1).await;
    writer.append(start());
    writer.flush().await.unwrap();
    let ttl = async |kind: &str| {
        let key = server.key(kind).await;
        server.command(&["TTL", &key]).await.parse::<i64>().unwrap()
    };
    for kind in ["log", "snapshot"] {
        let seconds = ttl(kind).await;
        assert!((300..=400).contains(&seconds), "{kind} of a writer goes in {seconds} s");
    }
    writer.seal(terminal()).await.unwrap();
    for kind in ["log", "snapshot"] {
        let seconds = ttl(kind).await;
        assert!((1..=40).contains(&seconds), "{kind} goes in {seconds} s");
    }
    assert_eq!(writer.append(delta("late")), 3);
    writer.flush().await.unwrap();
    writer.seal(terminal()).await.unwrap();
    let other = Terminal::new("row".into(), RowStatus::Failed, None, true);
    assert_eq!(writer.seal(other).await.unwrap_err().kind(), StoreErrorKind::Conflict);
    let mut client = Client::attach(&store, 0).await;
    client.read_to_end().await;
    assert_eq!(client.last, 2);

    let mut reading = Client::attach(&server.store().await, 0).await;
    store.forget(&"t".into(), FIRST).await.unwrap();
    assert!(store.read(&"t".into(), FIRST, None).await.unwrap().is_none());
    reading.read_to_end().await;
    assert_eq!(reading.last, 2);
}

/// [ST-128]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_log_that_is_gone_is_said_to_be() {
    let server = server!();
    let store = server.store().await;
    let mut writer = create(&store, 1).await;
    writer.append(start());
    writer.flush().await.unwrap();
    let mut client = Client::attach(&store, 0).await;
    client.until(1).await;
    server.command(&["FLUSHALL"]).await;
    assert_eq!(client.next().await, Err(StoreErrorKind::NotFound));
    writer.append(delta("more"));
    assert_eq!(writer.flush().await.unwrap_err().kind(), StoreErrorKind::NotFound);
    assert!(store.read(&"t".into(), FIRST, None).await.unwrap().is_none());
}

/// [ST-129]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_away_holds_up_no_writer_and_loses_nothing() {
    let mut server = server!();
    let store = server.store_with(RedisSettings::default().with_timeout(Duration::from_secs(1))).await;
    let mut writer = create(&store, 1).await;
    writer.append(start());
    writer.flush().await.unwrap();
    let mut client = Client::attach(&store, 0).await;
    client.until(1).await;
    server.kill();
    for number in 0..100 {
        writer.append(delta(format!("{number} ")));
    }
    assert_eq!(writer.flush().await.unwrap_err().kind(), StoreErrorKind::Unavailable);
    assert!(!writer.is_fenced());
    let mut told = 0;
    while told == 0 {
        match client.next().await {
            Err(StoreErrorKind::Unavailable) => told += 1,
            other => panic!("{other:?}"),
        }
    }
    server.revive().await;
    client.until(101).await;
    assert_eq!((client.rebased, client.shown.message()), (0, &writer.message()));

    // More than waits: readers begin anew with the message.
    server.kill();
    for _ in 0..1200 {
        writer.append(delta("x".repeat(4096)));
    }
    server.revive().await;
    client.until(1301).await;
    assert_eq!(client.rebased, 1);
    assert_eq!(*client.shown.message(), writer.message());
}

/// [ST-130]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_lost_the_tail_of_a_log_gives_the_message() {
    let server = server!();
    let store = server.store().await;
    let mut writer = create(&store, 1).await;
    writer.append(start());
    for number in 0..10 {
        writer.append(delta(format!("{number} ")));
        writer.flush().await.unwrap();
    }
    let mut early = Client::attach(&store, 0).await;
    early.until(11).await;
    // As after a failover: another server, which lacks the last entries.
    let key = server.key("log").await;
    for number in 7..=11 {
        server.command(&["XDEL", &key, &format!("1-{number}")]).await;
    }
    server.command(&["CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"]).await;
    writer.append(delta("on"));
    writer.flush().await.unwrap();
    early.until(12).await;
    assert_eq!(early.rebased, 0, "it has what was lost");
    let other = server.store().await;
    let mut late = Client::attach(&other, 0).await;
    let mut failed = 0;
    // The snapshot that reaches over the gap comes with the next command.
    while late.last < 12 {
        match late.next().await {
            Err(StoreErrorKind::Unavailable) => {
                failed += 1;
                assert!(failed < 500, "no snapshot reaches over the gap");
                sleep(Duration::from_millis(10)).await;
                late = Client::attach(&other, 0).await;
            }
            read => drop(read.unwrap()),
        }
    }
    assert_eq!(late.rebased, 1);
    assert_eq!(*late.shown.message(), writer.message());
}
