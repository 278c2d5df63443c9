use std::path::Path;
use std::time::Duration;

use stream_manager::port::{Acquired, Checkpoint, ConversationStore, Ownership};
use stream_manager::record::ReturnReason;
use stream_store_sqlite::SqliteStore;

use crate::kit::{attempt, begin, content, end, file, lease, open, said};

/// How many transactions stand in the log beside a file: frames that say how large the file is after them.
fn commits(path: &Path) -> usize {
    let log = std::fs::read(path.with_extension("db-wal")).unwrap_or_default();
    let page = log.get(8..12).map_or(4096, |size| u32::from_be_bytes(size.try_into().unwrap()) as usize);
    let frames = log.get(32..).unwrap_or_default().chunks_exact(24 + page);
    frames.filter(|frame| frame[4..8] != [0; 4]).count()
}

/// [ST-20]
#[tokio::test]
async fn each_write_is_one_transaction_and_a_read_none() {
    let (_folder, path) = file();
    let store = open(&path).await;
    let claim = begin(&store, "t", "warm").await;
    let topic = "t".into();
    let lease = lease("t", 1);
    let checkpoint = Checkpoint { row: "warm".into(), attempt: attempt(1), content: content("warm", "text") };
    let mut before = commits(&path);
    let mut wrote = |what: &str, wanted: usize| {
        let after = commits(&path);
        assert_eq!(after - before, wanted, "transactions of {what}");
        before = after;
    };
    wrote("nothing", 0);
    store.accept(&topic, &said("a", &"long ".repeat(10_000))).await.unwrap();
    wrote("an input", 1);
    store.accept(&topic, &said("a", "again")).await.unwrap();
    wrote("an input that was there", 0);
    let mut next = claim.clone();
    next.inputs = vec!["a".into()];
    next.rows = ["r1", "r2", "r3"]
        .map(|id| {
            let mut row = claim.rows[0].clone();
            row.id = id.into();
            row
        })
        .to_vec();
    next.attempt = attempt(2);
    store.claim_and_open(&lease, &next).await.unwrap();
    wrote("a claim of an input and three rows", 1);
    store.claim_and_open(&lease, &next).await.unwrap();
    wrote("a claim that was made", 0);
    store.checkpoint(&lease, &checkpoint).await.unwrap();
    wrote("a checkpoint", 1);
    for id in ["b", "c"] {
        store.accept(&topic, &said(id, "x")).await.unwrap();
    }
    wrote("two inputs", 2);
    let mut settlement = end("warm", "text");
    settlement.returned = ["b", "c"].map(|id| (id.into(), ReturnReason::Stopped)).to_vec();
    store.settle(&lease, &settlement).await.unwrap();
    wrote("an end with two inputs", 1);
    store.settle(&lease, &settlement).await.unwrap();
    wrote("an end that was written", 0);
    let Acquired::Held(held) = store.acquire(&topic, &"node".into(), Duration::from_secs(60)).await.unwrap()
    else {
        panic!("nobody else asks");
    };
    wrote("a lease", 1);
    store.renew(&held, Duration::from_secs(90)).await.unwrap();
    wrote("its renewal", 1);
    read_all(&store).await;
    wrote("reading", 0);
    store.delete(&lease).await.unwrap();
    wrote("a deletion", 1);
}

async fn read_all(store: &SqliteStore) {
    let topic = "t".into();
    store.input(&topic, &"a".into()).await.unwrap();
    store.inbox(&topic).await.unwrap();
    store.history(&topic).await.unwrap();
    store.list(&Default::default()).await.unwrap();
    store.orphans().await.unwrap();
    store.waiting().await.unwrap();
    store.owner(&topic).await.unwrap();
}
