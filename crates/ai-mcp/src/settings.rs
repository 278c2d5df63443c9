//! What is said about one server.

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use secrecy::{ExposeSecret, SecretString};
use tokio::io::{AsyncRead, AsyncWrite};

use crate::error::{McpError, McpErrorKind};

/// Which calls of a server's tools a person is asked about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Approval {
    /// All but those of tools that change nothing.
    #[default]
    Effects,
    /// All.
    Always,
    /// None.
    Never,
}

/// Bounds on what a server can make this side hold. All can be set by [`McpServer::with_limits`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// The most tools taken from a server; those behind are left out and reported. Default 128: no more fit into a
    /// request of OpenAI's API, and a model is lost among them long before.
    pub tools: usize,
    /// The most bytes of the JSON Schema of one tool; a tool with a larger one is refused. Default 64 KiB: it goes into
    /// every request.
    pub schema_bytes: usize,
    /// The most bytes of one message of the server. Default 16 MiB: room for images as base64. What is larger ends the
    /// connection, since the answer in it would never be read.
    pub message_bytes: usize,
    /// The most bytes of text in one result; what is behind is cut off, and the cut is told. Default 256 KiB: about as
    /// much as fits into a model's window beside a conversation.
    pub text_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { tools: 128, schema_bytes: 64 << 10, message_bytes: 16 << 20, text_bytes: 256 << 10 }
    }
}

impl Limits {
    /// Sets [`tools`](Self::tools).
    #[must_use]
    pub fn with_tools(mut self, tools: usize) -> Self {
        self.tools = tools;
        self
    }

    /// Sets [`schema_bytes`](Self::schema_bytes).
    #[must_use]
    pub fn with_schema_bytes(mut self, bytes: usize) -> Self {
        self.schema_bytes = bytes;
        self
    }

    /// Sets [`message_bytes`](Self::message_bytes).
    #[must_use]
    pub fn with_message_bytes(mut self, bytes: usize) -> Self {
        self.message_bytes = bytes;
        self
    }

    /// Sets [`text_bytes`](Self::text_bytes).
    #[must_use]
    pub fn with_text_bytes(mut self, bytes: usize) -> Self {
        self.text_bytes = bytes;
        self
    }
}

/// A server: how it is reached, and what of it is used.
///
/// ```
/// use ai_mcp::{Approval, McpServer};
/// let files = McpServer::stdio("npx")
///     .args(["-y", "@modelcontextprotocol/server-filesystem", "/home/me/notes"])
///     .with_tools(["read_text_file", "list_directory"])
///     .with_approval(Approval::Never);
/// let search = McpServer::http("https://mcp.example.com/mcp").header("authorization", "Bearer …");
/// # let _ = (files, search);
/// ```
#[derive(Clone, Debug)]
pub struct McpServer {
    pub(crate) endpoint: Endpoint,
    pub(crate) approval: Approval,
    pub(crate) trust_hints: bool,
    pub(crate) read_only: Vec<String>,
    pub(crate) enabled: Option<Vec<String>>,
    pub(crate) connect_timeout: Duration,
    pub(crate) call_timeout: Option<Duration>,
    pub(crate) limits: Limits,
}

/// Where a server is.
#[derive(Clone)]
pub(crate) enum Endpoint {
    Stdio(Stdio),
    Http(HttpEndpoint),
    Streams(Arc<dyn Fn() -> BoxFuture<'static, io::Result<Streams>> + Send + Sync>),
}

/// A program that speaks on its standard input and output.
#[derive(Clone)]
pub(crate) struct Stdio {
    pub(crate) command: String,
    pub(crate) args: Vec<String>,
    pub(crate) env: BTreeMap<String, SecretString>,
    pub(crate) cwd: Option<PathBuf>,
}

#[derive(Clone)]
pub(crate) struct HttpEndpoint {
    pub(crate) url: String,
    pub(crate) headers: Vec<(String, SecretString)>,
}

/// What is shorter stands in every other text by chance.
const SHORTEST_SECRET: usize = 6;

pub(crate) type Streams = (Box<dyn AsyncRead + Send + Unpin>, Box<dyn AsyncWrite + Send + Unpin>);

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // Arguments may hold a key as well.
            Self::Stdio(stdio) => f
                .debug_struct("Stdio")
                .field("command", &stdio.command)
                .field("args", &stdio.args.len())
                .field("env", &stdio.env.keys().collect::<Vec<_>>())
                .field("cwd", &stdio.cwd)
                .finish(),
            Self::Http(http) => f
                .debug_struct("Http")
                .field("url", &shown_url(&http.url))
                .field("headers", &http.headers.iter().map(|(name, _)| name).collect::<Vec<_>>())
                .finish(),
            Self::Streams(_) => f.write_str("Streams"),
        }
    }
}

impl McpServer {
    fn new(endpoint: Endpoint) -> Self {
        Self {
            endpoint,
            approval: Approval::default(),
            trust_hints: false,
            read_only: Vec::new(),
            enabled: None,
            connect_timeout: Duration::from_secs(30),
            call_timeout: Some(Duration::from_secs(120)),
            limits: Limits::default(),
        }
    }

    /// A program that is started and spoken to on its standard input and output.
    ///
    /// It is the leader of a process group of its own, so that Ctrl-C in a terminal does not reach it, and the whole
    /// group ends with the connection. Of this process's environment it gets `PATH`, `HOME`, `LANG` and `TMPDIR` (on
    /// Windows what programs need there to start) and nothing else: keys that this process holds are not its
    /// business. What it writes to standard error is kept, the last 8 KiB of it, in
    /// [`ServerStatus::stderr`](crate::ServerStatus::stderr).
    pub fn stdio(command: impl Into<String>) -> Self {
        let (args, env) = (Vec::new(), BTreeMap::new());
        Self::new(Endpoint::Stdio(Stdio { command: command.into(), args, env, cwd: None }))
    }

    /// A server at a URL that speaks streamable HTTP.
    ///
    /// Redirects are followed within the same origin only, so that headers go nowhere else.
    pub fn http(url: impl Into<String>) -> Self {
        Self::new(Endpoint::Http(HttpEndpoint { url: url.into(), headers: Vec::new() }))
    }

    /// A server behind a pair of byte streams, as over stdio: one JSON message per line. `open` is called for the
    /// first connection and for each one after it was lost.
    ///
    /// ```
    /// use ai_mcp::McpServer;
    /// let server = McpServer::streams(|| async {
    ///     let stream = tokio::net::TcpStream::connect("127.0.0.1:4000").await?;
    ///     Ok(stream.into_split())
    /// });
    /// # let _ = server;
    /// ```
    pub fn streams<F, Fut, R, W>(open: F) -> Self
    where
        F: Fn() -> Fut + Send + Sync + 'static,
        Fut: Future<Output = io::Result<(R, W)>> + Send + 'static,
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        Self::new(Endpoint::Streams(Arc::new(move || {
            let streams = open().map(|opened| opened.map(|(r, w)| (Box::new(r) as _, Box::new(w) as _)));
            streams.boxed()
        })))
    }

    /// Sets the arguments of the program; nothing for other servers. Other users of the machine can read them: keys
    /// go into [`env`](Self::env).
    #[must_use]
    pub fn args<A: Into<String>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        if let Endpoint::Stdio(stdio) = &mut self.endpoint {
            stdio.args = args.into_iter().map(Into::into).collect();
        }
        self
    }

    /// Adds a variable to the environment of the program; nothing for other servers.
    #[must_use]
    pub fn env(mut self, name: impl Into<String>, value: impl Into<SecretString>) -> Self {
        if let Endpoint::Stdio(stdio) = &mut self.endpoint {
            stdio.env.insert(name.into(), value.into());
        }
        self
    }

    /// Sets the folder the program starts in; nothing for other servers.
    #[must_use]
    pub fn cwd(mut self, folder: impl Into<PathBuf>) -> Self {
        if let Endpoint::Stdio(stdio) = &mut self.endpoint {
            stdio.cwd = Some(folder.into());
        }
        self
    }

    /// Adds a header to each request; nothing for servers that are not at a URL.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<SecretString>) -> Self {
        if let Endpoint::Http(http) = &mut self.endpoint {
            http.headers.push((name.into(), value.into()));
        }
        self
    }

    /// Sets which calls a person is asked about.
    #[must_use]
    pub fn with_approval(mut self, approval: Approval) -> Self {
        self.approval = approval;
        self
    }

    /// Sets whether what the server says of its tools' effects is believed (`readOnlyHint`, `idempotentHint`).
    /// Default: no. A server that lies could otherwise have its tools run unasked, and again after a failure.
    #[must_use]
    pub fn with_trusted_hints(mut self, trusted: bool) -> Self {
        self.trust_hints = trusted;
        self
    }

    /// Names tools that change nothing, whatever the server says: by the server's own names.
    #[must_use]
    pub fn with_read_only<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.read_only = names.into_iter().map(Into::into).collect();
        self
    }

    /// Sets which tools are used, by the server's own names. Default: all.
    #[must_use]
    pub fn with_tools<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.enabled = Some(names.into_iter().map(Into::into).collect());
        self
    }

    /// Sets how long connecting may take, from the start of the program to the list of tools. Default 30 s: a package
    /// may have to be fetched first.
    #[must_use]
    pub fn with_connect_timeout(mut self, limit: Duration) -> Self {
        self.connect_timeout = limit;
        self
    }

    /// Sets how long a call may take; with none, the limit of the loop holds. Default 120 s. The server is told that
    /// the call is off.
    #[must_use]
    pub fn with_call_timeout(mut self, limit: impl Into<Option<Duration>>) -> Self {
        self.call_timeout = limit.into();
        self
    }

    /// Sets the bounds.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// A text of the server, or about it, without the secrets that were given for it: a server may say them again.
    pub(crate) fn masked(&self, text: String) -> String {
        let secrets: Vec<&str> = match &self.endpoint {
            Endpoint::Stdio(stdio) => stdio.env.values().map(ExposeSecret::expose_secret).collect(),
            Endpoint::Http(http) => http.secrets().collect(),
            Endpoint::Streams(_) => Vec::new(),
        };
        let long = secrets.into_iter().filter(|secret| secret.len() >= SHORTEST_SECRET);
        long.fold(text, |text, secret| if text.contains(secret) { text.replace(secret, "***") } else { text })
    }

    /// What of it can be known to be wrong before anything is started.
    pub(crate) fn check(&self, name: &str) -> Result<(), McpError> {
        let problem = match &self.endpoint {
            Endpoint::Stdio(stdio) => stdio.problem(),
            Endpoint::Http(http) => http.problem(),
            Endpoint::Streams(_) => None,
        };
        problem.map_or(Ok(()), |problem| Err(McpError::new(McpErrorKind::Settings, name, problem)))
    }
}

impl Stdio {
    fn problem(&self) -> Option<String> {
        if self.command.trim().is_empty() {
            return Some("the command is empty".to_owned());
        }
        let words = std::iter::once(&self.command).chain(&self.args).map(String::as_str);
        let values = self.env.values().map(ExposeSecret::expose_secret);
        if words.chain(values).any(|text| text.contains('\0')) {
            return Some("the command, its arguments or its environment hold a zero byte".to_owned());
        }
        let wrong = |name: &&String| name.is_empty() || name.contains(['=', '\0']);
        self.env.keys().find(wrong).map(|name| format!("`{}` is no name of a variable", name.escape_debug()))
    }
}

impl HttpEndpoint {
    fn problem(&self) -> Option<String> {
        let Ok(url) = self.url.parse::<http::Uri>() else { return Some("the URL cannot be read".to_owned()) };
        if !matches!(url.scheme_str(), Some("http" | "https")) {
            return Some("the URL begins with neither http:// nor https://".to_owned());
        }
        match url.authority() {
            None => return Some("the URL names no host".to_owned()),
            Some(authority) if authority.as_str().contains('@') => {
                return Some("the URL holds a user or password: use a header instead".to_owned());
            }
            Some(_) => {}
        }
        self.parsed_headers().err()
    }

    /// Values of headers, with and without the word before them, and the query of the URL.
    fn secrets(&self) -> impl Iterator<Item = &str> {
        let query = self.url.split_once('?').map(|(_, query)| query);
        let values = self.headers.iter().map(|(_, value)| value.expose_secret());
        let bare = values.clone().filter_map(|value| value.split_whitespace().next_back());
        values.chain(bare).chain(query)
    }

    pub(crate) fn parsed_headers(&self) -> Result<Vec<(http::HeaderName, http::HeaderValue)>, String> {
        let parse = |(name, value): &(String, SecretString)| {
            let name: http::HeaderName =
                name.parse().map_err(|_| format!("`{}` is no name of a header", name.escape_debug()))?;
            let mut parsed = http::HeaderValue::from_str(value.expose_secret())
                .map_err(|_| format!("the value of the header `{name}` holds what a header cannot"))?;
            parsed.set_sensitive(true);
            Ok((name, parsed))
        };
        self.headers.iter().map(parse).collect()
    }
}

/// A URL without what may be a key in it.
pub(crate) fn shown_url(url: &str) -> &str {
    url.split(['?', '#']).next().unwrap_or_default()
}
