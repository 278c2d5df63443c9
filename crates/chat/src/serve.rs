//! `chat serve`: the HTTP interface of docs/http-api.md.

mod access;
mod calls;
mod error;
mod history;
mod listen;
mod metrics;
mod openapi;
pub(crate) mod page;
mod post;
mod routes;
mod said;
mod source;
mod state;
mod status;
mod stream;
mod verbs;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use ai_mcp::McpServers;
use stream_manager::StreamManager;
use tokio::net::TcpListener;
use tokio::sync::broadcast;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use self::access::{Access, Streams};
use self::listen::Times;
use self::metrics::Metrics;
use self::source::Models;
use self::state::{App, Shared};
use crate::cli::{Options, Serve};
use crate::config::{Config, ServeConfig, StoreKind};
use crate::failure::{Failure, INTERRUPTED};
use crate::store::Store;
use crate::view::View;
use crate::{mcp, secrets};

/// How long what was stopped may take to be written down, and then the last responses to be sent.
const LAST: Duration = Duration::from_secs(10);

/// How often is looked for answers whose process died: a lease lasts for three of these.
const RECOVER: Duration = Duration::from_secs(5);

/// How many deleted chats a watcher may be behind before it misses some.
const DELETED: usize = 256;

/// Serves until a signal ends it. Gives the exit code.
///
/// # Errors
/// If what it is set up with cannot be used, or the address is taken.
pub(crate) async fn serve(
    options: &Options,
    serve: &Serve,
    config: &Config,
    view: &mut View,
) -> Result<u8, Failure> {
    let mut config = config.clone();
    config.serve.listen = serve.listen.unwrap_or(config.serve.listen);
    if serve.memory {
        config.store.kind = StoreKind::Memory;
    }
    let token = config.serve.token.as_ref().map(secrets::read).transpose()?;
    if token.as_ref().is_some_and(|token| token.trim().is_empty()) {
        return Err(Failure::usage("the token of [serve] is empty"));
    }
    if token.is_none() && !config.serve.listen.ip().is_loopback() {
        return Err(Failure::usage(format!(
            "others can reach {}, and there is no token",
            config.serve.listen
        ))
        .with_advice("Set serve.token in the configuration file, or listen on 127.0.0.1."));
    }
    let servers = mcp::connect(&config).await?;
    for missing in mcp::missing(&servers) {
        view.note(&missing).map_err(Failure::of_screen)?;
    }
    let result = run(options, &config, token, servers.clone(), view).await;
    let _ = timeout(Duration::from_secs(1), servers.close()).await;
    result
}

async fn run(
    options: &Options,
    config: &Config,
    token: Option<String>,
    servers: McpServers,
    view: &mut View,
) -> Result<u8, Failure> {
    let metrics = Arc::new(Metrics::default());
    let models =
        Models::of(&options.flags(), config, options.yes, servers, Arc::clone(&metrics), view).await?;
    let builder = Store::open(&config.store).await?.under(StreamManager::builder(models.clone()));
    let store_failed = |error: &dyn std::error::Error| Failure::new(format!("the conversations: {error}"));
    let manager = builder.build().await.map_err(|error| store_failed(&error))?;
    manager.recover().await.map_err(|error| store_failed(&error))?;
    let listener =
        TcpListener::bind(config.serve.listen).await.map_err(|error| taken(config.serve.listen, &error))?;
    let listens = listener.local_addr().map_err(|error| taken(config.serve.listen, &error))?;
    let app = app(manager, models, metrics, config.serve.clone(), token.as_deref(), listens);
    let fragment = token.map(|token| format!("#token={token}")).unwrap_or_default();
    view.print(&format!("http://{listens}/{fragment}")).map_err(Failure::of_screen)?;
    Ok(until_told(app, listener).await)
}

fn taken(address: SocketAddr, error: &io::Error) -> Failure {
    Failure::new(format!("the server cannot listen on {address}: {error}"))
        .with_advice("Choose another address with --listen; port 0 takes any that is free.")
}

fn app(
    manager: StreamManager,
    models: Models,
    metrics: Arc<Metrics>,
    config: ServeConfig,
    token: Option<&str>,
    listens: SocketAddr,
) -> Shared {
    let limit = |limit: std::num::NonZeroU32| usize::try_from(limit.get()).unwrap_or(usize::MAX);
    let streams = Streams::new(limit(config.limits.streams), limit(config.limits.streams_per_client));
    let (deleted, _) = broadcast::channel(DELETED);
    Arc::new(App {
        manager,
        models,
        access: Access::new(token, listens, &config.allowed_hosts, &config.allowed_origins),
        streams: Arc::new(streams),
        metrics,
        config,
        deleted,
        stopping: CancellationToken::new(),
        over: CancellationToken::new(),
    })
}

/// Serves until a signal; then no turn begins, those that run have time to end, and what remains is stopped and written.
/// A second signal ends at once.
async fn until_told(app: Shared, listener: TcpListener) -> u8 {
    let times = Times::new(app.config.limits.header_time.0);
    let served = listen::serve(listener, routes::router(Arc::clone(&app)), times, app.over.clone(), LAST);
    let in_order = async {
        signal().await;
        app.stopping.cancel();
        let _hold = app.manager.pause();
        app.manager.drain(app.config.drain.0).await;
        app.manager.shut_down(LAST).await;
        app.over.cancel();
    };
    let twice = async {
        app.stopping.cancelled().await;
        signal().await;
    };
    tokio::select! {
        _ = async { tokio::join!(served, in_order) } => 0,
        () = twice => INTERRUPTED,
        never = recover(&app) => never,
    }
}

/// Looks after what a process that died left open, once its lease has run out.
async fn recover(app: &App) -> ! {
    loop {
        tokio::time::sleep(RECOVER).await;
        if let (false, Err(error)) = (app.stopping.is_cancelled(), app.manager.recover().await) {
            tracing::warn!(%error, "what other processes left open is not known");
        }
    }
}

/// Waits until the process is told to end.
async fn signal() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let (interrupt, terminate) = (signal(SignalKind::interrupt()), signal(SignalKind::terminate()));
        if let (Ok(mut interrupt), Ok(mut terminate)) = (interrupt, terminate) {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
            return;
        }
    }
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending().await
    }
}
