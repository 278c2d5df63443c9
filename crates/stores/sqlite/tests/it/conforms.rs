use std::sync::Arc;

use ai_testkit::store::StoreConformance;
use stream_store_sqlite::{Durability, SqliteSettings, SqliteStore};

/// [ST-1]
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn it_holds_what_every_store_and_every_keeper_of_leases_must() {
    let root = tempfile::tempdir().unwrap();
    let count = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let folder = root.path().to_owned();
    let make = move || {
        let number = count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let path = folder.join(format!("{number}.db"));
        async move { Ok(Arc::new(SqliteStore::open(path, SqliteSettings::default()).await?)) }
    };
    let suite = StoreConformance::new().conversations(make.clone()).ownership(make);
    let report = suite.run().await;
    assert!(report.failures.is_empty(), "{report}");
    assert_eq!(report.checks.len(), 31);
}

/// [ST-1]
#[tokio::test]
async fn it_holds_it_on_one_thread_and_without_waiting_for_the_disk() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().to_owned();
    let suite = StoreConformance::new().conversations(move || {
        let path = folder.join(format!("{}.db", stream_manager::record::TopicId::random()));
        let mut settings = SqliteSettings::default();
        settings.durability = Durability::Process;
        async move { Ok(Arc::new(SqliteStore::open(path, settings).await?)) }
    });
    suite.check().await;
}
