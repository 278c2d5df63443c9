use std::future::poll_fn;

use futures_util::FutureExt;
use tokio::time::advance;

use super::*;

const SECOND: Duration = Duration::from_secs(1);

fn look(patience: &mut Patience) -> bool {
    poll_fn(|cx| patience.poll(cx)).now_or_never().is_some()
}

/// [HT-31]
#[tokio::test(start_paused = true)]
async fn only_one_wait_at_a_time_counts() {
    let mut patience = Patience::new(Some(10 * SECOND));
    for _ in 0..5 {
        assert!(!look(&mut patience));
        advance(9 * SECOND).await;
        assert!(!look(&mut patience));
        patience.rest();
        advance(100 * SECOND).await;
    }
    assert!(!look(&mut patience), "time between waits does not count");
    advance(10 * SECOND).await;
    assert!(look(&mut patience));
}

/// [HT-31]
#[tokio::test(start_paused = true)]
async fn a_timer_that_nobody_watched_begins_anew() {
    let mut patience = Patience::new(Some(10 * SECOND));
    assert!(!look(&mut patience));
    advance(600 * SECOND).await;
    assert!(!look(&mut patience), "the consumer was away");
    advance(10 * SECOND).await;
    assert!(look(&mut patience));
}

/// [HT-31]
#[tokio::test(start_paused = true)]
async fn a_task_that_waits_is_woken_in_time() {
    let start = Instant::now();
    let mut patience = Patience::new(Some(10 * SECOND));
    assert!(!look(&mut patience));
    advance(4 * SECOND).await;
    patience.rest();
    poll_fn(|cx| patience.poll(cx)).await;
    assert_eq!(start.elapsed(), 14 * SECOND);
    assert_eq!(Patience::new(Some(SECOND)).wait(std::future::pending::<()>()).await, None);
    assert_eq!(start.elapsed(), 15 * SECOND);
    assert_eq!(Patience::new(Some(SECOND)).wait(async { 7 }).await, Some(7));
}

/// [HT-34]
#[tokio::test(start_paused = true)]
async fn no_limit_and_an_endless_one_never_ring() {
    for limit in [None, Some(Duration::MAX)] {
        let mut patience = Patience::new(limit);
        assert!(!look(&mut patience));
        advance(1_000_000 * SECOND).await;
        assert!(!look(&mut patience));
    }
}
