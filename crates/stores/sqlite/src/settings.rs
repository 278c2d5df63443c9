use std::time::Duration;

use crate::retention::Retention;

/// How a file is used.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SqliteSettings {
    /// What a write outlives; a loss of power by default.
    pub durability: Durability,
    /// So long a call waits for another process that writes: 5 s by default. SQLite's writes take milliseconds.
    pub busy_timeout: Duration,
    /// So large may the file become, in bytes; without a limit by default. The log beside it, which is a few MiB, does
    /// not count. What would go beyond fails as `Full`.
    pub max_bytes: Option<u64>,
    /// What is deleted when the file is opened; nothing by default. See [`SqliteStore::sweep`](crate::SqliteStore::sweep).
    pub retention: Option<Retention>,
}

impl Default for SqliteSettings {
    fn default() -> Self {
        Self {
            durability: Durability::Power,
            busy_timeout: Duration::from_secs(5),
            max_bytes: None,
            retention: None,
        }
    }
}

/// What a write that was answered outlives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Durability {
    /// The end of the process, and a loss of power: each write waits for the disk.
    #[default]
    Power,
    /// The end of the process, by `kill -9` too. A loss of power may take back the last writes, in the order in which
    /// they were made, and never damages the file.
    Process,
}
