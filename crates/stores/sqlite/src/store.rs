use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use rusqlite::{Transaction, TransactionBehavior};
use stream_manager::port::{StoreError, StoreErrorKind};

use crate::connect;
use crate::error::store_error;
use crate::lane::{Lane, blocking};
use crate::retention::{self, Retention};
use crate::settings::{Durability, SqliteSettings};

/// So many calls read at once. A read takes well below a millisecond, and a machine has few disks.
const READERS: usize = 4;

/// Conversations, and who may write them, in one SQLite file. See the [crate](crate).
///
/// Clones share their connections.
#[derive(Clone)]
pub struct SqliteStore {
    path: Arc<Path>,
    durability: Durability,
    writer: Lane,
    readers: Lane,
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
        let opened = blocking("opening the database", move || {
            let writer = connect::open(&at, &with)?;
            let readers =
                (0..READERS).map(|_| connect::open_reader(&at, &with)).collect::<Result<Vec<_>, _>>()?;
            Ok((writer, readers))
        });
        let (writer, readers) = opened.await?;
        let store = Self {
            path: path.into(),
            durability: settings.durability,
            writer: Lane::new(vec![writer]),
            readers: Lane::new(readers),
        };
        if let Some(retention) = settings.retention {
            store.sweep(&retention).await?;
        }
        Ok(store)
    }

    /// Where the file is.
    pub fn path(&self) -> &Path {
        &self.path
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
            self.writer
                .run("giving room back to the disk", |connection| retention::shrink(connection))
                .await?;
        }
        Ok(deleted)
    }

    /// Does something in one transaction that writes. It is made as a whole, also where the caller goes.
    pub(crate) async fn write<T: Send + 'static>(
        &self,
        what: &'static str,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.transact(what, self.durability, work).await
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
        let failed = move |error| store_error(what, error);
        self.writer
            .run(what, move |connection| {
                connect::set_durability(connection, durability).map_err(failed)?;
                let behavior = TransactionBehavior::Immediate;
                let transaction = connection.transaction_with_behavior(behavior).map_err(failed)?;
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
        let failed = move |error| store_error(what, error);
        self.readers
            .run(what, move |connection| {
                let transaction = connection.transaction().map_err(failed)?;
                let done = work(&transaction)?;
                transaction.finish().map_err(failed)?;
                Ok(done)
            })
            .await
    }
}

impl fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteStore").field("path", &self.path).finish_non_exhaustive()
    }
}

/// Milliseconds since 1970.
pub(crate) fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
