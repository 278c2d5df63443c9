use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use ai_provider::{Message, ToolCall, ToolDefinition};

/// A call that cannot be run as the model wrote it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct InvalidCall {
    /// The call.
    pub call: ToolCall,
    /// What is wrong, as the model will read it if the call is not repaired.
    pub problem: String,
    /// The tool it names, with the schema of its input; absent if there is none, or it is not active.
    pub tool: Option<ToolDefinition>,
    /// The names of the tools that are active.
    pub active_tools: Vec<String>,
    /// The history up to the answer that made the call.
    pub messages: Arc<Vec<Arc<Message>>>,
}

type Repairing = Pin<Box<dyn Future<Output = Option<ToolCall>> + Send>>;

/// What makes a call that can be run of one that cannot.
#[derive(Clone)]
pub(crate) struct Repair(Arc<dyn Fn(InvalidCall) -> Repairing + Send + Sync>);

impl Repair {
    pub(crate) fn new<F, Fut>(repair: F) -> Self
    where
        F: Fn(InvalidCall) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Option<ToolCall>> + Send + 'static,
    {
        Self(Arc::new(move |call| Box::pin(repair(call))))
    }

    pub(crate) fn repair(&self, call: InvalidCall) -> Repairing {
        (self.0)(call)
    }
}

impl fmt::Debug for Repair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Repair")
    }
}
