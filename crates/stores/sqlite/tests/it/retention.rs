use std::time::Duration;

use stream_manager::port::{ConversationStore, Ownership, Page, Settlement};
use stream_manager::record::{ReturnReason, RowStatus};
use stream_store_sqlite::{Retention, SqliteSettings, SqliteStore};

use crate::kit::{begin, end, file, lease, open, said};

async fn topics(store: &SqliteStore) -> Vec<String> {
    let mut topics: Vec<_> =
        store.list(&Page::default()).await.unwrap().into_iter().map(|it| it.topic.to_string()).collect();
    topics.sort();
    topics
}

/// A topic that is over, last written so many hours ago.
async fn old(store: &SqliteStore, path: &std::path::Path, topic: &str, hours: i64) {
    begin(store, topic, "row").await;
    store.settle(&lease(topic, 1), &end("row", "text")).await.unwrap();
    age(path, topic, hours);
}

fn age(path: &std::path::Path, topic: &str, hours: i64) {
    let raw = rusqlite::Connection::open(path).unwrap();
    let sql = "UPDATE topics SET updated_at = updated_at - ?2 WHERE topic = ?1";
    assert_eq!(raw.execute(sql, (topic, hours * 3_600_000)).unwrap(), 1);
}

const DAY: Duration = Duration::from_secs(24 * 3600);

/// [ST-30]
#[tokio::test]
async fn what_is_over_and_old_goes_but_for_the_last() {
    let (_folder, path) = file();
    let store = open(&path).await;
    for (topic, hours) in [("a", 1), ("b", 23), ("c", 25), ("d", 48), ("e", 72)] {
        old(&store, &path, topic, hours).await;
    }
    assert_eq!(store.sweep(&Retention::default()).await.unwrap(), 0);
    assert_eq!(store.sweep(&Retention::default().older_than(DAY).keep_last(4)).await.unwrap(), 1);
    assert_eq!(topics(&store).await, ["a", "b", "c", "d"]);
    assert_eq!(store.sweep(&Retention::default().older_than(DAY)).await.unwrap(), 2);
    assert_eq!(topics(&store).await, ["a", "b"]);
    assert_eq!(store.sweep(&Retention::default().older_than(Duration::MAX)).await.unwrap(), 0);
    assert_eq!(store.sweep(&Retention::default().keep_last(1)).await.unwrap(), 1);
    assert_eq!(topics(&store).await, ["a"]);
    assert_eq!(store.history(&"b".into()).await.unwrap(), None);

    old(&store, &path, "b", 30).await;
    drop(store);
    let mut settings = SqliteSettings::default();
    settings.retention = Some(Retention::default().older_than(DAY));
    let store = SqliteStore::open(&path, settings).await.unwrap();
    assert_eq!(topics(&store).await, ["a"]);
}

/// [ST-31]
#[tokio::test]
async fn a_topic_in_which_something_is_under_way_stays_whatever_its_age() {
    let (_folder, path) = file();
    let store = open(&path).await;
    begin(&store, "open", "row").await;
    begin(&store, "asks", "row").await;
    let asks = Settlement { status: RowStatus::AwaitingApproval, ..end("row", "text") };
    store.settle(&lease("asks", 1), &asks).await.unwrap();
    store.accept(&"waits".into(), &said("i", "Hello.")).await.unwrap();
    old(&store, &path, "owned", 0).await;
    store.acquire(&"owned".into(), &"node".into(), DAY).await.unwrap();
    old(&store, &path, "left", 0).await;
    store.acquire(&"left".into(), &"node".into(), Duration::ZERO).await.unwrap();
    for topic in ["open", "asks", "waits", "owned", "left"] {
        age(&path, topic, 1000);
    }
    let retention = Retention::default().older_than(DAY).keep_last(0);
    assert_eq!(store.sweep(&retention).await.unwrap(), 1);
    assert_eq!(topics(&store).await, ["asks", "open", "owned", "waits"]);

    store.return_inputs(&lease("waits", 1), &["i".into()], ReturnReason::Withdrawn).await.unwrap();
    assert_eq!(store.sweep(&retention).await.unwrap(), 0, "it was just written");
    age(&path, "waits", 1000);
    assert_eq!(store.sweep(&retention).await.unwrap(), 1);
}

/// [ST-32]
#[tokio::test]
async fn the_room_of_what_goes_is_given_back_and_its_epochs_go_on() {
    let (_folder, path) = file();
    let store = open(&path).await;
    for number in 0..20 {
        let topic = format!("t-{number}");
        begin(&store, &topic, "row").await;
        store.settle(&lease(&topic, 7), &end("row", &"x".repeat(100_000))).await.unwrap();
    }
    let raw = rusqlite::Connection::open(&path).unwrap();
    raw.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    let before = path.metadata().unwrap().len();
    assert_eq!(store.sweep(&Retention::default().keep_last(1)).await.unwrap(), 19);
    raw.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    let after = path.metadata().unwrap().len();
    assert!(before > 2_000_000 && after < before / 5, "{before} bytes, then {after}");

    let late = store.settle(&lease("t-0", 6), &end("row", "late")).await;
    assert!(late.unwrap_err().is_fenced());
}
