use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rusqlite::Connection;
use stream_manager::port::{StoreError, StoreErrorKind};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// Connections, and the work that waits for them, in the order in which it came.
///
/// A caller holds nothing while it waits, so that one which does not look any more holds up nobody: the work goes from the
/// queue to a thread for blocking work by itself. Work that has not begun when its caller goes is left out.
#[derive(Clone)]
pub(crate) struct Lane {
    state: Arc<Mutex<State>>,
}

struct State {
    waiting: VecDeque<Work>,
    resting: Vec<Connection>,
}

type Work = Box<dyn FnOnce(&mut Connection) + Send>;

/// A connection at work. It goes back to rest whatever happens.
struct Busy {
    state: Arc<Mutex<State>>,
    connection: Option<Connection>,
}

impl Lane {
    pub(crate) fn new(connections: Vec<Connection>) -> Self {
        Self { state: Arc::new(Mutex::new(State { waiting: VecDeque::new(), resting: connections })) }
    }

    pub(crate) async fn run<T: Send + 'static>(
        &self,
        what: &'static str,
        work: impl FnOnce(&mut Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (reply, done) = oneshot::channel();
        self.put(Box::new(move |connection| {
            if !reply.is_closed() {
                // The caller may have gone meanwhile: what was done stays done.
                let _ = reply.send(work(connection));
            }
        }));
        done.await.unwrap_or_else(|error| {
            Err(StoreError::new(StoreErrorKind::Unavailable, what).with_source(error))
        })
    }

    fn put(&self, work: Work) {
        let mut state = lock(&self.state);
        state.waiting.push_back(work);
        if let Some(connection) = state.resting.pop() {
            drop(state);
            let mut busy = Busy { state: Arc::clone(&self.state), connection: Some(connection) };
            spawn(move || busy.work());
        }
    }
}

impl Busy {
    /// Works until nothing waits.
    fn work(&mut self) {
        while let Some(work) = self.next() {
            if let Some(connection) = &mut self.connection {
                // A panic drops the reply, which is an error for the caller, and rolls back its transaction.
                let _ = catch_unwind(AssertUnwindSafe(|| work(connection)));
            }
        }
    }

    /// What to do next. Without anything the connection rests, in the same step: what comes then finds it.
    fn next(&mut self) -> Option<Work> {
        let mut state = lock(&self.state);
        let work = state.waiting.pop_front();
        if work.is_none() {
            state.resting.extend(self.connection.take());
        }
        work
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        if let Some(connection) = self.connection.take() {
            lock(&self.state).resting.push(connection);
        }
    }
}

/// Runs what waits for the disk where it may wait.
pub(crate) async fn blocking<T: Send + 'static>(
    what: &'static str,
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    let done = spawn(work).await;
    done.unwrap_or_else(|error| Err(StoreError::new(StoreErrorKind::Unavailable, what).with_source(error)))
}

#[allow(
    clippy::disallowed_methods,
    reason = "a transaction cannot be cut in the middle: it ends by itself, made or rolled back, also where the caller goes"
)]
fn spawn<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    tokio::task::spawn_blocking(work)
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}
