use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use ai_core::{LoopControl, Tool, ToolSet};
use futures_util::future::join_all;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::error::{McpError, McpErrorKind};
use crate::follow::Follow;
use crate::name::{LONGEST_SERVER, is_server_name};
use crate::settings::McpServer;
use crate::shared::Shared;
use crate::status::{ServerState, ServerStatus};
use crate::supervisor::supervise;
use crate::task;

/// How long a step waits for a list of tools that is on its way: the server has just said that it changed.
const LIST_WAIT: Duration = Duration::from_secs(2);

/// Servers that shall be connected.
#[derive(Clone, Debug, Default)]
pub struct McpServersBuilder {
    servers: BTreeMap<String, McpServer>,
}

impl McpServersBuilder {
    /// Adds a server under a name that stands before the names of its tools: `name__tool`.
    ///
    /// # Errors
    /// If there is a server of this name; if the name is not 1 to 30 letters, digits, `-` and single `_` that begin
    /// with a letter and do not end with `_`; if the settings make no sense.
    pub fn with(mut self, name: impl Into<String>, server: McpServer) -> Result<Self, McpError> {
        let name = name.into();
        if !is_server_name(&name) {
            let message = format!(
                "this is no name for a server: it takes 1 to {LONGEST_SERVER} letters, digits, `-` and single `_`, \
                 begins with a letter and does not end with `_`"
            );
            return Err(McpError::new(McpErrorKind::Settings, crate::text::line(&name, 100), message));
        }
        server.check(&name)?;
        if self.servers.contains_key(&name) {
            return Err(McpError::new(McpErrorKind::Settings, name, "there are two servers of this name"));
        }
        self.servers.insert(name, server);
        Ok(self)
    }

    /// Starts to connect to all of them, on the runtime it is called on, which must have its time and I/O drivers.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub fn start(self) -> McpServers {
        let servers = self.servers.into_iter().map(|(name, settings)| {
            let (shared, stop, done) =
                (Shared::new(name, settings), CancellationToken::new(), CancellationToken::new());
            let (server, told, ended) = (Arc::clone(&shared), stop.clone(), done.clone().drop_guard());
            let task = task::spawn(async move {
                supervise(server, told).await;
                drop(ended);
            });
            Server { shared, stop, done, _task: task }
        });
        McpServers(Arc::new(servers.collect()))
    }

    /// Starts all of them and [waits](McpServers::ready) until each is there or has failed once.
    pub async fn connect(self) -> McpServers {
        let servers = self.start();
        servers.ready().await;
        servers
    }
}

/// MCP servers in use: connected, kept so, and listened to. Cheap to clone.
///
/// When the last clone is dropped all ends: connections, child processes, tasks. Tools that were taken before then say
/// that their server is gone.
///
/// ```no_run
/// use ai_core::{RunOptions, ToolLoop, ToolSet};
/// use ai_mcp::{McpServer, McpServers};
/// use ai_provider::Message;
///
/// # async fn f(agent: ToolLoop) -> Result<(), ai_mcp::McpError> {
/// let servers = McpServers::builder()
///     .with("files", McpServer::stdio("npx").args(["-y", "@modelcontextprotocol/server-filesystem", "/srv/docs"]))?
///     .connect()
///     .await;
/// let agent = agent.with_tools(servers.add_to(ToolSet::new()));
/// // The control makes each step see tools that came or went meanwhile.
/// let options = RunOptions::default().with_control(servers.follow(ToolSet::new()));
/// let (handle, events) = agent.start([Message::user("Which files are there?")], options);
/// # let _ = (handle, events); Ok(()) }
/// ```
#[derive(Clone, Default)]
pub struct McpServers(Arc<Vec<Server>>);

struct Server {
    shared: Arc<Shared>,
    stop: CancellationToken,
    done: CancellationToken,
    _task: AbortOnDropHandle<()>,
}

impl Drop for Server {
    /// The task ends by itself; tools are told from now on.
    fn drop(&mut self) {
        self.shared.lost(ServerState::Closed, None);
    }
}

/// Which tools there were, compared by identity: see [`Shared::listed`].
pub(crate) type Generation = Vec<Arc<[Arc<dyn Tool>]>>;

impl McpServers {
    /// No servers yet.
    pub fn builder() -> McpServersBuilder {
        McpServersBuilder::default()
    }

    /// Waits until each server is connected or has failed once, which takes no longer than the longest
    /// [connect timeout](McpServer::with_connect_timeout). One that has failed holds up nobody: it is tried again
    /// while the others are used.
    pub async fn ready(&self) {
        let one = |server: &Server| {
            let mut snapshot = server.shared.snapshot.subscribe();
            async move {
                let _ = snapshot.wait_for(|now| now.state != ServerState::Connecting).await;
            }
        };
        join_all(self.0.iter().map(one)).await;
    }

    /// Whether there are none at all, connected or not.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How the servers stand, by name.
    pub fn status(&self) -> Vec<ServerStatus> {
        self.0.iter().map(|server| ServerStatus::of(&server.shared)).collect()
    }

    /// The tools of all servers as they are now, in the order of the servers' names.
    pub fn tools(&self) -> Vec<Arc<dyn Tool>> {
        self.generation().iter().flat_map(|tools| tools.iter().cloned()).collect()
    }

    /// These tools with those of the servers behind them. They are never
    /// [trusted](ToolSet::trusted): none of them can end a run. A tool of a server whose name is taken already is left
    /// out, so that no server can stand in for a tool of the application.
    pub fn add_to(&self, tools: ToolSet) -> ToolSet {
        self.tools().into_iter().fold(tools, |tools, tool| match tools.clone().with_shared(tool) {
            Ok(more) => more,
            Err(error) => {
                tracing::warn!(%error, "a tool of an MCP server is left out");
                tools
            }
        })
    }

    /// What makes a run see, from its next step on, tools that came or went while it runs: for
    /// [`RunOptions::with_control`](ai_core::RunOptions::with_control). `tools` are the other tools of the agent. Steps
    /// are left alone while nothing changes.
    pub fn follow(&self, tools: ToolSet) -> Arc<dyn LoopControl> {
        Arc::new(Follow::new(self.clone(), tools))
    }

    pub(crate) fn generation(&self) -> Generation {
        self.0.iter().map(|server| Arc::clone(&server.shared.snapshot.borrow().tools)).collect()
    }

    /// Waits for lists of tools that are on their way.
    pub(crate) async fn settled(&self) {
        let one = |server: &Server| {
            let mut snapshot = server.shared.snapshot.subscribe();
            async move {
                let _ = snapshot
                    .wait_for(|now| match &now.link {
                        Some(link) => now.listed_at >= link.wire.changes_heard(),
                        None => true,
                    })
                    .await;
            }
        };
        let _ = timeout(LIST_WAIT, join_all(self.0.iter().map(one))).await;
    }

    /// Ends all connections the way the protocol has it and waits for it: a few seconds at most. Child processes are
    /// gone then.
    pub async fn close(&self) {
        for server in self.0.iter() {
            server.stop.cancel();
        }
        join_all(self.0.iter().map(|server| server.done.cancelled())).await;
    }
}

impl fmt::Debug for McpServers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let states = self.0.iter().map(|server| (&server.shared.name, server.shared.snapshot.borrow().state));
        f.debug_map().entries(states).finish()
    }
}
