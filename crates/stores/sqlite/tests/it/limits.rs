use std::time::{Duration, Instant};

use stream_manager::port::{Checkpoint, ConversationStore, Ownership, StoreErrorKind, Written};
use stream_manager::record::RowStatus;
use stream_store_sqlite::{SqliteSettings, SqliteStore};

use crate::kit::{begin, content, end, file, lease, open, said};

/// [ST-6]
#[tokio::test]
async fn a_full_file_takes_nothing_half_and_goes_on_when_there_is_room() {
    let (_folder, path) = file();
    let mut settings = SqliteSettings::default();
    settings.max_bytes = Some(300_000);
    let store = SqliteStore::open(&path, settings).await.unwrap();
    begin(&store, "t", "row").await;
    let before = store.history(&"t".into()).await.unwrap().unwrap();

    let large = "x".repeat(500_000);
    let mut settlement = end("row", &large);
    settlement.returned.push(("row".into(), stream_manager::record::ReturnReason::Stopped));
    let mut fresh = begin(&store, "other", "row").await;
    fresh.rows[0].id = "more".into();
    fresh.rows[0].content = content("more", &large);
    fresh.inputs = Vec::new();
    let errors = [
        store.accept(&"t".into(), &said("large", &large)).await.map(drop).unwrap_err(),
        store.accept(&"new".into(), &said("large", &large)).await.map(drop).unwrap_err(),
        store.claim_and_open(&lease("other", 1), &fresh).await.unwrap_err(),
        store.settle(&lease("t", 1), &settlement).await.map(drop).unwrap_err(),
    ];
    for error in errors {
        assert_eq!(error.kind(), StoreErrorKind::Full, "{error:?}");
        assert!(error.is_transient());
    }
    assert_eq!(store.history(&"t".into()).await.unwrap().unwrap(), before);
    assert_eq!(store.history(&"new".into()).await.unwrap(), None);
    assert_eq!(store.history(&"other".into()).await.unwrap().unwrap().rows.len(), 1);

    assert_eq!(store.settle(&lease("t", 1), &end("row", "short")).await.unwrap(), Written::Done);
    let mut count = 0;
    let full = loop {
        match store.accept(&"filled".into(), &said(&format!("i-{count}"), &"y".repeat(2000))).await {
            Ok(_) => count += 1,
            Err(error) => break error,
        }
    };
    assert_eq!(full.kind(), StoreErrorKind::Full);
    assert!(count > 10, "{count} inputs");
    assert!(path.metadata().unwrap().len() <= 300_000);
    store.delete(&lease("filled", 1)).await.unwrap();
    store.accept(&"t".into(), &said("again", &"y".repeat(2000))).await.unwrap();
}

/// [ST-7]
#[tokio::test]
async fn a_file_that_another_program_locks_does_not_answer_after_the_time_set_and_nothing_is_lost() {
    let (_folder, path) = file();
    let mut settings = SqliteSettings::default();
    settings.busy_timeout = Duration::from_secs(1);
    let store = SqliteStore::open(&path, settings).await.unwrap();
    begin(&store, "t", "row").await;
    let other = rusqlite::Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();

    let begun = Instant::now();
    let error = store.settle(&lease("t", 1), &end("row", "text")).await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Unavailable, "{error:?}");
    assert!(begun.elapsed() >= Duration::from_millis(900), "{:?}", begun.elapsed());
    assert_eq!(
        store.renew(&lease("t", 1), Duration::from_secs(9)).await.unwrap_err().kind(),
        StoreErrorKind::Unavailable
    );
    let row = store.history(&"t".into()).await.unwrap().unwrap().rows.remove(0);
    assert_eq!(row.status, RowStatus::Open.into(), "reading goes on");

    other.execute_batch("ROLLBACK").unwrap();
    assert_eq!(store.settle(&lease("t", 1), &end("row", "text")).await.unwrap(), Written::Done);
}

/// [ST-7]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lock_that_passes_is_waited_for() {
    let (_folder, path) = file();
    let store = open(&path).await;
    let other = rusqlite::Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let topic = "t".into();
    let input = said("i", "Hello.");
    let accept = store.accept(&topic, &input);
    let release = tokio::task::spawn_blocking(move || {
        std::thread::sleep(Duration::from_millis(200));
        other.execute_batch("ROLLBACK").unwrap();
    });
    assert_eq!(accept.await.unwrap().seq, 1);
    release.await.unwrap();
}

/// [ST-8]
#[tokio::test]
async fn numbers_beyond_what_the_file_can_hold_are_refused_whole() {
    let (_folder, path) = file();
    let store = open(&path).await;
    let claim = begin(&store, "t", "row").await;
    let beyond = lease("t", u64::MAX);
    let point = Checkpoint { row: "row".into(), attempt: claim.attempt, content: content("row", "text") };
    let error = store.checkpoint(&beyond, &point).await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Conflict);
    let mut later = claim.clone();
    later.inputs.clear();
    later.rows[0].id = "later".into();
    later.rows[0].created_at = u64::MAX;
    assert_eq!(
        store.claim_and_open(&lease("t", 1), &later).await.unwrap_err().kind(),
        StoreErrorKind::Conflict
    );
    assert_eq!(store.history(&"t".into()).await.unwrap().unwrap().rows, claim.rows);
}
