//! MCP servers: what the configuration says of them, and `chat mcp`.

pub(crate) mod config;
mod list;

use std::collections::BTreeMap;
use std::time::Duration;

use ai_mcp::{McpServers, McpServersBuilder, ServerState, ServerStatus};
use tokio::time::timeout;

use self::config::McpConfig;
use crate::config::Config;
use crate::failure::{FAILED, Failure};
use crate::view::View;

/// Starts the servers of the configuration that are on, and waits until each is there or has failed.
///
/// # Errors
/// If what the file says of one cannot be used, all problems at once. A server that does not answer is none: the
/// others are used.
pub(crate) async fn connect(config: &Config) -> Result<McpServers, Failure> {
    let servers = builder(&config.mcp, &|name| std::env::var(name).ok())?;
    Ok(servers.connect().await)
}

fn builder(
    servers: &BTreeMap<String, McpConfig>,
    env: &dyn Fn(&str) -> Option<String>,
) -> Result<McpServersBuilder, Failure> {
    let (mut builder, mut problems) = (McpServers::builder(), Vec::new());
    for (name, config) in servers.iter().filter(|(_, config)| config.enabled) {
        match config.server(name, env) {
            Ok(server) => {
                let added = builder.with(name, server);
                builder = added.map_err(|error| Failure::usage(error.to_string()))?;
            }
            Err(more) => problems.extend(more),
        }
    }
    match problems.as_slice() {
        [] => Ok(builder),
        some => Err(Failure::usage(some.join("\n"))),
    }
}

/// `chat mcp list`. Gives the exit code.
///
/// # Errors
/// If what the file says of a server cannot be used, or the list cannot be written.
pub(crate) async fn show(config: &Config, view: &mut View) -> Result<u8, Failure> {
    let servers = connect(config).await?;
    if servers.is_empty() {
        view.note("There are no MCP servers in the configuration file; see chat mcp list --help.")
            .map_err(Failure::of_screen)?;
    }
    list::list(&servers, &mut std::io::stdout().lock()).map_err(Failure::of_screen)?;
    let code = if missing(&servers).is_empty() { 0 } else { FAILED };
    let _ = timeout(Duration::from_secs(1), servers.close()).await;
    Ok(code)
}

/// What is to be said of servers that are not there.
pub(crate) fn missing(servers: &McpServers) -> Vec<String> {
    let missing = servers.status().into_iter().filter(|status| status.state != ServerState::Ready);
    let line = |status: ServerStatus| {
        let why = status.error.unwrap_or_else(|| "it is not connected".to_owned());
        format!("the MCP server {} is not there: {why}; `chat mcp list` shows more", status.name)
    };
    missing.map(line).collect()
}
