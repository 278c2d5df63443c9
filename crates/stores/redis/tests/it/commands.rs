use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use stream_manager::port::{Command, CommandHandler, Commands, Reply, StoreErrorKind};
use stream_manager::record::TopicId;

use crate::log::LONG;
use crate::server::server;

#[derive(Default)]
struct Count(AtomicU64);

#[async_trait]
impl CommandHandler for Count {
    async fn handle(&self, _topic: TopicId, _command: Command) -> Reply {
        self.0.fetch_add(1, Ordering::SeqCst);
        Reply::Done
    }
}

/// [ST-146]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_is_reached_from_every_node_and_again_after_its_connection_broke() {
    let mut server = server!();
    let (owner, other) = (server.store().await, server.store().await);
    let handler = Arc::new(Count::default());
    let serving = owner.serve(&"owner".into(), handler.clone()).await.unwrap();
    let call = async || other.call(&"owner".into(), &"t".into(), Command::Status, LONG).await;
    assert_eq!(call().await.unwrap(), Reply::Done);
    server.command(&["CLIENT", "KILL", "TYPE", "pubsub"]).await;
    // Sent while nobody hears it, or heard while the reply is not: either it is done, or it says that it may be.
    let mut calls = 1;
    loop {
        calls += 1;
        match other.call(&"owner".into(), &"t".into(), Command::Status, Duration::from_secs(1)).await {
            Ok(reply) => break assert_eq!(reply, Reply::Done),
            Err(error) => assert_eq!(error.kind(), StoreErrorKind::Unavailable),
        }
    }
    assert!(handler.0.load(Ordering::SeqCst) <= calls);
    server.restart().await;
    while other.call(&"owner".into(), &"t".into(), Command::Status, Duration::from_secs(1)).await.is_err() {}
    drop(serving);
    let begun = Instant::now();
    // A call that was heard in the last moment has no reply.
    let short = Duration::from_millis(500);
    while other.call(&"owner".into(), &"t".into(), Command::Status, short).await.map_err(|error| error.kind())
        != Err(StoreErrorKind::NotFound)
    {}
    assert!(begun.elapsed() < Duration::from_secs(20), "a node that is gone is not found soon");
}

/// [ST-147]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_command_that_came_twice_is_done_once_and_nonsense_not_at_all() {
    let server = server!();
    let store = server.store().await;
    let handler = Arc::new(Count::default());
    let _serving = store.serve(&"node".into(), handler.clone()).await.unwrap();
    let text = r#"{"id":1,"caller":"x","limit":60000,"topic":"t","command":{"type":"status"}}"#;
    let unknown =
        r#"{"id":2,"caller":"x","limit":60000,"topic":"t","command":{"type":"of-a-later-version"}}"#;
    for message in [text, text, "", "{", "null", "[]", unknown, text] {
        assert_eq!(server.command(&["PUBLISH", "sm:command:node", message]).await, "1");
    }
    assert_eq!(store.call(&"node".into(), &"t".into(), Command::Delete, LONG).await.unwrap(), Reply::Done);
    assert_eq!(handler.0.load(Ordering::SeqCst), 2, "one of three, and the one that came behind them");
}
