//! Tools of MCP servers as tools of an agent.
//!
//! | you want to | look at |
//! |---|---|
//! | say what a server is and what of it is used | [`McpServer`], [`Approval`], [`Limits`] |
//! | connect to servers and keep them | [`McpServers`] |
//! | give their tools to an agent | [`McpServers::add_to`], [`McpServers::follow`] |
//! | see how they stand | [`McpServers::status`], [`ServerStatus`] |
//!
//! A server is a stranger's program: what it says is bounded, its names and texts are made fit to be shown, its tools
//! are asked about before they run, and none of them can end a run. A server that dies is started again, with waits
//! in between; its tools say so meanwhile, and the others go on.
//!
//! Servers are listened to between runs, so this crate starts tasks: one for each server, what its connection needs,
//! and one for the error output of a child process. All of them end with [`McpServers`].

mod backoff;
mod call;
mod connect;
mod content;
mod error;
mod follow;
mod listing;
mod name;
mod servers;
mod settings;
mod shared;
mod status;
mod supervisor;
mod task;
mod text;
mod tool;
mod wire;

pub use error::{McpError, McpErrorKind};
pub use listing::RefusedTool;
pub use servers::{McpServers, McpServersBuilder};
pub use settings::{Approval, Limits, McpServer};
pub use status::{ServerInfo, ServerState, ServerStatus, ToolInfo};
