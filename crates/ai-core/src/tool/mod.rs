//! Tools: what the model may call, and what runs when it does.

mod context;
mod error;
mod function;
mod set;
mod terminal;

use std::fmt;
use std::pin::Pin;
use std::time::Duration;

use ai_provider::{FunctionTool, ToolOutput};
use async_trait::async_trait;
use futures_core::Stream;
use serde_json::Value;

pub use context::ToolContext;
pub use error::ToolError;
pub use function::{FnTool, tool_fn, tool_fn_blocking};
pub use set::ToolSet;
pub use terminal::{TerminalFailure, TerminalPermit};

use crate::run::ApprovalVerdict;

/// What a tool gives while it runs: preliminary results, then one final.
pub type ToolStream = Pin<Box<dyn Stream<Item = ToolYield> + Send>>;

/// One item of a [`ToolStream`]. Nothing follows a final one; a stream that ends without is an error.
#[derive(Debug)]
#[non_exhaustive]
pub enum ToolYield {
    /// The result so far: shown, never sent to the model.
    Preliminary(ToolOutput),
    /// The result.
    Final(Result<ToolOutput, ToolError>),
}

/// What running a tool does to the world. It decides what may be done when the tool is cut off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Effect {
    /// Nothing.
    ReadOnly,
    /// Something, but twice is the same as once.
    Idempotent,
    /// Something that must not happen twice.
    #[default]
    SideEffect,
}

/// A tool. [`tool_fn`] is the normal way to make one.
#[async_trait]
pub trait Tool: Send + Sync + 'static {
    /// Name, description and input schema: what the model sees.
    fn definition(&self) -> FunctionTool;

    /// What running it does to the world.
    fn effect(&self) -> Effect {
        Effect::SideEffect
    }

    /// How long it may run; the loop's own limit if absent.
    fn timeout(&self) -> Option<Duration> {
        None
    }

    /// Whether it runs on this side. If not, its calls end the run and are handed over to the caller.
    fn is_executable(&self) -> bool {
        true
    }

    /// Whether [`approve`](Self::approve) is to be asked.
    fn needs_approval(&self) -> bool {
        false
    }

    /// Whether this call may run.
    async fn approve(&self, _input: &Value, _ctx: &ToolContext) -> ApprovalVerdict {
        ApprovalVerdict::Approved
    }

    /// Runs it. `input` is a JSON object; what is in it is the tool's to check.
    fn execute(&self, input: Value, ctx: ToolContext) -> ToolStream;
}

impl fmt::Debug for dyn Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tool").field("name", &self.definition().name).finish_non_exhaustive()
    }
}
