use std::sync::Arc;

use tokio::sync::{broadcast, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::registry::{Handler, Registry};
use super::{EVENTS, Inner, StreamManager};
use crate::listener::AuditTrail;
use crate::memory::{MemoryCommands, MemoryConversations, MemoryLog, MemoryOwnership, MemoryStatus};
use crate::port::{Commands, ConversationStore, Ownership, ReplayLog, StatusBus, StoreError};
use crate::record::NodeId;
use crate::settings::Settings;
use crate::shared::Shared;
use crate::source::TurnSource;

/// Makes a [`StreamManager`].
#[derive(Debug)]
#[must_use]
pub struct Builder {
    source: Arc<dyn TurnSource>,
    node: Option<NodeId>,
    settings: Settings,
    store: Option<Arc<dyn ConversationStore>>,
    ownership: Option<Arc<dyn Ownership>>,
    log: Option<Arc<dyn ReplayLog>>,
    bus: Option<Arc<dyn StatusBus>>,
    commands: Option<Arc<dyn Commands>>,
    trail: Option<AuditTrail>,
}

impl Builder {
    pub(super) fn new(source: Arc<dyn TurnSource>) -> Self {
        Self {
            source,
            node: None,
            settings: Settings::default(),
            store: None,
            ownership: None,
            log: None,
            bus: None,
            commands: None,
            trail: None,
        }
    }

    /// Sets how it behaves.
    pub fn with_settings(mut self, settings: Settings) -> Self {
        self.settings = settings;
        self
    }

    /// Sets the name of this node: unique among those that share stores. Default: a random one, which is right wherever
    /// a node that starts anew shall not pass for the one before.
    pub fn with_node(mut self, node: impl Into<NodeId>) -> Self {
        self.node = Some(node.into());
        self
    }

    /// Sets where conversations are kept. Default: in memory.
    pub fn with_store(mut self, store: Arc<dyn ConversationStore>) -> Self {
        self.store = Some(store);
        self
    }

    /// Sets who says which node owns a topic. Default: in memory. With a store that several processes use it must be
    /// one that all of them see.
    pub fn with_ownership(mut self, ownership: Arc<dyn Ownership>) -> Self {
        self.ownership = Some(ownership);
        self
    }

    /// Sets where chunks are read from. Default: in memory.
    pub fn with_log(mut self, log: Arc<dyn ReplayLog>) -> Self {
        self.log = Some(log);
        self
    }

    /// Sets who tells how topics stand. Default: in memory.
    pub fn with_status_bus(mut self, bus: Arc<dyn StatusBus>) -> Self {
        self.bus = Some(bus);
        self
    }

    /// Sets what carries verbs between nodes. Default: in memory.
    pub fn with_commands(mut self, commands: Arc<dyn Commands>) -> Self {
        self.commands = Some(commands);
        self
    }

    /// Writes an audit in the background: what is left of it when the manager [shuts down](StreamManager::shut_down) is
    /// written then.
    pub fn with_audit(mut self, trail: AuditTrail) -> Self {
        self.trail = Some(trail);
        self
    }

    /// Makes it. Must be called within a tokio runtime.
    ///
    /// # Errors
    /// If this node cannot listen for commands.
    pub async fn build(self) -> Result<StreamManager, StoreError> {
        let shared = Arc::new(Shared {
            node: self.node.unwrap_or_else(NodeId::random),
            source: self.source,
            store: self.store.unwrap_or_else(|| Arc::new(MemoryConversations::new())),
            ownership: self.ownership.unwrap_or_else(|| Arc::new(MemoryOwnership::new())),
            log: self.log.unwrap_or_else(|| Arc::new(MemoryLog::new())),
            bus: self.bus.unwrap_or_else(|| Arc::new(MemoryStatus::new())),
            commands: self.commands.unwrap_or_else(|| Arc::new(MemoryCommands::new())),
            settings: self.settings,
            tasks: TaskTracker::new(),
            holds: watch::Sender::new(0),
            closing: CancellationToken::new(),
            kill: CancellationToken::new(),
        });
        let (events, _) = broadcast::channel(EVENTS);
        let registry = Arc::new(Registry::new(Arc::clone(&shared), events.clone()));
        let handler = Arc::new(Handler(Arc::clone(&registry)));
        let serving = shared.commands.serve(&shared.node, handler).await?;
        let (trails, trails_end) = (TaskTracker::new(), CancellationToken::new());
        if let Some(trail) = self.trail {
            trails.spawn(trail.run(trails_end.clone(), shared.settings.store_timeout));
        }
        trails.close();
        let inner = Inner { shared, registry, events, trails, trails_end, _serving: serving };
        Ok(StreamManager { inner: Arc::new(inner) })
    }
}
