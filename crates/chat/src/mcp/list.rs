use std::io::{self, Write};

use ai_core::Effect;
use ai_mcp::{McpServers, ServerState, ServerStatus, ToolInfo};

use crate::text::{shorten, visible, visible_line};

/// The most characters of a description: about two lines.
const DESCRIPTION: usize = 160;

/// Lines of a server's error output that are shown of one that is not there.
const STDERR_LINES: usize = 10;

/// Writes how the servers stand and which tools they have.
///
/// # Errors
/// If it cannot be written.
pub(crate) fn list(servers: &McpServers, out: &mut impl Write) -> io::Result<()> {
    for (at, status) in servers.status().iter().enumerate() {
        if at > 0 {
            writeln!(out)?;
        }
        server(status, out)?;
    }
    out.flush()
}

fn server(status: &ServerStatus, out: &mut impl Write) -> io::Result<()> {
    let state = match status.state {
        ServerState::Ready => "ready",
        ServerState::Connecting => "connecting",
        ServerState::Closed => "closed",
        _ => "failed",
    };
    let info = status.info.as_ref().map(|info| format!(" ({} {})", info.name, info.version));
    writeln!(out, "{}: {state}{}", status.name, visible_line(&info.unwrap_or_default()))?;
    if let Some(error) = &status.error {
        writeln!(out, "  {}", visible_line(error))?;
    }
    if status.state != ServerState::Ready {
        let lines: Vec<&str> = status.stderr.lines().filter(|line| !line.trim().is_empty()).collect();
        for line in lines.iter().skip(lines.len().saturating_sub(STDERR_LINES)) {
            writeln!(out, "  | {}", visible(line))?;
        }
    }
    for tool in &status.tools {
        writeln!(out, "  {}  [{}]", visible_line(&tool.name), effect(tool))?;
        let description = tool.description.lines().next().unwrap_or_default();
        if !description.is_empty() {
            writeln!(out, "      {}", visible_line(&shorten(description, DESCRIPTION)))?;
        }
    }
    for refused in &status.refused {
        writeln!(out, "  not used: {}: {}", visible_line(&refused.name), visible_line(&refused.reason))?;
    }
    if status.more_refused > 0 {
        writeln!(out, "  not used: {} more", status.more_refused)?;
    }
    Ok(())
}

fn effect(tool: &ToolInfo) -> String {
    let effect = match tool.effect {
        Effect::ReadOnly => "read-only",
        Effect::Idempotent => "idempotent",
        _ => "side effect",
    };
    format!("{effect}, {}", if tool.asks { "asks" } else { "runs unasked" })
}
