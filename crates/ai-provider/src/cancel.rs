use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

/// A [`CancellationToken`] as one stream watches it.
///
/// A stream must look at its token before every item. The token takes a lock for that; the flag, which the token sets
/// when it is cancelled, is one atomic load. Once `cancel` has returned it is set.
///
/// ```
/// use ai_provider::{CancelFlag, CancellationToken};
/// let token = CancellationToken::new();
/// let flag = CancelFlag::new(&token);
/// assert!(!flag.is_set());
/// token.cancel();
/// assert!(flag.is_set());
/// ```
pub struct CancelFlag {
    state: Arc<State>,
    /// What the token sets the flag by; once it is dropped the token knows the flag no more.
    _waiting: Pin<Box<WaitForCancellationFutureOwned>>,
}

#[derive(Default)]
struct State {
    set: AtomicBool,
    task: Mutex<Option<Waker>>,
}

impl CancelFlag {
    /// A flag of this token.
    pub fn new(token: &CancellationToken) -> Self {
        let state = Arc::new(State::default());
        let mut waiting = Box::pin(token.clone().cancelled_owned());
        let waker = Waker::from(Arc::clone(&state));
        if waiting.as_mut().poll(&mut Context::from_waker(&waker)).is_ready() {
            state.set.store(true, Ordering::Release);
        }
        Self { state, _waiting: waiting }
    }

    /// Whether the token was cancelled.
    pub fn is_set(&self) -> bool {
        self.state.set.load(Ordering::Acquire)
    }

    /// Ready once the token was cancelled; until then its task is woken when that happens. The task that polled last is
    /// the one that is woken.
    pub fn poll(&self, cx: &mut Context<'_>) -> Poll<()> {
        if !self.is_set() {
            let waker = self.state.task().take_if(|waker| !waker.will_wake(cx.waker()));
            // Outside of the lock: what dropping a waker does may cancel the token.
            drop(waker);
            self.state.task().get_or_insert_with(|| cx.waker().clone());
        }
        // It may have been set while the waker was not there yet.
        if self.is_set() { Poll::Ready(()) } else { Poll::Pending }
    }
}

impl State {
    fn task(&self) -> MutexGuard<'_, Option<Waker>> {
        self.task.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Wake for State {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.set.store(true, Ordering::Release);
        let task = self.task().take();
        if let Some(task) = task {
            task.wake();
        }
    }
}

impl fmt::Debug for CancelFlag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CancelFlag").field(&self.is_set()).finish()
    }
}

#[cfg(test)]
mod tests;
