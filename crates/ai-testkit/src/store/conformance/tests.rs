#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs,
    reason = "tests fail by panicking"
)]

mod carriers;
mod leases;
mod logs;
mod stores;

use stream_manager::memory::{MemoryCommands, MemoryConversations, MemoryLog, MemoryOwnership, MemoryStatus};

use super::*;

#[tokio::test(start_paused = true)]
async fn the_ports_in_memory_pass_every_check() {
    let suite = StoreConformance::new()
        .conversations(async || Ok(Arc::new(MemoryConversations::new())))
        .ownership(async || Ok(Arc::new(MemoryOwnership::new())))
        .log(async || Ok(Arc::new(MemoryLog::new())))
        .status(async || Ok(Arc::new(MemoryStatus::new())))
        .commands(async || Ok(Arc::new(MemoryCommands::new())));
    let report = suite.run().await;
    assert!(report.failures.is_empty(), "{report}");
    let count = CONVERSATIONS.len() + OWNERSHIP.len() + LOG.len() + STATUS.len() + COMMANDS.len();
    assert_eq!(report.checks.len(), count);
}

/// With a window of a few records every reader that is not quick begins anew.
#[tokio::test(start_paused = true)]
async fn a_log_with_a_small_window_holds_what_is_about_slow_readers_too() {
    let small = async || Ok(Arc::new(MemoryLog::new().with_max_entries(4)));
    let report = StoreConformance::new().log(small).only(["log-slow", "log-live"]).run().await;
    assert!(report.failures.is_empty(), "{report}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn they_pass_on_several_threads_too() {
    let suite = StoreConformance::new()
        .conversations(async || Ok(Arc::new(MemoryConversations::new())))
        .ownership(async || Ok(Arc::new(MemoryOwnership::new())))
        .status(async || Ok(Arc::new(MemoryStatus::new())));
    let checks = ["accept-at-once", "claim-at-once", "exclusive", "status-order"];
    let report = suite.only(checks).run().await;
    assert!(report.failures.is_empty(), "{report}");
    assert_eq!(report.checks, checks);
}

#[tokio::test]
async fn a_check_that_is_not_there_and_a_port_that_cannot_be_made_are_failures() {
    let memory = || StoreConformance::new().conversations(async || Ok(Arc::new(MemoryConversations::new())));
    let report = memory().only(["accept", "acept"]).run().await;
    assert_eq!(report.checks, ["accept"]);
    assert_eq!(report.failures[0].check, "acept");

    let report = memory().only(["call"]).run().await;
    assert_eq!(report.failures.len(), 2, "{report}");
    assert_eq!(StoreConformance::new().run().await.failures[0].message, "nothing was checked");

    let broken = async || -> Result<Arc<MemoryStatus>, _> { Err(StoreError::fenced("opening")) };
    let report = StoreConformance::new().status(broken).run().await;
    assert_eq!(report.failures.len(), STATUS.len(), "{report}");
}

#[tokio::test]
#[should_panic(expected = "alone: StoreConformance::… .only([\"acept\"]).check()")]
async fn a_failure_says_how_to_see_it_alone() {
    let suite = StoreConformance::new().conversations(async || Ok(Arc::new(MemoryConversations::new())));
    suite.only(["acept"]).check().await;
}

/// What the checks of these names find, of all checks.
fn assert_found(report: &StoreReport, fault: &str, check: &str) {
    let found = report.failures.iter().any(|failure| failure.check == check);
    assert!(found, "{fault:?} should be found by `{check}`: {report}");
}
