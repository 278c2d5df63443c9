//! The ports in the memory of one process: the default, and what tests run on. Nothing outlives the process.

mod commands;
mod conversation;
mod log;
mod ownership;
mod status;

use std::sync::{Mutex, MutexGuard, PoisonError};

pub use commands::MemoryCommands;
pub use conversation::MemoryConversations;
pub use log::MemoryLog;
pub use ownership::MemoryOwnership;
pub use status::MemoryStatus;

/// What is behind these locks is changed in steps that cannot panic halfway.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
