use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use rusqlite::{Connection, Transaction, TransactionBehavior};
use stream_manager::port::{StoreError, StoreErrorKind};
use tokio::sync::{Mutex as Queue, Semaphore};

use crate::connect;
use crate::error::store_error;
use crate::retention::{self, Retention};
use crate::settings::{Durability, SqliteSettings};

/// So many calls read at once. A read takes well below a millisecond, and a machine has few disks.
const READERS: usize = 4;

/// Conversations, and who may write them, in one SQLite file. See the [crate](crate).
///
/// Clones share their connections.
#[derive(Clone)]
pub struct SqliteStore {
    file: Arc<File>,
}

struct File {
    path: PathBuf,
    settings: SqliteSettings,
    /// One writes at a time, in the order in which they come. In a box of its own, since the thread that writes must keep
    /// it where the caller has gone.
    writer: Arc<Queue<Connection>>,
    reading: Arc<Semaphore>,
    /// Connections that rest.
    readers: Mutex<Vec<Connection>>,
}

impl SqliteStore {
    /// Opens a file. If it is not there it is made, with its folders, for its owner alone; one of an earlier version is
    /// brought to the present one.
    ///
    /// Must be called within a tokio runtime, as every method: SQLite runs on its threads for blocking work.
    ///
    /// # Errors
    /// See the [crate](crate#errors).
    pub async fn open(path: impl AsRef<Path>, settings: SqliteSettings) -> Result<Self, StoreError> {
        // The program may change its folder later; and no name is special, as `:memory:` is for SQLite.
        let path = std::path::absolute(path.as_ref()).map_err(|error| {
            StoreError::new(StoreErrorKind::Unavailable, "opening the database").with_source(error)
        })?;
        let (at, with) = (path.clone(), settings.clone());
        let writer = blocking(move || connect::open(&at, &with)).await?;
        let store = Self {
            file: Arc::new(File {
                path,
                settings: settings.clone(),
                writer: Arc::new(Queue::new(writer)),
                reading: Arc::new(Semaphore::new(READERS)),
                readers: Mutex::default(),
            }),
        };
        if let Some(retention) = settings.retention {
            store.sweep(&retention).await?;
        }
        Ok(store)
    }

    /// Where the file is.
    pub fn path(&self) -> &Path {
        &self.file.path
    }

    /// Deletes topics that are over and old, and gives the room back to the disk. Returns how many there were.
    ///
    /// A topic stays whatever its age while a row is open or waits for approval, an input waits, or a node holds its
    /// lease. It may be called at any time, also while others write: each topic is a write of its own.
    ///
    /// # Errors
    /// If the file cannot be written; what was deleted by then stays deleted.
    pub async fn sweep(&self, retention: &Retention) -> Result<u64, StoreError> {
        let now = now();
        let retention = retention.clone();
        let old = self
            .read("looking for old topics", move |connection| retention::old(connection, &retention, now));
        let mut deleted = 0;
        for topic in old.await? {
            let what = "deleting an old topic";
            deleted +=
                self.write(what, move |transaction| retention::delete(transaction, topic, now)).await?;
        }
        if deleted > 0 {
            let writer = Arc::clone(&self.file.writer).lock_owned().await;
            blocking(move || retention::shrink(&writer)).await?;
        }
        Ok(deleted)
    }

    /// Does something in one transaction that writes. It is made as a whole, also where the caller goes.
    pub(crate) async fn write<T: Send + 'static>(
        &self,
        what: &'static str,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.transact(what, self.file.settings.durability, work).await
    }

    /// Does something in one transaction that need not outlive a loss of power.
    pub(crate) async fn write_lightly<T: Send + 'static>(
        &self,
        what: &'static str,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.transact(what, Durability::Process, work).await
    }

    async fn transact<T: Send + 'static>(
        &self,
        what: &'static str,
        durability: Durability,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let mut writer = Arc::clone(&self.file.writer).lock_owned().await;
        blocking(move || {
            let failed = |error| store_error(what, error);
            connect::set_durability(&writer, durability).map_err(failed)?;
            let behavior = TransactionBehavior::Immediate;
            let transaction = writer.transaction_with_behavior(behavior).map_err(failed)?;
            let done = work(&transaction)?;
            transaction.commit().map_err(failed)?;
            Ok(done)
        })
        .await
    }

    /// Does something on one state of the file, without holding up who writes.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        what: &'static str,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let reading = Arc::clone(&self.file.reading).acquire_owned().await;
        let reading = reading.map_err(|_| StoreError::new(StoreErrorKind::Unavailable, what))?;
        let file = Arc::clone(&self.file);
        blocking(move || {
            let rested = file.resting().pop();
            let mut connection = match rested {
                Some(connection) => connection,
                None => connect::open_reader(&file.path, &file.settings)?,
            };
            let failed = |error| store_error(what, error);
            let transaction = connection.transaction().map_err(failed)?;
            let done = work(&transaction);
            transaction.finish().map_err(failed)?;
            file.resting().push(connection);
            drop(reading);
            done
        })
        .await
    }
}

impl File {
    fn resting(&self) -> std::sync::MutexGuard<'_, Vec<Connection>> {
        self.readers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteStore").field("path", &self.file.path).finish_non_exhaustive()
    }
}

/// Milliseconds since 1970.
pub(crate) fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// Runs what waits for the disk where it may wait.
#[allow(
    clippy::disallowed_methods,
    reason = "a transaction cannot be cut in the middle: it ends by itself, made or rolled back, also where the caller goes"
)]
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| {
        Err(StoreError::new(StoreErrorKind::Unavailable, "the thread of the database").with_source(error))
    })
}
