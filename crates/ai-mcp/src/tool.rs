use std::sync::{Arc, Weak};
use std::time::Duration;

use ai_core::run::ApprovalVerdict;
use ai_core::{Effect, InputSchema, Tool, ToolContext, ToolStream};
use ai_provider::FunctionTool;
use async_trait::async_trait;
use serde_json::Value;

use crate::call;
use crate::listing::Listed;
use crate::shared::Shared;

/// A tool of a server. It outlives connections: a call goes to the one there is.
#[derive(Debug)]
pub(crate) struct McpTool {
    listed: Listed,
    schema: InputSchema,
    timeout: Option<Duration>,
    server_name: String,
    /// Not owned: when the application drops its servers, they end.
    server: Weak<Shared>,
}

impl McpTool {
    pub(crate) fn new(listed: Listed, server: &Arc<Shared>) -> Self {
        Self {
            schema: InputSchema::new(listed.schema.clone()),
            listed,
            timeout: server.settings.call_timeout,
            server_name: server.name.clone(),
            server: Arc::downgrade(server),
        }
    }
}

#[async_trait]
impl Tool for McpTool {
    fn definition(&self) -> FunctionTool {
        let description = self.listed.description.as_str();
        let mut definition = FunctionTool::new(&*self.listed.name, description, self.listed.schema.clone());
        definition.description = definition.description.filter(|text| !text.is_empty());
        definition
    }

    fn effect(&self) -> Effect {
        self.listed.effect
    }

    fn timeout(&self) -> Option<Duration> {
        self.timeout
    }

    fn is_dynamic(&self) -> bool {
        true
    }

    fn needs_approval(&self) -> bool {
        self.listed.asks
    }

    async fn approve(&self, _input: &Value, ctx: &ToolContext) -> ApprovalVerdict {
        match self.listed.asks {
            true => ApprovalVerdict::ask(&ctx.call_id),
            false => ApprovalVerdict::Approved,
        }
    }

    fn check(&self, input: &Value) -> Result<(), String> {
        self.schema.check(input)
    }

    fn execute(&self, input: Value, _ctx: ToolContext) -> ToolStream {
        call::stream(self.server.clone(), self.server_name.clone(), self.listed.remote.clone(), input)
    }
}
