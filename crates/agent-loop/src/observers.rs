use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use crate::hooks::{Hooks, compose_hooks};

/// The handlers by number, and how many were ever added: a number is never given twice.
#[derive(Default)]
struct Added {
    list: Vec<(u64, Hooks)>,
    count: u64,
}

type List = Mutex<Added>;

/// The handlers that were added to an agent after it was made.
#[derive(Clone, Default)]
pub(crate) struct Observers(Arc<List>);

impl Observers {
    pub(crate) fn add(&self, hooks: Hooks) -> Observer {
        let mut added = lock(&self.0);
        let id = added.count;
        added.count += 1;
        added.list.push((id, hooks));
        Observer { list: Arc::downgrade(&self.0), id }
    }

    /// All of them, as they are now.
    pub(crate) fn hooks(&self) -> Hooks {
        compose_hooks(lock(&self.0).list.iter().map(|(_, hooks)| hooks.clone()))
    }
}

impl fmt::Debug for Observers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Observers").field(&lock(&self.0).list.len()).finish()
    }
}

/// Handlers added by [`Agent::on`](crate::Agent::on). They stay until [`dispose`](Self::dispose): dropping this
/// changes nothing.
#[derive(Clone)]
pub struct Observer {
    list: Weak<List>,
    id: u64,
}

impl Observer {
    /// Takes the handlers away, for runs that begin from now on. Doing it again changes nothing.
    pub fn dispose(&self) {
        if let Some(list) = self.list.upgrade() {
            lock(&list).list.retain(|(id, _)| *id != self.id);
        }
    }
}

impl fmt::Debug for Observer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Observer").field(&self.id).finish()
    }
}

fn lock(list: &List) -> MutexGuard<'_, Added> {
    list.lock().unwrap_or_else(PoisonError::into_inner)
}
