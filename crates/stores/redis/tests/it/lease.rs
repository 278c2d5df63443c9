use std::time::Duration;

use stream_manager::port::{
    Acquired, ConversationStore, Lease, Ownership, ReplayLog, StoreErrorKind::Fenced,
};
use stream_manager::record::ReturnReason;
use stream_store_redis::RedisStore;
use tokio::time::sleep;

use crate::log::{FIRST, seed};
use crate::server::server;

async fn held(store: &RedisStore, node: &str, ttl: Duration) -> Option<Lease> {
    match store.acquire(&"t".into(), &node.into(), ttl).await.unwrap() {
        Acquired::Held(lease) => Some(lease),
        _ => None,
    }
}

async fn refused(store: &RedisStore, lease: &Lease) {
    let written = store.return_inputs(lease, &["x".into()], ReturnReason::Stopped).await;
    assert_eq!(written.unwrap_err().kind(), Fenced);
    assert_eq!(store.create(lease, FIRST, seed()).await.unwrap_err().kind(), Fenced);
    assert_eq!(store.renew(lease, Duration::from_secs(60)).await.unwrap_err().kind(), Fenced);
    assert_eq!(store.delete(lease).await.unwrap_err().kind(), Fenced);
}

/// [ST-111]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lease_that_ended_by_the_nodes_own_clock_writes_nothing() {
    let mut server = server!();
    let store = server.store().await;
    let lease = held(&store, "one", Duration::ZERO).await.unwrap();
    server.kill();
    // Without asking the server.
    refused(&store, &lease).await;
    server.revive().await;
    let again = held(&store, "one", Duration::from_secs(600)).await.unwrap();
    store.return_inputs(&again, &[], ReturnReason::Stopped).await.unwrap();
    refused(&store, &lease).await;
}

/// [ST-112]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_slept_is_refused_by_its_clock_and_by_the_server() {
    let server = server!();
    let (slept, next, blind) = (server.store().await, server.store().await, server.store().await);
    let old = held(&slept, "slept", Duration::from_millis(200)).await.unwrap();
    assert_eq!(held(&next, "next", Duration::from_secs(60)).await, None);
    let new = loop {
        match held(&next, "next", Duration::from_secs(60)).await {
            Some(lease) => break lease,
            None => sleep(Duration::from_millis(10)).await,
        }
    };
    assert_eq!((old.epoch, new.epoch), (1, 2));
    refused(&slept, &old).await;
    // A node that knows nothing of its own lease: the epoch alone refuses it.
    refused(&blind, &old).await;
    next.return_inputs(&new, &[], ReturnReason::Stopped).await.unwrap();
    let large = Lease::new("t".into(), "next".into(), u64::MAX);
    let beyond = next.return_inputs(&large, &[], ReturnReason::Stopped).await;
    assert_eq!(beyond.unwrap_err().kind(), stream_manager::port::StoreErrorKind::Conflict);
}
