use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::{FailureKind, Listener, ListenerFailure, run_terminal};
use crate::port::StoreError;
use crate::reader::TopicReader;

/// The listeners of a group. They may come and go at any time.
#[derive(Debug, Default)]
pub struct Listeners {
    list: Mutex<Vec<Arc<dyn Listener>>>,
}

impl Listeners {
    /// Nobody listens.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a listener, in the place of the one of the same name if there is one. It hears what comes from now on.
    pub fn insert(&self, listener: Arc<dyn Listener>) {
        let mut list = self.lock();
        match list.iter_mut().find(|known| known.id() == listener.id()) {
            Some(known) => *known = listener,
            None => list.push(listener),
        }
    }

    /// Takes a listener out. Returns whether it was there.
    pub fn remove(&self, id: &str) -> bool {
        let mut list = self.lock();
        let count = list.len();
        list.retain(|listener| listener.id() != id);
        list.len() < count
    }

    /// How many listen.
    pub fn len(&self) -> usize {
        self.living().len()
    }

    /// Whether nobody listens.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Those that live; the others are dropped.
    fn living(&self) -> Vec<Arc<dyn Listener>> {
        let mut list = self.lock();
        list.retain(|listener| listener.is_alive());
        list.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Arc<dyn Listener>>> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads a topic for listeners, until it ends or nobody listens any more. At an end, each has `limit`; a listener that panics
/// is taken out. What goes wrong with one is told, and hurts no other.
///
/// It needs a task to run in. A listener that may block or hang should be alone in its group, with a reader of its own.
///
/// # Errors
/// If the log does not answer.
pub async fn listen(
    mut reader: TopicReader,
    listeners: &Listeners,
    limit: Duration,
    mut failed: impl FnMut(ListenerFailure),
) -> Result<(), StoreError> {
    while !listeners.is_empty() {
        let Some(item) = reader.next().await else { break };
        let item = item?;
        if item.terminal().is_some() {
            run_terminal(&listeners.living(), &item, limit).await.into_iter().for_each(&mut failed);
            continue;
        }
        for listener in listeners.living() {
            let what = match catch_unwind(AssertUnwindSafe(|| listener.on_item(&item))) {
                Ok(Ok(())) => continue,
                Ok(Err(error)) => FailureKind::Failed(error),
                Err(_) => {
                    listeners.remove(listener.id());
                    FailureKind::Panicked
                }
            };
            failed(ListenerFailure { listener: listener.id().to_owned(), what });
        }
    }
    Ok(())
}
