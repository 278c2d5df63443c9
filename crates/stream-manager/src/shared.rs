use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::port::{Commands, ConversationStore, Ownership, ReplayLog, StatusBus};
use crate::record::NodeId;
use crate::settings::Settings;
use crate::source::TurnSource;

/// What all topics of a manager use.
pub(crate) struct Shared {
    pub(crate) node: NodeId,
    pub(crate) source: Arc<dyn TurnSource>,
    pub(crate) store: Arc<dyn ConversationStore>,
    pub(crate) ownership: Arc<dyn Ownership>,
    pub(crate) log: Arc<dyn ReplayLog>,
    pub(crate) bus: Arc<dyn StatusBus>,
    pub(crate) commands: Arc<dyn Commands>,
    pub(crate) settings: Settings,
    /// Everything that runs for the manager runs in here, so that its end can be waited for.
    pub(crate) tasks: TaskTracker,
    /// How many holds keep turns from beginning.
    pub(crate) holds: watch::Sender<usize>,
    /// Tells all topics to end, and lets no other begin.
    pub(crate) closing: CancellationToken,
    /// Ends everything at once, written or not.
    pub(crate) kill: CancellationToken,
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").field("node", &self.node).finish_non_exhaustive()
    }
}

/// So long after; a time that no clock reaches is one far ahead.
pub(crate) fn later(from: Instant, by: Duration) -> Instant {
    from.checked_add(by).unwrap_or(from + FAR)
}

/// Thirty years: no process runs longer.
const FAR: Duration = Duration::from_secs(30 * 365 * 24 * 60 * 60);

/// Milliseconds since 1970, for what is stored.
pub(crate) fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
