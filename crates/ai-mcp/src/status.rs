use ai_core::Effect;

use crate::listing::RefusedTool;
use crate::shared::Shared;

/// Where a server stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ServerState {
    /// It is being started or reached for the first time.
    Connecting,
    /// Its tools can be called.
    Ready,
    /// It was lost, or could not be reached, and will be tried again.
    Restarting,
    /// It failed too often in a row. A call of one of its tools has it tried again, not more often than every 30 s.
    GivenUp,
    /// The application closed it.
    Closed,
}

/// What a server calls itself.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerInfo {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
}

/// A tool of a server, as it is used.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolInfo {
    /// What the model calls it.
    pub name: String,
    /// What the server calls it.
    pub remote_name: String,
    /// What the server says it does.
    pub description: String,
    /// What running it is taken to do to the world.
    pub effect: Effect,
    /// Whether a person is asked before each call.
    pub asks: bool,
}

/// A server and its tools, for people.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ServerStatus {
    /// The name the application gave it.
    pub name: String,
    /// Where it stands.
    pub state: ServerState,
    /// What it calls itself, once it was connected.
    pub info: Option<ServerInfo>,
    /// Its tools, those of the last connection while there is none.
    pub tools: Vec<ToolInfo>,
    /// Tools that are not used, and why: up to 100 of them.
    pub refused: Vec<RefusedTool>,
    /// How many more are not used.
    pub more_refused: usize,
    /// Why the last connection ended, or none came about.
    pub error: Option<String>,
    /// What it wrote to standard error last. It may hold what nobody else should read: show it to the person who runs
    /// the server, not to a model.
    pub stderr: String,
}

impl ServerStatus {
    pub(crate) fn of(shared: &Shared) -> Self {
        let now = shared.snapshot.borrow().clone();
        let tools = now.listing.tools.iter().map(|tool| ToolInfo {
            name: tool.name.clone(),
            remote_name: tool.remote.clone(),
            description: tool.description.clone(),
            effect: tool.effect,
            asks: tool.asks,
        });
        Self {
            name: shared.name.clone(),
            state: now.state,
            info: now.info,
            tools: tools.collect(),
            refused: now.listing.refused.clone(),
            more_refused: now.listing.more_refused,
            error: now.error,
            stderr: shared.stderr(),
        }
    }
}
