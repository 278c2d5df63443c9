//! Keeps one server connected.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::backoff::{Backoff, REST};
use crate::connect::{Connection, connect};
use crate::shared::Shared;
use crate::status::ServerState;
use crate::wire::tap::Fault;

/// Between two lists of a server's tools: it may tell of changes without end.
const LIST_PAUSE: Duration = Duration::from_millis(100);

/// How long a server that is in doubt has to answer.
const PROBE_LIMIT: Duration = Duration::from_secs(5);

/// How a connection ended.
enum End {
    /// The application wants no more of it.
    Stopped,
    /// By itself. It had held so long, if it came about at all.
    Failed { held: Option<Duration>, error: String },
}

/// Connects, and connects again whenever the connection is lost, until told to stop.
pub(crate) async fn supervise(shared: Arc<Shared>, stop: CancellationToken) {
    let mut backoff = Backoff::default();
    while let End::Failed { held, error } = attempt(&shared, &stop).await {
        let error = shared.settings.masked(error);
        tracing::debug!(server = %shared.name, %error, "a server is lost");
        let wait = backoff.failed(held);
        let state = if wait.is_some() { ServerState::Restarting } else { ServerState::GivenUp };
        shared.lost(state, Some(error));
        tokio::select! {
            () = stop.cancelled() => break,
            () = pause(&shared, wait) => {}
        }
    }
    shared.lost(ServerState::Closed, None);
}

/// Waits for the next start: so long, or until the server is wanted.
async fn pause(shared: &Shared, wait: Option<Duration>) {
    match wait {
        Some(wait) => sleep(wait).await,
        None => {
            sleep(REST).await;
            shared.wanted.notified().await;
        }
    }
}

async fn attempt(shared: &Arc<Shared>, stop: &CancellationToken) -> End {
    let limit = shared.settings.connect_timeout;
    let connecting = tokio::select! {
        () = stop.cancelled() => return End::Stopped,
        connecting = timeout(limit, establish(shared)) => connecting,
    };
    let connection = match connecting {
        Ok(Ok(connection)) => connection,
        Ok(Err(error)) => return End::Failed { held: None, error },
        Err(_) => {
            let error = format!("it was not ready within {} s", limit.as_secs_f64());
            return End::Failed { held: None, error };
        }
    };
    let since = Instant::now();
    tokio::select! {
        () = stop.cancelled() => {
            shared.lost(ServerState::Closed, None);
            connection.close().await;
            return End::Stopped;
        }
        () = connection.wire.closed.cancelled() => {}
        () = follow(shared, &connection) => {}
        () = fall_silent(shared, &connection) => connection.wire.fail(Fault::Silent),
    }
    // Calls are told at once; what the server says about its end may take a while.
    let held = since.elapsed();
    shared.lost(ServerState::Restarting, Some("the connection was lost".to_owned()));
    End::Failed { held: Some(held), error: connection.close().await }
}

async fn establish(shared: &Arc<Shared>) -> Result<Connection, String> {
    let connection = connect(&shared.settings, &shared.stderr).await?;
    let heard = connection.wire.changes_heard();
    let listing = connection.list(&shared.name, &shared.settings).await?;
    shared.connected(&connection, listing, heard);
    Ok(connection)
}

/// Asks a server that is in doubt for its tools. Returns when it does not answer.
async fn fall_silent(shared: &Arc<Shared>, connection: &Connection) {
    loop {
        connection.wire.doubt.notified().await;
        let listing = connection.list(&shared.name, &shared.settings);
        if !matches!(timeout(PROBE_LIMIT, listing).await, Ok(Ok(_))) {
            return;
        }
    }
}

/// Lists the tools anew whenever the server says that they are others. Returns when it no longer says anything.
async fn follow(shared: &Arc<Shared>, connection: &Connection) {
    let mut changes = connection.wire.changes();
    let mut listed_at = shared.snapshot.borrow().listed_at;
    loop {
        let heard = match changes.wait_for(|heard| *heard > listed_at).await {
            Ok(heard) => *heard,
            Err(_) => return,
        };
        let listing = connection.list(&shared.name, &shared.settings);
        match timeout(shared.settings.connect_timeout, listing).await {
            Ok(Ok(listing)) => shared.listed(listing, heard),
            // The old tools stay: one that is gone is refused by the server when it is called.
            failed => {
                tracing::debug!(server = %shared.name, error = ?failed.map(|listed| listed.err()), "changed tools cannot be listed");
                shared.still_listed(heard);
            }
        }
        listed_at = heard;
        sleep(LIST_PAUSE).await;
    }
}
