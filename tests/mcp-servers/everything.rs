use std::collections::BTreeMap;
use std::process::Command;
use std::time::{Duration, Instant};

use ai_core::run::Outcome;
use ai_core::{LoopEvent, RunOptions, ToolEvent};
use ai_mcp::{Approval, McpServer, McpServers};
use ai_provider::{CancellationToken, ToolOutput};
use futures_util::StreamExt;
use serde_json::{Value, json};

use crate::support::{Called, call, calling, connect, program, ready, stdio, tools};

const SERVER: &str = "server-everything";

const AS_TASK: &str = "simulate-research-query";

/// What each tool is called with, and what its result must say.
fn calls() -> BTreeMap<&'static str, (Value, &'static str)> {
    let gzip = json!({"name": "a.gz", "data": "data:text/plain,hello", "outputType": "resource"});
    BTreeMap::from([
        ("echo", (json!({"message": "Grüße"}), "Echo: Grüße")),
        ("get-annotated-message", (json!({"messageType": "error", "includeImage": true}), "<image/png>")),
        ("get-env", (json!({}), "\"PATH\"")),
        ("get-resource-links", (json!({"count": 2}), "[link to resource demo://")),
        ("get-resource-reference", (json!({"resourceType": "Text", "resourceId": 1}), "[resource demo://")),
        ("get-structured-content", (json!({"location": "New York"}), "\"temperature\":")),
        ("get-sum", (json!({"a": 2, "b": 40}), "42")),
        ("get-tiny-image", (json!({}), "<image/png>")),
        ("gzip-file-as-resource", (gzip, "(application/gzip): ")),
        // It runs as a task only, which this client does not do; the server says so.
        (AS_TASK, (json!({"topic": "tea"}), "requires task augmentation")),
        ("toggle-simulated-logging", (json!({}), "simulated")),
        ("toggle-subscriber-updates", (json!({}), "simulated")),
        (
            "trigger-long-running-operation",
            (json!({"duration": 1, "steps": 4}), "Long running operation completed"),
        ),
    ])
}

/// Calls every tool the server lists.
pub(crate) async fn call_all(servers: &McpServers) -> BTreeMap<String, Called> {
    let (mut calls, mut came) = (calls(), BTreeMap::new());
    for tool in tools(servers) {
        let (input, says) =
            calls.remove(&*tool).unwrap_or_else(|| panic!("the server has a new tool: {tool}"));
        let called = call(servers, &tool, input).await;
        let status = if tool == AS_TASK { "failed" } else { "ok" };
        assert_eq!(called.status, status, "{tool}: {called:?}");
        assert!(called.text().contains(says), "{tool}: {}", called.text());
        came.insert(tool, called);
    }
    assert!(calls.is_empty(), "the server no longer has {:?}", calls.keys());
    came
}

/// [MC-60]
#[tokio::test]
async fn every_tool_of_server_everything_can_be_called() {
    let Some(server) = stdio(SERVER, &[]) else { return };
    let servers = connect(server.env("ASKED_FOR", "yes")).await;
    let came = call_all(&servers).await;
    let ToolOutput::Json(weather) = &came["get-structured-content"].output else {
        panic!("{:?}", came["get-structured-content"])
    };
    assert!(weather["temperature"].is_number(), "{weather}");
    let env: BTreeMap<String, String> = serde_json::from_str(&came["get-env"].text()).unwrap();
    let known = ["ASKED_FOR", "PATH", "HOME", "LANG", "TMPDIR"];
    assert!(env.keys().all(|name| known.contains(&name.as_str())), "{:?}", env.keys());
    assert_eq!(env["ASKED_FOR"], "yes");
    let progress = &came["trigger-long-running-operation"].progress;
    let steps = (1..=4).map(|step| ToolOutput::Json(json!({"progress": f64::from(step), "total": 4.0})));
    assert_eq!(*progress, steps.collect::<Vec<_>>());
    servers.close().await;
}

/// [MC-61]
#[tokio::test]
async fn a_long_running_tool_is_called_off_and_the_server_goes_on() {
    let Some(server) = stdio(SERVER, &[]) else { return };
    let servers = connect(server).await;
    let (cancel, start) = (CancellationToken::new(), Instant::now());
    let input = json!({"duration": 600, "steps": 3_000});
    let options = RunOptions::default().with_cancel(cancel.clone());
    let mut events = calling(&servers, "trigger-long-running-operation", &input, options);
    let mut end = None;
    while let Some(event) = events.next().await {
        match event {
            LoopEvent::Tool(ToolEvent::Preliminary(_)) => cancel.cancel(),
            LoopEvent::End(ended) => end = Some(ended),
            _ => {}
        }
    }
    let outcome = end.unwrap().outcome;
    assert!(matches!(outcome, Outcome::Cancelled { .. }), "{outcome:?}");
    assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
    assert_eq!(call(&servers, "echo", json!({"message": "still here"})).await.text(), "Echo: still here");
    servers.close().await;
}

/// [MC-62]
#[cfg(unix)]
#[tokio::test]
async fn a_server_that_is_killed_comes_back() {
    let Some(program) = program(SERVER) else { return };
    let folder = tempfile::TempDir::new().unwrap();
    let number = folder.path().join("number");
    let script = r#"echo $$ > "$0"; exec "$@""#;
    let args = ["-c", script, number.to_str().unwrap(), &program.node, &program.script];
    let servers = connect(McpServer::stdio("/bin/sh").args(args).with_approval(Approval::Never)).await;
    let input = json!({"duration": 600, "steps": 3_000});
    let mut events = calling(&servers, "trigger-long-running-operation", &input, RunOptions::default());
    let mut last = None;
    while let Some(event) = events.next().await {
        match event {
            LoopEvent::Tool(ToolEvent::Preliminary(_)) if last.is_none() => {
                let process = std::fs::read_to_string(&number).unwrap();
                assert!(Command::new("kill").args(["-9", process.trim()]).status().unwrap().success());
                last = Some(String::new());
            }
            LoopEvent::Tool(ToolEvent::Finished(record)) => {
                last = Some(format!("{:?}", record.result.output))
            }
            _ => {}
        }
    }
    let last = last.unwrap();
    assert!(last.contains("the connection was lost while the call was running"), "{last}");
    ready(&servers).await;
    assert_eq!(call(&servers, "echo", json!({"message": "back"})).await.text(), "Echo: back");
    servers.close().await;
}
