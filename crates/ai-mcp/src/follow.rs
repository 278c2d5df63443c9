use std::sync::Mutex;
use std::sync::{Arc, PoisonError};

use ai_core::{LoopControl, StepOverrides, StepView, ToolSet};
use async_trait::async_trait;

use crate::servers::{Generation, McpServers};

/// Gives each step the tools there are, once they are no longer those the run began with.
#[derive(Debug)]
pub(crate) struct Follow {
    servers: McpServers,
    others: ToolSet,
    first: Generation,
    last: Mutex<Option<(Generation, ToolSet)>>,
}

impl Follow {
    pub(crate) fn new(servers: McpServers, others: ToolSet) -> Self {
        Self { first: servers.generation(), servers, others, last: Mutex::new(None) }
    }

    fn tools(&self) -> Option<ToolSet> {
        let now = self.servers.generation();
        if same(&now, &self.first) {
            return None;
        }
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        match &*last {
            Some((generation, tools)) if same(&now, generation) => Some(tools.clone()),
            _ => {
                let tools = self.servers.add_to(self.others.clone());
                *last = Some((now, tools.clone()));
                Some(tools)
            }
        }
    }
}

fn same(a: &Generation, b: &Generation) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| Arc::ptr_eq(a, b))
}

#[async_trait]
impl LoopControl for Follow {
    async fn prepare_step(&self, _step: &StepView<'_>) -> StepOverrides {
        self.servers.settled().await;
        let mut overrides = StepOverrides::default();
        overrides.tools = self.tools();
        overrides
    }
}
