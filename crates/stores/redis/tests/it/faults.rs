use std::time::{Duration, Instant};

use stream_manager::port::{ConversationStore, StoreErrorKind};
use stream_store_redis::{RedisSettings, RedisStore};

use crate::conversation::said;
use crate::log::{create, lease};
use crate::server::server;

/// [ST-150]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_outlives_a_restart_and_a_server_that_forgot_the_scripts() {
    let mut server = server!();
    let store = server.store().await;
    store.accept(&"t".into(), &said("a", "one")).await.unwrap();
    server.restart().await;
    assert_eq!(store.accept(&"t".into(), &said("b", "two")).await.unwrap().seq, 2);
    server.command(&["SCRIPT", "FLUSH"]).await;
    assert_eq!(store.accept(&"t".into(), &said("c", "three")).await.unwrap().seq, 3);
    server.command(&["CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"]).await;
    assert_eq!(store.accept(&"t".into(), &said("d", "four")).await.unwrap().seq, 4);
}

/// [ST-151]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_away_or_stands_still_is_told_in_time() {
    let mut server = server!();
    let settings = RedisSettings::default().with_timeout(Duration::from_millis(500));
    let store = server.store_with(settings.clone()).await;
    for stand_still in [true, false] {
        if stand_still {
            server.command(&["CLIENT", "PAUSE", "60000", "ALL"]).await;
        } else {
            server.kill();
        }
        let begun = Instant::now();
        let error = store.accept(&"t".into(), &said("a", "one")).await.unwrap_err();
        assert_eq!((error.kind(), error.is_transient()), (StoreErrorKind::Unavailable, true));
        let new = RedisStore::connect(&server.url(), settings.clone()).await;
        assert_eq!(new.unwrap_err().kind(), StoreErrorKind::Unavailable);
        assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    }
}

/// [ST-152]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_without_memory_is_full_and_has_written_nothing() {
    let server = server!();
    let store = server.store().await;
    store.accept(&"t".into(), &said("a", "one")).await.unwrap();
    let mut writer = create(&store, 1).await;
    server.command(&["CONFIG", "SET", "maxmemory", "1"]).await;
    let full = store.accept(&"t".into(), &said("b", "two")).await.unwrap_err();
    assert_eq!((full.kind(), full.is_transient()), (StoreErrorKind::Full, true));
    writer.append(crate::log::start());
    assert_eq!(writer.flush().await.unwrap_err().kind(), StoreErrorKind::Full);
    assert_eq!(store.history(&"t".into()).await.unwrap().unwrap().inputs.len(), 1);
    server.command(&["CONFIG", "SET", "maxmemory", "0"]).await;
    assert_eq!(store.accept(&"t".into(), &said("b", "two")).await.unwrap().seq, 2);
    writer.flush().await.unwrap();
}

/// [ST-153]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn passwords_open_and_are_told_to_nobody() {
    let server = server!("--requirepass", "s3cret");
    let with = |password: &str| server.url().replace("redis://", &format!("redis://:{password}@"));
    let store = RedisStore::connect(&with("s3cret"), RedisSettings::default()).await.unwrap();
    store.accept(&"t".into(), &said("a", "one")).await.unwrap();
    let mut told = vec![format!("{store:?}")];
    for url in
        [with("wr0ng"), server.url(), "redis://:wr0ng@127.0.0.1:1".to_owned(), "redis://:wr0ng@:x".to_owned()]
    {
        let settings = RedisSettings::default().with_timeout(Duration::from_secs(2));
        let error = RedisStore::connect(&url, settings).await.unwrap_err();
        assert!(matches!(error.kind(), StoreErrorKind::Unavailable | StoreErrorKind::Conflict), "{error}");
        let source = std::error::Error::source(&error).map(ToString::to_string);
        told.push(format!("{error} {error:?} {source:?}"));
    }
    for text in told {
        assert!(!text.contains("s3cret") && !text.contains("wr0ng"), "{text}");
    }
}

/// [ST-154]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_that_holds_something_else_is_corrupt() {
    let server = server!();
    let store = server.store().await;
    store.accept(&"t".into(), &said("a", "one")).await.unwrap();
    let key = server.key("inputs").await;
    server.command(&["HSET", &key, "i1", "{not json"]).await;
    assert_eq!(store.history(&"t".into()).await.unwrap_err().kind(), StoreErrorKind::Corrupt);
    server.command(&["DEL", &key]).await;
    server.command(&["SET", &key, "x"]).await;
    assert_eq!(
        store.accept(&"t".into(), &said("b", "two")).await.unwrap_err().kind(),
        StoreErrorKind::Corrupt
    );
    assert!(store.delete(&lease(1)).await.unwrap());
}
