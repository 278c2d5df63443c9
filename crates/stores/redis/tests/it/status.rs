use futures_util::StreamExt;
use stream_manager::port::StatusBus;
use stream_manager::record::TopicStatus;
use tokio::time::timeout;

use crate::log::LONG;
use crate::server::server;

fn status(topic: &str, revision: u64) -> TopicStatus {
    let mut status = TopicStatus::idle(topic.into());
    (status.epoch, status.revision) = (1, revision);
    status
}

/// [ST-141]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn watchers_on_every_node_see_what_came_while_nobody_heard() {
    let mut server = server!();
    let (one, other) = (server.store().await, server.store().await);
    let mut watch = other.watch().await.unwrap();
    let mut next = async || timeout(LONG, watch.next()).await.unwrap().unwrap();
    one.publish(status("t", 1)).await.unwrap();
    assert_eq!(next().await, status("t", 1));
    for round in 1..=10 {
        server.command(&["CLIENT", "KILL", "TYPE", "pubsub"]).await;
        one.publish(status("t", 2 * round)).await.unwrap();
        while next().await != status("t", 2 * round) {}
        one.publish(status("t", 2 * round + 1)).await.unwrap();
        assert_eq!(next().await, status("t", 2 * round + 1));
    }
    server.restart().await;
    one.publish(status("t", 100)).await.unwrap();
    while next().await != status("t", 100) {}
}
