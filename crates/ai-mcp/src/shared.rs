//! What a server's tools, its supervisor and its owner know in common.

use std::sync::{Arc, Mutex, PoisonError};

use ai_core::Tool;
use rmcp::model::ServerPeerInfo;
use rmcp::service::{Peer, RoleClient};
use tokio::sync::{Notify, watch};

use crate::connect::{Connection, Stderr};
use crate::error::{McpError, McpErrorKind};
use crate::listing::Listing;
use crate::settings::McpServer;
use crate::status::{ServerInfo, ServerState};
use crate::tool::McpTool;
use crate::wire::tap::Wire;

/// What a call is told when the application is done with the server.
pub(crate) const SHUT_DOWN: &str = "it was shut down by the application";

#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) name: String,
    pub(crate) settings: McpServer,
    pub(crate) snapshot: watch::Sender<Snapshot>,
    /// Somebody calls a tool of a server that was given up.
    pub(crate) wanted: Notify,
    pub(crate) stderr: Stderr,
}

/// How things stand.
#[derive(Clone, Debug)]
pub(crate) struct Snapshot {
    pub(crate) state: ServerState,
    pub(crate) link: Option<Link>,
    pub(crate) info: Option<ServerInfo>,
    pub(crate) listing: Arc<Listing>,
    /// Made of the listing; the same while that is equal.
    pub(crate) tools: Arc<[Arc<dyn Tool>]>,
    /// How many changes the server had told of when it was listed.
    pub(crate) listed_at: u64,
    /// Why the last connection ended or none came.
    pub(crate) error: Option<String>,
}

/// What a call needs of a connection.
#[derive(Clone, Debug)]
pub(crate) struct Link {
    pub(crate) peer: Peer<RoleClient>,
    pub(crate) wire: Arc<Wire>,
}

impl Shared {
    pub(crate) fn new(name: String, settings: McpServer) -> Arc<Self> {
        let snapshot = Snapshot {
            state: ServerState::Connecting,
            link: None,
            info: None,
            listing: Arc::default(),
            tools: Arc::new([]),
            listed_at: 0,
            error: None,
        };
        let (snapshot, _) = watch::channel(snapshot);
        Arc::new(Self { name, settings, snapshot, wanted: Notify::new(), stderr: Arc::new(Mutex::default()) })
    }

    /// There is a connection.
    pub(crate) fn connected(self: &Arc<Self>, connection: &Connection, listing: Listing, listed_at: u64) {
        let link = Link { peer: connection.peer().clone(), wire: Arc::clone(&connection.wire) };
        let info = connection.peer().peer_info().and_then(|info| server_info(&info));
        self.snapshot.send_modify(|now| {
            now.state = ServerState::Ready;
            now.link = Some(link);
            now.info = info;
            now.error = None;
        });
        self.listed(listing, listed_at);
    }

    /// The tools are listed anew. Equal ones stay the same: what the model sees is then sent as before.
    pub(crate) fn listed(self: &Arc<Self>, listing: Listing, listed_at: u64) {
        self.snapshot.send_modify(|now| {
            now.listed_at = listed_at;
            if *now.listing != listing {
                let tools = listing
                    .tools
                    .iter()
                    .map(|tool| Arc::new(McpTool::new(tool.clone(), self)) as Arc<dyn Tool>);
                now.tools = tools.collect();
                now.listing = Arc::new(listing);
            }
        });
    }

    /// The tools could not be listed anew: nobody need wait for them.
    pub(crate) fn still_listed(&self, listed_at: u64) {
        self.snapshot.send_modify(|now| now.listed_at = listed_at);
    }

    /// There is no connection any more, or again none.
    pub(crate) fn lost(&self, state: ServerState, error: Option<String>) {
        self.snapshot.send_modify(|now| {
            now.state = state;
            now.link = None;
            now.error = error.or(now.error.take());
        });
    }

    /// The connection, or why a call cannot be made.
    pub(crate) fn link(&self) -> Result<Link, McpError> {
        let now = self.snapshot.borrow();
        if let Some(link) = &now.link {
            return Ok(link.clone());
        }
        let why = now.error.as_deref().map(|error| format!(" ({error})")).unwrap_or_default();
        let message = match now.state {
            ServerState::Connecting | ServerState::Ready => {
                "it is not connected yet; try again in a moment".to_owned()
            }
            ServerState::Restarting => {
                format!(
                    "it is down{why} and is being started again; the call was not made, try again in a moment"
                )
            }
            ServerState::GivenUp => {
                self.wanted.notify_one();
                format!("it is down{why}, and starting it again has failed; the call was not made")
            }
            ServerState::Closed => SHUT_DOWN.to_owned(),
        };
        Err(McpError::new(McpErrorKind::Unavailable, &*self.name, message))
    }

    pub(crate) fn stderr(&self) -> String {
        let kept = self.stderr.lock().unwrap_or_else(PoisonError::into_inner);
        let text = crate::text::visible(&String::from_utf8_lossy(&kept), kept.len().saturating_mul(3));
        self.settings.masked(text)
    }
}

fn server_info(info: &ServerPeerInfo) -> Option<ServerInfo> {
    let info = info.server_info.as_ref()?;
    let short = |text: &str| crate::text::line(text, 100);
    Some(ServerInfo { name: short(&info.name), version: short(&info.version) })
}
