//! What stands beside a topic and hears what it says: user interfaces, copies elsewhere, chat channels.

mod audit;
mod channel;
mod coalesce;
mod list;

use std::error::Error;
use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::FutureExt;
use futures_util::future::join_all;
use tokio::time::timeout;

pub use audit::{AuditTrail, AuditWriter};
pub use channel::{Channel, ChannelSettings, speak};
pub use coalesce::Coalesced;
pub use list::{Listeners, listen};

use crate::reader::ReaderItem;

/// Hears what a topic says. It never holds a turn up: it is driven by a reader of its own, or of its group.
#[async_trait]
pub trait Listener: Send + Sync + 'static {
    /// Names it: one that is added under the same name takes its place.
    fn id(&self) -> &str;

    /// When it is told of an end.
    fn phase(&self) -> Phase {
        Phase::Normal
    }

    /// Whether it still listens. One that does not is dropped.
    fn is_alive(&self) -> bool {
        true
    }

    /// Takes what comes, in order. Must not block: it would hold up the others of its group.
    ///
    /// # Errors
    /// What went wrong. It is told, and the listener goes on.
    fn on_item(&self, item: &ReaderItem) -> Result<(), Box<dyn Error + Send + Sync>>;

    /// An attempt has ended, and that is stored; [`terminal`](ReaderItem::terminal) says how, and whether the row goes on or
    /// the turn is over.
    ///
    /// # Errors
    /// What went wrong.
    async fn on_terminal(&self, end: &ReaderItem) -> Result<(), Box<dyn Error + Send + Sync>>;
}

impl fmt::Debug for dyn Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Listener").field(&self.id()).finish()
    }
}

/// When a listener is told of an end: phase by phase, those of one phase together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// Those who store it elsewhere. If one of them fails, the normal ones are not told, for what they would show is not
    /// there.
    Persistence,
    /// All others.
    #[default]
    Normal,
    /// Those who tidy up. They are told in any case.
    Cleanup,
}

/// A listener did not do what it should.
#[derive(Debug)]
#[non_exhaustive]
pub struct ListenerFailure {
    /// Its name.
    pub listener: String,
    /// What happened.
    pub what: FailureKind,
}

/// What a listener did instead.
#[derive(Debug)]
#[non_exhaustive]
pub enum FailureKind {
    /// It gave an error.
    Failed(Box<dyn Error + Send + Sync>),
    /// It panicked.
    Panicked,
    /// It took too long, and was dropped where it stood.
    TimedOut,
}

impl fmt::Display for ListenerFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.what {
            FailureKind::Failed(error) => write!(f, "the listener `{}` failed: {error}", self.listener),
            FailureKind::Panicked => write!(f, "the listener `{}` panicked", self.listener),
            FailureKind::TimedOut => write!(f, "the listener `{}` took too long", self.listener),
        }
    }
}

impl Error for ListenerFailure {}

/// Tells listeners of an end: those of the persistence phase, then the normal ones, then those that clean up, each for at
/// most `limit`. None hurts another. Gives what went wrong.
pub async fn run_terminal(
    listeners: &[Arc<dyn Listener>],
    end: &ReaderItem,
    limit: Duration,
) -> Vec<ListenerFailure> {
    let mut failures = Vec::new();
    for phase in [Phase::Persistence, Phase::Normal, Phase::Cleanup] {
        if phase == Phase::Normal && !failures.is_empty() {
            continue;
        }
        let those = listeners.iter().filter(|listener| listener.phase() == phase && listener.is_alive());
        let told = join_all(those.map(|listener| tell(&**listener, end, limit))).await;
        failures.extend(told.into_iter().flatten());
    }
    failures
}

async fn tell(listener: &dyn Listener, end: &ReaderItem, limit: Duration) -> Option<ListenerFailure> {
    // The call itself may panic, not only its future.
    let told = AssertUnwindSafe(async { listener.on_terminal(end).await }).catch_unwind();
    let what = match timeout(limit, told).await {
        Ok(Ok(Ok(()))) => return None,
        Ok(Ok(Err(error))) => FailureKind::Failed(error),
        Ok(Err(_)) => FailureKind::Panicked,
        Err(_) => FailureKind::TimedOut,
    };
    Some(ListenerFailure { listener: listener.id().to_owned(), what })
}

#[cfg(test)]
mod tests;
