use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ai_core::{LoopEvent, LoopStream, RunOptions, ToolEvent, ToolLoop, ToolSet};
use ai_mcp::{Approval, McpServer, McpServers, ServerState};
use ai_provider::{LanguageModel, Message, ToolContent, ToolOutput};
use ai_testkit::{Script, ScriptedModel};
use futures_util::StreamExt;
use serde_json::Value;

/// The folder the servers are installed in, if they are.
fn installed() -> Option<PathBuf> {
    std::env::var_os("MCP_SERVERS").map(PathBuf::from)
}

/// What starts a server: node, and the server's own file.
pub(crate) struct Program {
    pub(crate) node: String,
    pub(crate) script: String,
}

pub(crate) fn program(server: &str) -> Option<Program> {
    let modules = installed()?.join("node_modules");
    let text = |path: PathBuf| path.to_str().unwrap().to_owned();
    let script = modules.join(Path::new("@modelcontextprotocol")).join(server).join("dist/index.js");
    assert!(script.exists(), "{} is not installed", script.display());
    Some(Program { node: text(modules.join(".bin/node")), script: text(script) })
}

/// A server over stdio, whose tools run unasked.
pub(crate) fn stdio(server: &str, args: &[&str]) -> Option<McpServer> {
    let Program { node, script } = program(server)?;
    let args = [script.as_str()].into_iter().chain(args.iter().copied());
    Some(McpServer::stdio(node).args(args).with_approval(Approval::Never))
}

/// Connected, as `srv`.
pub(crate) async fn connect(server: McpServer) -> McpServers {
    let servers = McpServers::builder().with("srv", server).unwrap().connect().await;
    let status = servers.status();
    assert_eq!(status[0].state, ServerState::Ready, "{status:?}");
    assert!(status[0].refused.is_empty(), "{status:?}");
    servers
}

pub(crate) async fn ready(servers: &McpServers) {
    while servers.status()[0].state != ServerState::Ready {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// The server's own names of its tools.
pub(crate) fn tools(servers: &McpServers) -> Vec<String> {
    servers.status()[0].tools.iter().map(|tool| tool.remote_name.clone()).collect()
}

/// A run of an agent whose model calls this tool.
pub(crate) fn calling(servers: &McpServers, tool: &str, input: &Value, options: RunOptions) -> LoopStream {
    let name = servers.status()[0].tools.iter().find(|known| known.remote_name == tool).unwrap().name.clone();
    let model = ScriptedModel::new()
        .reply(Script::tool_reply("call", &name, &input.to_string()))
        .reply(Script::text_reply("done"));
    let agent =
        ToolLoop::new(Arc::new(model) as Arc<dyn LanguageModel>).with_tools(servers.add_to(ToolSet::new()));
    agent.start([Message::user("go")], options).1
}

/// What came of a call.
#[derive(Debug)]
pub(crate) struct Called {
    pub(crate) status: String,
    pub(crate) output: ToolOutput,
    pub(crate) progress: Vec<ToolOutput>,
}

impl Called {
    /// All text of the output; files as their type.
    pub(crate) fn text(&self) -> String {
        match &self.output {
            ToolOutput::Text(text) | ToolOutput::ErrorText(text) => text.clone(),
            ToolOutput::Json(value) => value.to_string(),
            ToolOutput::Content(items) => {
                let text = |item: &ToolContent| match item {
                    ToolContent::Text(part) => part.text.clone(),
                    ToolContent::File(file) => format!("<{}>", file.media_type),
                    other => panic!("{other:?}"),
                };
                items.iter().map(text).collect::<Vec<_>>().join("\n")
            }
            other => panic!("{other:?}"),
        }
    }
}

pub(crate) async fn call(servers: &McpServers, tool: &str, input: Value) -> Called {
    let mut events = calling(servers, tool, &input, RunOptions::default());
    let (mut progress, mut called) = (Vec::new(), None);
    while let Some(event) = events.next().await {
        match event {
            LoopEvent::Tool(ToolEvent::Preliminary(result)) => progress.push(result.output),
            LoopEvent::Tool(ToolEvent::Finished(record)) => called = Some(record),
            _ => {}
        }
    }
    let record = called.expect("the tool was called");
    Called { status: record.status.as_str().to_owned(), output: record.result.output.clone(), progress }
}
