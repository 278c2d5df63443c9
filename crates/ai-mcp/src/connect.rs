//! One connection to a server, from its start to the list of its tools.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;
use rmcp::model::{
    ClientCapabilities, ClientConfig, ClientRequest, Implementation, ListToolsRequest,
    PaginatedRequestParams, ProtocolVersion, ServerResult, SubscriptionFilter,
};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, Peer, RoleClient, RunningService, ServiceError, Subscription,
    serve_client_with_lifecycle,
};
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::transport::{StreamableHttpClientTransport, Transport};
use serde_json::Value;
use tokio::io::AsyncReadExt;
use tokio::process::ChildStderr;
use tokio::time::timeout;
use tokio_util::task::AbortOnDropHandle;

use crate::listing::{Collector, Listing};
use crate::settings::{Endpoint, HttpEndpoint, McpServer};
use crate::task;
use crate::text::line;
use crate::wire::child::{self, Program};
use crate::wire::line::LineGuard;
use crate::wire::tap::{Tap, Told, Wire};

/// Pages of a list of tools that are followed. A server may name a next page for ever.
const MOST_PAGES: usize = 100;

/// Bytes of a server's error output that are kept: the last words of a program that died.
const STDERR_KEPT: usize = 8 << 10;

/// How long the end of a connection may take, above what a child process is given to end by itself.
const CLOSE_LIMIT: Duration = Duration::from_secs(8);

/// How long the last words of a program that has ended may take to come.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// How long a server may take to confirm that it will tell of changes.
const LISTEN_LIMIT: Duration = Duration::from_secs(5);

/// Bytes of a server's error that are shown.
const ERROR_SHOWN: usize = 2_000;

/// What a server wrote to its standard error last.
pub(crate) type Stderr = Arc<Mutex<Vec<u8>>>;

/// A connection that got through its handshake.
#[derive(Debug)]
pub(crate) struct Connection {
    running: RunningService<RoleClient, ClientConfig>,
    pub(crate) wire: Arc<Wire>,
    program: Option<Arc<Program>>,
    stderr: Option<AbortOnDropHandle<()>>,
    /// Held for as long as the server shall tell of changes.
    _changes: Option<Subscription>,
}

/// Why there is no connection.
#[derive(Debug)]
enum Failure {
    /// There is nothing to talk to.
    Start(String),
    /// It was talked to in vain.
    Handshake(String),
}

/// Connects. Servers of the current protocol are discovered; others are initialised, on a connection of their own if
/// they take the question for a reason to end theirs.
pub(crate) async fn connect(settings: &McpServer, stderr: &Stderr) -> Result<Connection, String> {
    let discover = ClientLifecycleMode::Auto {
        preferred_versions: vec![ProtocolVersion::V_2026_07_28],
        legacy_version: None,
    };
    match open(settings, discover, stderr).await {
        Ok(connection) => Ok(connection),
        Err(Failure::Start(error)) => Err(error),
        Err(Failure::Handshake(_)) => match open(settings, ClientLifecycleMode::Initialize, stderr).await {
            Ok(connection) => Ok(connection),
            Err(Failure::Start(error) | Failure::Handshake(error)) => Err(error),
        },
    }
}

async fn open(
    settings: &McpServer,
    mode: ClientLifecycleMode,
    stderr: &Stderr,
) -> Result<Connection, Failure> {
    let (wire, most) = (Wire::new(), settings.limits.message_bytes);
    match &settings.endpoint {
        Endpoint::Stdio(stdio) => {
            let spawned = child::spawn(stdio, most, &wire).map_err(|error| {
                Failure::Start(format!("`{}` cannot be started: {error}", line(&stdio.command, 200)))
            })?;
            stderr.lock().unwrap_or_else(PoisonError::into_inner).clear();
            let drain = task::spawn(drain(spawned.stderr, Arc::clone(stderr)));
            match serve(spawned.transport, wire, mode).await {
                Ok(connection) => {
                    Ok(Connection { program: Some(spawned.program), stderr: Some(drain), ..connection })
                }
                Err(failure) => {
                    let status = spawned.program.ended(LAST_WORDS).await;
                    let _ = timeout(LAST_WORDS, drain).await;
                    Err(status.map_or(failure, |status| {
                        Failure::Handshake(format!("it ended ({status}) before it was ready"))
                    }))
                }
            }
        }
        Endpoint::Http(http) => serve(http_transport(http, most)?, wire, mode).await,
        Endpoint::Streams(open) => {
            let streams = open().await;
            let (read, write) =
                streams.map_err(|error| Failure::Start(format!("it cannot be reached: {error}")))?;
            let guarded = LineGuard::new(read, most, Arc::clone(&wire));
            let lines = AsyncRwTransport::new_client(guarded, write).with_max_line_length(usize::MAX);
            serve(lines, wire, mode).await
        }
    }
}

fn http_transport(
    http: &HttpEndpoint,
    most: usize,
) -> Result<impl Transport<RoleClient, Error: Told> + use<>, Failure> {
    let headers: HashMap<_, _> = http.parsed_headers().map_err(Failure::Start)?.into_iter().collect();
    let config = StreamableHttpClientTransportConfig::with_uri(&*http.url)
        .custom_headers(headers)
        .max_sse_event_size(most)
        .max_json_response_size(most);
    Ok(StreamableHttpClientTransport::from_config(config))
}

async fn serve<T: Transport<RoleClient, Error: Told> + 'static>(
    transport: T,
    wire: Arc<Wire>,
    mode: ClientLifecycleMode,
) -> Result<Connection, Failure> {
    let who = Implementation::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"));
    let client = ClientConfig::new(ClientCapabilities::default(), who);
    let tap = Tap::new(transport, Arc::clone(&wire));
    // Boxed, here and below: the compiler cannot see that these futures may be sent.
    let running = serve_client_with_lifecycle(client, tap, mode).boxed().await.map_err(|error| {
        let fault = wire.fault().map(|fault| fault.to_string());
        Failure::Handshake(fault.unwrap_or_else(|| line(&of_start(&error), ERROR_SHOWN)))
    })?;
    let changes = listen(running.peer()).await;
    Ok(Connection { running, wire, program: None, stderr: None, _changes: changes })
}

/// In the current protocol a server tells of changes only to those who asked.
async fn listen(peer: &Peer<RoleClient>) -> Option<Subscription> {
    let info = peer.peer_info()?;
    let tells = info.capabilities.tools.as_ref().and_then(|tools| tools.list_changed) == Some(true);
    if info.protocol_version.has_initialize() || !tells {
        return None;
    }
    let filter = SubscriptionFilter::builder().tools_list_changed().build();
    match timeout(LISTEN_LIMIT, peer.listen(filter).boxed()).await {
        Ok(Ok(subscription)) => Some(subscription),
        Ok(Err(error)) => {
            tracing::debug!(%error, "a server does not tell of changes of its tools");
            None
        }
        Err(_) => None,
    }
}

async fn drain(mut stderr: ChildStderr, kept: Stderr) {
    let mut buffer = [0; 1024];
    while let Ok(read @ 1..) = stderr.read(&mut buffer).await {
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend_from_slice(buffer.get(..read).unwrap_or_default());
        let behind = kept.len().saturating_sub(STDERR_KEPT);
        kept.drain(..behind);
    }
}

impl Connection {
    pub(crate) fn peer(&self) -> &Peer<RoleClient> {
        self.running.peer()
    }

    /// Lists the tools that are used.
    pub(crate) async fn list(&self, server: &str, settings: &McpServer) -> Result<Listing, String> {
        let mut collector = Collector::new(settings);
        if self.peer().peer_info().is_some_and(|info| info.capabilities.tools.is_none()) {
            return Ok(collector.finish(server));
        }
        let mut cursor = None;
        for _ in 0..MOST_PAGES {
            let params =
                cursor.take().map(|cursor| PaginatedRequestParams::default().with_cursor(Some(cursor)));
            let request =
                ListToolsRequest { method: Default::default(), params, extensions: Default::default() };
            let answer = self.peer().send_request(ClientRequest::ListToolsRequest(request)).boxed().await;
            let answer = answer.map_err(|error| {
                format!("its tools cannot be listed: {}", line(&of_service(&error), ERROR_SHOWN))
            })?;
            let (tools, next) = page(answer).ok_or("its list of tools is not what the protocol says")?;
            for tool in tools {
                if let ControlFlow::Break(()) = collector.offer(tool) {
                    return Ok(collector.finish(server));
                }
            }
            match next {
                Some(next) => cursor = Some(next),
                None => break,
            }
        }
        Ok(collector.finish(server))
    }

    /// Ends it, and says why it ended if not by this.
    pub(crate) async fn close(mut self) -> String {
        let _ = self.running.close_with_timeout(CLOSE_LIMIT).await;
        if let Some(drain) = self.stderr.take() {
            let _ = timeout(LAST_WORDS, drain).await;
        }
        let exit = match &self.program {
            Some(program) => program.ended(LAST_WORDS).await,
            None => None,
        };
        match (self.wire.fault(), exit) {
            (Some(fault), _) => fault.to_string(),
            (None, Some(status)) => format!("it ended ({status})"),
            (None, None) => "it closed the connection".to_owned(),
        }
    }
}

/// What went wrong, without the names of types around it.
fn of_start(error: &ClientInitializeError) -> String {
    match error {
        ClientInitializeError::TransportError { error, .. } => error.error.to_string(),
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => of_start(fallback),
        other => other.to_string(),
    }
}

/// As [`of_start`], of a request.
pub(crate) fn of_service(error: &ServiceError) -> String {
    match error {
        ServiceError::TransportSend(error) => error.error.to_string(),
        other => other.to_string(),
    }
}

/// One tool that is not described as it should be does not cost the others.
fn page(answer: ServerResult) -> Option<(Vec<Value>, Option<String>)> {
    match answer {
        ServerResult::ListToolsResult(page) => {
            let tools = page.tools.into_iter().filter_map(|tool| serde_json::to_value(tool).ok());
            Some((tools.collect(), page.next_cursor))
        }
        ServerResult::CustomResult(raw) => {
            let mut raw = raw.0;
            let next = raw.get("nextCursor").and_then(Value::as_str).map(str::to_owned);
            let Some(Value::Array(tools)) = raw.get_mut("tools").map(Value::take) else { return None };
            Some((tools, next))
        }
        _ => None,
    }
}
