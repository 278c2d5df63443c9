use std::path::Path;

use rusqlite::Connection;
use stream_manager::port::{Claim, ConversationStore, StoreErrorKind};
use stream_manager::record::{Fate, Known, ReturnReason, RowStatus, TopicId, TurnId};
use stream_store_sqlite::{SqliteSettings, SqliteStore};

use crate::kit::{attempt, begin, end, file, lease, open, said};

/// A file as version 1 wrote it: its tables and what stood in them, by hand, so that a change of the code cannot change it.
fn version_1(path: &Path) {
    let raw = Connection::open(path).unwrap();
    raw.execute_batch(include_str!("version_1.sql")).unwrap();
}

/// [ST-40]
#[tokio::test]
async fn a_file_of_the_previous_version_opens_with_all_that_it_holds() {
    let (_folder, path) = file();
    version_1(&path);
    let store = open(&path).await;

    let topics = store.list(&Default::default()).await.unwrap();
    let told: Vec<_> = topics.iter().map(|it| (it.topic.as_str(), it.title.as_str(), it.rows)).collect();
    assert_eq!(told, [("trip", "Where is Rome?", 3), ("empty", "", 0)]);
    assert_eq!((topics[0].created_at, topics[0].updated_at), (1_750_000_000_000, 1_750_000_009_000));

    let history = store.history(&"trip".into()).await.unwrap().unwrap();
    let rows: Vec<_> = history.rows.iter().map(|row| (row.id.as_str(), row.status.clone())).collect();
    let open_row = ("a2", Known::Is(RowStatus::Open));
    assert_eq!(rows, [("u1", RowStatus::Complete.into()), ("a1", RowStatus::Complete.into()), open_row]);
    assert_eq!(history.rows[0].topic, TopicId::from("trip"));
    assert_eq!(history.rows[1].attempt, Some("3.1".parse().unwrap()));
    assert_eq!(history.rows[1].content.run, Some(serde_json::json!({"step": 2})));
    assert_eq!(
        (history.rows[1].created_at, history.rows[1].updated_at),
        (1_750_000_001_000, 1_750_000_005_000)
    );
    let fates: Vec<_> = history.inputs.iter().map(|input| input.fate.clone()).collect();
    let consumed = Fate::Consumed { turn: "3.1".parse().unwrap(), attempt: "3.1".parse().unwrap() };
    let returned = Fate::Returned { why: ReturnReason::Withdrawn };
    assert_eq!(fates, [consumed.into(), returned.into(), Fate::Queued.into()]);
    assert_eq!(store.waiting().await.unwrap(), [TopicId::from("trip")]);
    assert_eq!(store.orphans().await.unwrap()[0].rows, history.rows[2..]);

    let late = store.settle(&lease("trip", 2), &end("a2", "late")).await;
    assert!(late.unwrap_err().is_fenced(), "epochs go on");
    let late = store.settle(&lease("gone", 4), &end("a2", "late")).await;
    assert!(late.unwrap_err().is_fenced(), "those of deleted topics too");

    let turn = TurnId { epoch: 3, number: 9 };
    let mut row = history.rows[1].clone();
    (row.turn, row.attempt, row.status) = (turn, Some(attempt(9)), RowStatus::Open.into());
    let claim = Claim { turn, attempt: attempt(9), inputs: vec!["i3".into()], rows: vec![row] };
    store.claim_and_open(&lease("trip", 3), &claim).await.unwrap();
    let again = store.history(&"trip".into()).await.unwrap().unwrap();
    assert_eq!(again.rows[1].attempt, Some(attempt(9)), "a run that can go on is known");

    drop(store);
    assert_eq!(open(&path).await.history(&"trip".into()).await.unwrap().unwrap(), again);
}

/// [ST-40]
#[tokio::test]
async fn a_file_that_came_from_the_previous_version_is_like_a_new_one() {
    let (_folder, old) = file();
    version_1(&old);
    drop(open(&old).await);
    let (_folder, new) = file();
    drop(open(&new).await);
    let schema = |path: &Path| -> Vec<(String, Option<String>)> {
        let raw = Connection::open(path).unwrap();
        let mut statement = raw.prepare("SELECT name, sql FROM sqlite_schema ORDER BY name").unwrap();
        let plain = |sql: String| sql.split_whitespace().collect::<Vec<_>>().join(" ");
        let rows =
            statement.query_map([], |row| Ok((row.get(0)?, row.get::<_, Option<String>>(1)?.map(plain))));
        rows.unwrap().map(Result::unwrap).collect()
    };
    assert_eq!(schema(&old), schema(&new));
    assert!(schema(&new).len() >= 8);
}

/// [ST-41]
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_file_that_several_open_at_once_is_brought_to_the_new_version_once() {
    for _ in 0..5 {
        let (_folder, path) = file();
        version_1(&path);
        let opened = (0..6).map(|_| SqliteStore::open(path.clone(), SqliteSettings::default()));
        let stores = futures_util::future::try_join_all(opened).await.unwrap();
        for store in stores {
            assert_eq!(store.history(&"trip".into()).await.unwrap().unwrap().rows.len(), 3);
        }
    }
}

/// [ST-41]
#[tokio::test]
async fn a_change_of_version_that_fails_leaves_the_file_as_it_was() {
    let (_folder, path) = file();
    version_1(&path);
    let raw = Connection::open(&path).unwrap();
    // The name of an index that the new version makes is taken.
    raw.execute_batch("CREATE TABLE open_rows (x)").unwrap();
    let error = SqliteStore::open(&path, SqliteSettings::default()).await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Corrupt);
    let version: i64 = raw.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
    let columns: i64 =
        raw.query_row("SELECT count(*) FROM pragma_table_info('topics')", [], |row| row.get(0)).unwrap();
    assert_eq!((version, columns), (1, 6));
    raw.execute_batch("DROP TABLE open_rows").unwrap();
    let store = open(&path).await;
    begin(&store, "t", "i").await;
    assert!(store.accept(&"trip".into(), &said("i1", "x")).await.unwrap().duplicate);
}
