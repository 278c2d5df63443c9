//! Conversations, ownership, logs, status and commands on Redis or Valkey: what [`stream_manager`] needs so that many
//! processes serve the same topics.
//!
//! [`RedisStore`] is all five ports. Any of them can be paired with others, for example its log with conversations in a
//! database.
//!
//! ```no_run
//! use std::sync::Arc;
//! use stream_manager::port::{ConversationStore, ReplayLog};
//! use stream_store_redis::{RedisSettings, RedisStore};
//!
//! # async fn connect() -> Result<(), stream_manager::port::StoreError> {
//! let store = Arc::new(RedisStore::connect("redis://localhost", RedisSettings::default()).await?);
//! let conversations: Arc<dyn ConversationStore> = store.clone();
//! let log: Arc<dyn ReplayLog> = store;
//! # Ok(()) }
//! ```
//!
//! # The server
//!
//! Redis 6.2 or later, or Valkey; one primary, with replicas as you like. All keys of a topic have one hash tag, so that
//! they stay together wherever keys are spread by tag; this client itself talks to one server.
//!
//! Conversations are as durable as the server makes them: with `appendonly yes` and `appendfsync everysec` a server that
//! dies loses the last second, with `appendfsync always` nothing, at the cost of a write to the disk for each call. Set
//! `maxmemory-policy noeviction`: what is evicted is lost. Where that is not enough, keep conversations in a database and
//! use the other ports of this store.
//!
//! # Errors
//!
//! | what happens | kind |
//! |---|---|
//! | no connection, no answer in time, a server that starts, changes its role or refuses the password | `Unavailable` |
//! | no memory (`OOM`): nothing was written | `Full` |
//! | a write under a lease that is not the topic's latest, or that ended by this node's own clock | `Fenced` |
//! | a key holds something else than what was written | `Corrupt` |
//!
//! A call whose connection breaks is made again within [its time](RedisSettings::timeout): all of them can be. A script
//! that the server does not know is sent to it. A node that was paused for longer than its lease notices before its next
//! write, by its own clock; and if it does not, the server refuses the write by its epoch.

mod channels;
mod commands;
mod conversation;
mod error;
mod keys;
mod lease;
mod lock;
mod log;
mod server;
mod settings;
mod status;
mod store;
mod task;

pub use settings::RedisSettings;
pub use store::RedisStore;
