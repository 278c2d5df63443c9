//! Tools: what the model may call, and what runs when it does.

mod client;
mod context;
mod error;
mod function;
mod repair;
mod schema;
mod set;
mod terminal;

use std::fmt;
use std::pin::Pin;
use std::time::Duration;

use ai_provider::{FunctionTool, ToolOutput};
use async_trait::async_trait;
use futures_core::Stream;
use serde_json::Value;

pub use client::{ClientTool, client_tool};
pub use context::ToolContext;
pub use error::ToolError;
pub use function::{FnTool, tool_fn, tool_fn_blocking, tool_json};
pub use repair::InvalidCall;
pub(crate) use repair::Repair;
pub use schema::InputSchema;
pub(crate) use set::Entry;
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

/// Which calls of a step may run beside one another. Calls that wait start in the order in which they were made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Concurrency {
    /// As many as the loop allows.
    #[default]
    Any,
    /// At most so many calls of this tool at once, at least 1; other tools run beside them.
    Limit(usize),
    /// A call of this tool runs alone: after all calls before it, and before all calls behind it.
    Alone,
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

    /// Which calls may run beside its own.
    fn concurrency(&self) -> Concurrency {
        Concurrency::Any
    }

    /// Whether the program came to know it only at run time, so that no code knows the form of its input. Its
    /// calls are marked so.
    fn is_dynamic(&self) -> bool {
        false
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

    /// Whether this JSON object is an input of the tool. What is not is never run: it may be repaired, else the
    /// model reads what is wrong.
    ///
    /// By default it is held against the schema of the definition, as by [`InputSchema`] but without the rest of
    /// JSON Schema.
    ///
    /// # Errors
    /// What is wrong and where, in words that end the sentence "The input is invalid: …".
    fn check(&self, input: &Value) -> Result<(), String> {
        schema::check_types(input, &self.definition().input_schema)
    }

    /// Runs it, with an input that passed [`check`](Self::check).
    fn execute(&self, input: Value, ctx: ToolContext) -> ToolStream;
}

impl fmt::Debug for dyn Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tool").field("name", &self.definition().name).finish_non_exhaustive()
    }
}
