use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ai_testkit::store::StoreConformance;
use stream_store_redis::{RedisSettings, RedisStore};

use crate::server::{Server, server};

/// Makes stores that are empty, each with its own prefix on one server.
fn stores(
    server: &Server,
) -> impl Fn()
    -> futures_util::future::BoxFuture<'static, Result<Arc<RedisStore>, stream_manager::port::StoreError>>
+ Send
+ Sync
+ 'static {
    let (url, count) = (server.url(), AtomicU64::new(0));
    move || {
        let prefix = format!("p{}", count.fetch_add(1, Ordering::Relaxed));
        let url = url.clone();
        Box::pin(async move {
            RedisStore::connect(&url, RedisSettings::default().with_prefix(prefix)).await.map(Arc::new)
        })
    }
}

/// [ST-101]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn conversations_hold_what_every_store_must() {
    let server = server!();
    StoreConformance::new().conversations(stores(&server)).check().await;
}

/// [ST-110]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn leases_hold_what_every_keeper_must() {
    let server = server!();
    StoreConformance::new().ownership(stores(&server)).check().await;
}

/// [ST-140]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn states_hold_what_every_bus_must() {
    let server = server!();
    StoreConformance::new().status(stores(&server)).check().await;
}

/// [ST-145]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commands_hold_what_every_carrier_must() {
    let server = server!();
    StoreConformance::new().commands(stores(&server)).check().await;
}
