//! Conversations, and who may write them, in one SQLite file: nothing to install, nothing to run.
//!
//! [`SqliteStore`] is both a [`ConversationStore`](stream_manager::port::ConversationStore) and an
//! [`Ownership`](stream_manager::port::Ownership). Any number of handles, also of several processes of one machine, may
//! use the same file at once.
//!
//! ```
//! use stream_manager::port::ConversationStore;
//! use stream_manager::record::{Input, InputBody};
//! use stream_store_sqlite::{SqliteSettings, SqliteStore};
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! let store = SqliteStore::open(folder.path().join("chats/topics.db"), SqliteSettings::default()).await?;
//! let input = Input::new("1", InputBody::Regenerate { row: "r".into() });
//! assert_eq!(store.accept(&"a topic".into(), &input).await?.seq, 1);
//! assert!(store.accept(&"a topic".into(), &input).await?.duplicate);
//! # Ok(()) }
//! ```
//!
//! # What is safe against what
//!
//! Every method that writes is one transaction. It is on the disk before the method returns, so that neither the end of
//! the process nor a loss of power takes it back; [`Durability::Process`] leaves out the second for fewer waits for the
//! disk. A process that ends in the middle of a write leaves nothing of it.
//!
//! Leases are kept by the clock of the machine: one that is set back keeps them longer, one that is set ahead ends them.
//! Neither lets two owners write, since every write is checked against the greatest epoch.
//!
//! The file must lie on a local disk: SQLite's shared log does not work over network file systems.
//!
//! # Errors
//!
//! | what happens | kind |
//! |---|---|
//! | the disk is full, or the file has the [size](SqliteSettings::max_bytes) it may have | `Full` |
//! | another process keeps the file locked for longer than [`busy_timeout`](SqliteSettings::busy_timeout); the folder or the file cannot be made, opened or read | `Unavailable` |
//! | the file is no database, one of something else, one of a later version, or damaged | `Corrupt` |

mod connect;
mod conversation;
mod error;
mod lane;
mod ownership;
mod read;
mod retention;
mod row;
mod schema;
mod settings;
mod store;
mod write;

pub use retention::Retention;
pub use settings::{Durability, SqliteSettings};
pub use store::SqliteStore;
