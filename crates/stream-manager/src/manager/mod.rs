//! The manager: topics by their name, and the verbs.

mod attach;
mod builder;
mod error;
mod hold;
mod prompt;
mod registry;
mod route;
mod verbs;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub(crate) use registry::Reading;

pub use builder::Builder;
pub use error::ManagerError;
pub use hold::Hold;
pub use prompt::PromptStream;
pub use verbs::{Receipt, Send};

use crate::inspect::TopicEvent;
use crate::port::{ConversationStore, Serving};
use crate::record::NodeId;
use crate::settings::Settings;
use crate::shared::Shared;
use crate::source::TurnSource;
use registry::Registry;

/// One live stream for each topic: many readers, one run at a time, nothing lost and nothing doubled.
///
/// Cheap to clone. What runs goes on when all clones are dropped, until it is done; [`shut_down`](Self::shut_down) ends
/// it in order.
///
/// ```
/// use agent_loop::Agent;
/// use stream_manager::{Send, StreamManager};
/// # async fn f(agent: Agent) -> Result<(), Box<dyn std::error::Error>> {
/// let manager = StreamManager::builder(agent).build().await?;
/// let topic = "chat-1".into();
/// let receipt = manager.send(&topic, Send::text("How is Rome?")).await?;
/// manager.steer(&topic, Send::text("In autumn, I mean.")).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct StreamManager {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    shared: Arc<Shared>,
    registry: Arc<Registry>,
    events: broadcast::Sender<TopicEvent>,
    /// What writes beside the topics, and ends after them.
    trails: TaskTracker,
    trails_end: CancellationToken,
    /// Keeps this node listening.
    _serving: Box<dyn Serving>,
}

/// How many events a listener may be behind before it misses some: it is told so, and reads the status then.
const EVENTS: usize = 1024;

impl StreamManager {
    /// A manager of this source of turns, with everything in memory unless told otherwise.
    pub fn builder(source: impl TurnSource) -> Builder {
        Builder::new(Arc::new(source))
    }

    /// The name of this node.
    pub fn node(&self) -> &NodeId {
        &self.inner.shared.node
    }

    /// How it behaves.
    pub fn settings(&self) -> &Settings {
        &self.inner.shared.settings
    }

    /// Where its conversations are kept.
    pub fn store(&self) -> &Arc<dyn ConversationStore> {
        &self.inner.shared.store
    }

    /// What happens to the topics of this node, from now on. A listener that is 1024 events behind misses some, and is
    /// told how many.
    pub fn events(&self) -> broadcast::Receiver<TopicEvent> {
        self.inner.events.subscribe()
    }

    /// How many topics have a task on this node.
    pub fn topics(&self) -> usize {
        self.inner.registry.len()
    }

    /// How many tasks run for this manager.
    pub fn tasks(&self) -> usize {
        self.inner.shared.tasks.len() + self.inner.trails.len()
    }

    /// Lets no new turn begin on this node until the hold is dropped. What runs goes on; what is said is written down
    /// and waits. Holds add up.
    pub fn pause(&self) -> Hold {
        Hold::new(&self.inner.shared)
    }

    /// Waits until no turn runs on this node and everything is written, at most `limit`; says whether it came to that.
    /// Cancels nothing. Turns that begin in the meantime are waited for too: [pause](Self::pause) first.
    pub async fn drain(&self, limit: Duration) -> bool {
        tokio::time::timeout(limit, self.inner.registry.at_rest()).await.is_ok()
    }

    /// Ends at once, as if the process died: nothing more is written, and leases are not given back. What another owner
    /// finds is what a crash leaves. Returns whether nothing was under way.
    pub async fn shut_down_now(&self) -> bool {
        let idle = self.inner.shared.tasks.is_empty();
        self.inner.shared.kill.cancel();
        self.shut_down(Duration::ZERO).await && idle
    }

    /// Ends: no new turns; what runs is stopped as interrupted and written, what waits goes back to its senders. After
    /// `limit` the rest is dropped where it stands: the next owner of its topics finds it interrupted. Returns whether
    /// everything was written in time. An audit is written last, for at most as long as the store may take. No task of the manager is left when it returns.
    pub async fn shut_down(&self, limit: Duration) -> bool {
        let shared = &self.inner.shared;
        shared.closing.cancel();
        shared.tasks.close();
        let in_time = tokio::time::timeout(limit, shared.tasks.wait()).await.is_ok();
        if !in_time {
            shared.kill.cancel();
            shared.tasks.wait().await;
        }
        self.inner.trails_end.cancel();
        self.inner.trails.wait().await;
        in_time
    }
}
