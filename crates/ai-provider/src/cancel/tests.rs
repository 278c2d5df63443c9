use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use super::CancelFlag;
use crate::CancellationToken;

#[derive(Default)]
struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

fn task() -> (Arc<Count>, Waker) {
    let count = Arc::new(Count::default());
    (Arc::clone(&count), Waker::from(count))
}

/// [PV-97]
#[test]
fn a_flag_is_set_as_soon_as_cancel_returns() {
    let parent = CancellationToken::new();
    let token = parent.child_token();
    let (flag, other) = (CancelFlag::new(&token), CancelFlag::new(&token));
    assert!(!flag.is_set());
    parent.cancel();
    assert!(flag.is_set() && other.is_set());
    assert!(CancelFlag::new(&token).is_set(), "of a token that was cancelled before");
}

/// [PV-97]
#[test]
fn the_task_that_polled_last_is_woken_once() {
    let token = CancellationToken::new();
    let flag = CancelFlag::new(&token);
    let ((first, one), (last, two)) = (task(), task());
    for waker in [&one, &two, &two] {
        assert_eq!(flag.poll(&mut Context::from_waker(waker)), Poll::Pending);
    }
    token.cancel();
    token.cancel();
    assert_eq!((first.0.load(Ordering::SeqCst), last.0.load(Ordering::SeqCst)), (0, 1));
    assert_eq!(flag.poll(&mut Context::from_waker(&two)), Poll::Ready(()));
}

/// [PV-97]
#[test]
fn a_flag_that_is_gone_wakes_nobody() {
    let token = CancellationToken::new();
    let flag = CancelFlag::new(&token);
    let (count, waker) = task();
    assert_eq!(flag.poll(&mut Context::from_waker(&waker)), Poll::Pending);
    drop(flag);
    token.cancel();
    drop(waker);
    assert_eq!((count.0.load(Ordering::SeqCst), Arc::strong_count(&count)), (0, 1));
}

/// [PV-97] Whatever the order of the two, the task hears of the cancel.
#[test]
fn no_cancel_is_missed_by_a_poll_beside_it() {
    for _ in 0..2_000 {
        let token = CancellationToken::new();
        let flag = CancelFlag::new(&token);
        let (count, waker) = task();
        let polled = std::thread::scope(|scope| {
            let cancelling = scope.spawn(|| token.cancel());
            let polled = flag.poll(&mut Context::from_waker(&waker));
            cancelling.join().unwrap();
            polled
        });
        assert!(polled.is_ready() || count.0.load(Ordering::SeqCst) == 1);
    }
}
