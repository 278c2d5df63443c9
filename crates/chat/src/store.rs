//! Where conversations are kept.

use std::sync::Arc;

use stream_manager::Builder;
use stream_manager::port::ConversationStore;
use stream_store_redis::{RedisSettings, RedisStore};
use stream_store_sqlite::{SqliteSettings, SqliteStore};

use crate::config::{StoreConfig, StoreKind};
use crate::failure::Failure;
use crate::secrets;

/// The store of a configuration.
#[derive(Clone, Debug)]
pub(crate) enum Store {
    Memory,
    Sqlite(Arc<SqliteStore>),
    Redis(Arc<RedisStore>),
}

impl Store {
    /// Opens it; a file that is not there is made.
    ///
    /// # Errors
    /// If it cannot be used, or nothing says where it is.
    pub(crate) async fn open(config: &StoreConfig) -> Result<Self, Failure> {
        match config.kind {
            StoreKind::Memory => Ok(Self::Memory),
            StoreKind::Sqlite => {
                let path = config.sqlite_path(|name| std::env::var(name).ok()).ok_or_else(|| {
                    Failure::usage("it is not known where conversations shall be kept").with_advice(
                        "Set HOME, or store.path in the configuration file; chat serve --memory keeps them nowhere.",
                    )
                })?;
                let store = SqliteStore::open(&path, SqliteSettings::default()).await.map_err(|error| {
                    Failure::new(format!("the conversations in {} cannot be used: {error}", path.display()))
                        .with_advice(
                            "Set store.path in the configuration file; chat serve --memory keeps them nowhere.",
                        )
                })?;
                Ok(Self::Sqlite(Arc::new(store)))
            }
            StoreKind::Redis => {
                let missing = || Failure::usage("store.url does not say where the redis server is");
                let url = secrets::text(config.url.as_ref().ok_or_else(missing)?)?;
                let store = RedisStore::connect(&url, RedisSettings::default()).await.map_err(|error| {
                    Failure::new(format!("the redis server of store.url cannot be used: {error}"))
                })?;
                Ok(Self::Redis(Arc::new(store)))
            }
        }
    }

    /// The same, where conversations shall outlive the program.
    ///
    /// # Errors
    /// Also if the configuration says that they end with it.
    pub(crate) async fn lasting(config: &StoreConfig) -> Result<Self, Failure> {
        match Self::open(config).await? {
            Self::Memory => Err(Failure::usage(
                "the configuration keeps conversations in memory, where they end with the program",
            )
            .with_advice("Set store.kind to \"sqlite\" or \"redis\" in the configuration file.")),
            store => Ok(store),
        }
    }

    /// The conversations in it; none outlive the program in memory.
    pub(crate) fn conversations(&self) -> Option<Arc<dyn ConversationStore>> {
        match self {
            Self::Memory => None,
            Self::Sqlite(store) => Some(Arc::clone(store) as _),
            Self::Redis(store) => Some(Arc::clone(store) as _),
        }
    }

    /// A manager that keeps its conversations there.
    pub(crate) fn under(self, builder: Builder) -> Builder {
        match self {
            Self::Memory => builder,
            Self::Sqlite(store) => builder.with_store(Arc::clone(&store) as _).with_ownership(store),
            Self::Redis(store) => builder
                .with_store(Arc::clone(&store) as _)
                .with_ownership(Arc::clone(&store) as _)
                .with_log(Arc::clone(&store) as _)
                .with_status_bus(Arc::clone(&store) as _)
                .with_commands(store),
        }
    }
}
