use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;

use super::lock;
use crate::port::{Command, CommandHandler, Commands, Reply, Serving, StoreError, StoreErrorKind};
use crate::record::{NodeId, TopicId};

/// Carries commands between the nodes of one process: a call of a function.
///
/// The handler runs inside the call: where the limit passes, or the call is dropped, it is dropped too.
#[derive(Debug, Default)]
pub struct MemoryCommands {
    nodes: Arc<Mutex<Nodes>>,
}

#[derive(Default)]
struct Nodes {
    served: u64,
    handlers: HashMap<NodeId, (u64, Arc<dyn CommandHandler>)>,
}

impl fmt::Debug for Nodes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.handlers.keys()).finish()
    }
}

impl MemoryCommands {
    /// Nobody listens.
    pub fn new() -> Self {
        Self::default()
    }
}

#[async_trait]
impl Commands for MemoryCommands {
    async fn call(
        &self,
        node: &NodeId,
        topic: &TopicId,
        command: Command,
        limit: Duration,
    ) -> Result<Reply, StoreError> {
        let handler = lock(&self.nodes).handlers.get(node).map(|(_, handler)| Arc::clone(handler));
        let Some(handler) = handler else {
            return Err(StoreError::new(StoreErrorKind::NotFound, format!("calling node {node}")));
        };
        let reply = tokio::time::timeout(limit, handler.handle(topic.clone(), command)).await;
        reply.map_err(|_| {
            let what = format!("no reply of node {node} in {limit:?}");
            StoreError::new(StoreErrorKind::Unavailable, what)
        })
    }

    async fn serve(
        &self,
        node: &NodeId,
        handler: Arc<dyn CommandHandler>,
    ) -> Result<Box<dyn Serving>, StoreError> {
        let mut nodes = lock(&self.nodes);
        nodes.served += 1;
        let number = nodes.served;
        nodes.handlers.insert(node.clone(), (number, handler));
        Ok(Box::new(Listening { nodes: Arc::clone(&self.nodes), node: node.clone(), number }))
    }
}

/// A node listens until this is dropped, or the same node listens anew.
#[derive(Debug)]
struct Listening {
    nodes: Arc<Mutex<Nodes>>,
    node: NodeId,
    number: u64,
}

impl Serving for Listening {}

impl Drop for Listening {
    fn drop(&mut self) {
        let mut nodes = lock(&self.nodes);
        let handler = match nodes.handlers.get(&self.node) {
            Some((number, _)) if *number == self.number => nodes.handlers.remove(&self.node),
            _ => None,
        };
        drop(nodes);
        // Outside the lock: what a handler holds may listen too.
        drop(handler);
    }
}
