//! placeholder
mod error;
mod model_ref;
mod registry;
pub mod run;
mod tool;
mod tool_loop;
pub use error::{Error, ErrorKind};
pub use model_ref::ModelRef;
pub use registry::Registry;
pub use tool::{
    Effect, FnTool, TerminalFailure, TerminalPermit, Tool, ToolContext, ToolError, ToolSet, ToolStream,
    ToolYield, tool_fn, tool_fn_blocking,
};
pub use tool_loop::*;
