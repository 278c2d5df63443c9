use std::sync::{Mutex, MutexGuard, PoisonError};

/// What is behind these locks is changed in steps that cannot panic halfway.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
