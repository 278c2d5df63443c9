use std::error::Error as StdError;
use std::fmt;

/// What an [`McpError`] is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum McpErrorKind {
    /// A setting of a server makes no sense.
    Settings,
    /// The server cannot be started or reached, or did not get through the handshake.
    Connect,
    /// There is no connection at the moment: the call was not sent.
    Unavailable,
    /// The connection ended while the call was running: whether it took effect is unknown.
    Lost,
    /// The server refused the call.
    Refused,
    /// The tool ran and failed.
    Tool,
    /// The server answered with something that the protocol does not allow, or this client cannot do.
    Protocol,
}

/// What went wrong with an MCP server, in words for people and models. The words of a server are bounded, and its
/// error output is not among them.
#[derive(Clone, Debug)]
pub struct McpError {
    kind: McpErrorKind,
    server: String,
    message: String,
}

impl McpError {
    pub(crate) fn new(kind: McpErrorKind, server: impl Into<String>, message: impl Into<String>) -> Self {
        Self { kind, server: server.into(), message: message.into() }
    }

    /// What it is about.
    pub fn kind(&self) -> McpErrorKind {
        self.kind
    }

    /// The name of the server, as the application gave it.
    pub fn server(&self) -> &str {
        &self.server
    }

    /// What happened, without the name of the server.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Whether the call was certainly not carried out, so that it may be made again.
    pub fn is_unsent(&self) -> bool {
        self.kind == McpErrorKind::Unavailable
    }
}

impl fmt::Display for McpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            // The model asked a tool, not a server: its words come as they are.
            McpErrorKind::Tool => f.write_str(&self.message),
            _ => write!(f, "MCP server `{}`: {}", self.server, self.message),
        }
    }
}

impl StdError for McpError {}
