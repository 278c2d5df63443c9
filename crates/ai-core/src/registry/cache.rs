use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ai_provider::{ErrorClass, ModelError, Provider};
use futures_util::FutureExt;
use futures_util::future::{Shared, WeakShared};

use crate::panic::panic_text;

pub(super) type Created = Result<Arc<dyn Provider>, ModelError>;
pub(super) type Creating = Pin<Box<dyn Future<Output = Created> + Send>>;

/// The most providers one extension keeps. A provider holds a connection pool, and settings change seldom: room
/// for some accounts, none for settings made anew with every call.
const MOST: usize = 10;

/// The providers of one extension, by what they were made of.
pub(super) struct Cache<K>(Mutex<State<K>>);

struct State<K> {
    /// Rises when the cache is cleared, so that what was begun before comes in no more.
    generation: u64,
    /// The least recently used first.
    ready: Vec<(K, Arc<dyn Provider>)>,
    /// Weak: a creation lives as long as somebody waits for it.
    pending: Vec<(K, WeakShared<Creating>)>,
}

enum Found {
    Ready(Arc<dyn Provider>),
    Pending(Shared<Creating>),
}

impl<K: Clone + Eq + Send + 'static> Cache<K> {
    pub(super) fn new() -> Self {
        Self(Mutex::new(State { generation: 0, ready: Vec::new(), pending: Vec::new() }))
    }

    /// The provider of this key. `creating` is polled only if there is none, and none is being made.
    pub(super) async fn get_or_create(self: Arc<Self>, key: K, creating: Creating) -> Created {
        match self.find_or_begin(key, creating) {
            Found::Ready(provider) => Ok(provider),
            Found::Pending(creation) => creation.await,
        }
    }

    fn find_or_begin(self: &Arc<Self>, key: K, creating: Creating) -> Found {
        let mut state = self.lock();
        if let Some(at) = state.ready.iter().position(|(known, _)| *known == key) {
            let entry = state.ready.remove(at);
            let provider = Arc::clone(&entry.1);
            state.ready.push(entry);
            return Found::Ready(provider);
        }
        state.pending.retain(|(_, creation)| creation.upgrade().is_some());
        let begun = state.pending.iter().find(|(known, _)| *known == key);
        if let Some(creation) = begun.and_then(|(_, creation)| creation.upgrade()) {
            return Found::Pending(creation);
        }
        let (cache, generation, made_of) = (Arc::clone(self), state.generation, key.clone());
        let settled: Creating = Box::pin(async move {
            let created = AssertUnwindSafe(creating).catch_unwind().await.unwrap_or_else(|panic| {
                let message = format!("the factory panicked: {}", panic_text(&*panic));
                Err(ModelError::new(ErrorClass::Unsupported, message))
            });
            cache.settle(generation, made_of, &created);
            created
        });
        let creation = settled.shared();
        if let Some(weak) = creation.downgrade() {
            state.pending.push((key, weak));
        }
        Found::Pending(creation)
    }

    /// A failure is kept by nobody but those who waited for it.
    fn settle(&self, generation: u64, key: K, created: &Created) {
        let mut state = self.lock();
        if state.generation != generation {
            return;
        }
        state.pending.retain(|(known, _)| *known != key);
        if let Ok(provider) = created {
            if state.ready.len() >= MOST {
                state.ready.remove(0);
            }
            state.ready.push((key, Arc::clone(provider)));
        }
    }

    pub(super) fn clear(&self) {
        let mut state = self.lock();
        state.generation += 1;
        state.ready.clear();
        state.pending.clear();
    }

    pub(super) fn len(&self) -> usize {
        self.lock().ready.len()
    }

    fn lock(&self) -> MutexGuard<'_, State<K>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
