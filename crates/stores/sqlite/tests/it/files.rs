use std::path::Path;

use stream_manager::port::{ConversationStore, StoreError, StoreErrorKind};
use stream_store_sqlite::{SqliteSettings, SqliteStore};

use crate::kit::{begin, end, file, lease, open, said};

async fn refused(path: impl AsRef<Path>) -> StoreError {
    SqliteStore::open(path, SqliteSettings::default()).await.expect_err("it should not open")
}

/// [ST-2]
#[tokio::test]
async fn a_file_is_made_with_its_folders_and_found_again() {
    let (folder, _) = file();
    let path = folder.path().join("a/b c/ü/topics.db");
    let store = open(&path).await;
    assert_eq!(store.path(), path);
    begin(&store, "t", "i").await;
    let before = store.history(&"t".into()).await.unwrap();
    drop(store);
    assert_eq!(open(&path).await.history(&"t".into()).await.unwrap(), before);

    let odd = folder.path().join(":memory:");
    begin(&open(&odd).await, "t", "i").await;
    assert!(odd.metadata().unwrap().len() > 0);
}

/// [ST-2]
#[cfg(unix)]
#[tokio::test]
async fn files_and_folders_are_for_their_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    let (folder, _) = file();
    let path = folder.path().join("chats/topics.db");
    let store = open(&path).await;
    begin(&store, "t", "i").await;
    assert_eq!(mode(&folder.path().join("chats")), 0o700);
    for name in ["topics.db", "topics.db-wal", "topics.db-shm"] {
        assert_eq!(mode(&folder.path().join("chats").join(name)), 0o600, "{name}");
    }
    drop(store);
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o640)).unwrap();
    drop(open(&path).await);
    assert_eq!(mode(&path), 0o640, "what the user has set stays");
}

/// [ST-3]
#[tokio::test]
async fn what_cannot_be_made_or_opened_does_not_answer() {
    let (folder, path) = file();
    std::fs::write(&path, "").unwrap();
    for path in [path.join("below a file.db"), folder.path().to_owned(), folder.path().join("nul\0.db")] {
        let error = refused(&path).await;
        assert_eq!(error.kind(), StoreErrorKind::Unavailable, "{path:?}: {error:?}");
        assert!(error.to_string().contains("database"), "{error}");
    }
}

/// [ST-4]
#[tokio::test]
async fn what_is_no_database_or_belongs_to_another_program_is_left_as_it_is() {
    let (_folder, path) = file();
    let text = "This is a diary.\n".repeat(100);
    std::fs::write(&path, &text).unwrap();
    assert_eq!(refused(&path).await.kind(), StoreErrorKind::Corrupt);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text);

    let (_folder, path) = file();
    let other = rusqlite::Connection::open(&path).unwrap();
    other.execute_batch("CREATE TABLE songs (name TEXT); PRAGMA user_version = 2;").unwrap();
    let error = refused(&path).await;
    assert_eq!(error.kind(), StoreErrorKind::Corrupt);
    assert!(error.to_string().contains("belongs to another program"), "{error}");
    let tables: i64 = other.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0)).unwrap();
    assert_eq!(tables, 1);

    let (_folder, path) = file();
    drop(open(&path).await);
    rusqlite::Connection::open(&path).unwrap().execute_batch("PRAGMA user_version = 99").unwrap();
    let error = refused(&path).await;
    assert_eq!(error.kind(), StoreErrorKind::Corrupt);
    assert!(error.to_string().contains("it has version 99"), "{error}");
}

/// [ST-5]
#[tokio::test]
async fn a_damaged_file_is_told_as_such_by_what_touches_it() {
    let (_folder, path) = file();
    let store = open(&path).await;
    for number in 0..50 {
        begin(&store, "t", &format!("i-{number}")).await;
        let text = "x".repeat(4000);
        store.settle(&lease("t", 1), &end(&format!("i-{number}"), &text)).await.unwrap();
    }
    drop(store);
    // A connection that was just used may close a moment later: until then what was written stands in the log.
    rusqlite::Connection::open(&path).unwrap().execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    let mut bytes = std::fs::read(&path).unwrap();
    let (first, rest) = bytes.split_at_mut(4096);
    assert!(first.starts_with(b"SQLite format 3"));
    rest.fill(0xff);
    std::fs::write(&path, &bytes).unwrap();
    let store = open(&path).await;
    for error in [
        store.history(&"t".into()).await.map(drop).unwrap_err(),
        store.accept(&"t".into(), &said("new", "Hello.")).await.map(drop).unwrap_err(),
        store.settle(&lease("t", 1), &end("i-1", "x")).await.map(drop).unwrap_err(),
    ] {
        assert_eq!(error.kind(), StoreErrorKind::Corrupt, "{error:?}");
        assert!(!error.is_transient());
    }
}

/// [ST-5]
#[tokio::test]
async fn a_row_that_cannot_be_read_is_told_and_others_are_not_touched() {
    let (_folder, path) = file();
    let store = open(&path).await;
    begin(&store, "bad", "i").await;
    begin(&store, "good", "i").await;
    let raw = rusqlite::Connection::open(&path).unwrap();
    let sql =
        "UPDATE rows SET content = '{\"ui\"' WHERE topic = (SELECT key FROM topics WHERE topic = 'bad')";
    assert_eq!(raw.execute(sql, []).unwrap(), 1);
    assert_eq!(store.history(&"bad".into()).await.unwrap_err().kind(), StoreErrorKind::Corrupt);
    assert_eq!(store.history(&"good".into()).await.unwrap().unwrap().rows.len(), 1);
    assert_eq!(store.list(&Default::default()).await.unwrap().len(), 2);
    assert!(store.delete(&lease("bad", 1)).await.unwrap(), "what cannot be read can be deleted");
}
