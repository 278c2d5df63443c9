use std::net::TcpListener;
use std::time::{Duration, Instant};

use ai_core::RunOptions;
use ai_mcp::{Approval, McpServer};
use futures_util::StreamExt;
use serde_json::json;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use crate::everything::call_all;
use crate::support::{Program, call, calling, connect, program, ready};

/// Starts the server on a port and waits until it listens.
async fn listen(program: &Program, port: u16) -> Child {
    let mut command = Command::new(&program.node);
    command.args([&program.script, "streamableHttp"]).env("PORT", port.to_string());
    command.stdin(std::process::Stdio::null()).stdout(std::process::Stdio::null());
    let mut child = command.stderr(std::process::Stdio::piped()).kill_on_drop(true).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    while let Some(line) = lines.next_line().await.unwrap() {
        if line.contains("listening on port") {
            // The rest of what it says must go somewhere.
            tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
            return child;
        }
    }
    panic!("the server ended");
}

/// A port that was free just now.
fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// [MC-63]
#[tokio::test]
async fn every_tool_can_be_called_over_http_and_a_server_that_was_away_is_found_again() {
    let Some(program) = program("server-everything") else { return };
    let port = free_port();
    let mut child = listen(&program, port).await;
    let server = McpServer::http(format!("http://127.0.0.1:{port}/mcp"));
    let servers = connect(server.with_approval(Approval::Never)).await;
    let came = call_all(&servers).await;
    assert_eq!(came["trigger-long-running-operation"].progress.len(), 4);

    // A call that is dropped does not hold up the next one.
    let input = json!({"duration": 600, "steps": 3_000});
    let mut events = calling(&servers, "trigger-long-running-operation", &input, RunOptions::default());
    for _ in 0..5 {
        events.next().await.unwrap();
    }
    drop(events);
    assert_eq!(call(&servers, "echo", json!({"message": "next"})).await.text(), "Echo: next");

    child.kill().await.unwrap();
    let start = Instant::now();
    let failed = call(&servers, "echo", json!({"message": "anyone?"})).await;
    assert_eq!(failed.status, "failed");
    assert!(failed.text().starts_with("MCP server `srv`: "), "{}", failed.text());
    assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
    let _again = listen(&program, port).await;
    ready(&servers).await;
    let back = loop {
        let called = call(&servers, "echo", json!({"message": "back"})).await;
        if called.status == "ok" {
            break called;
        }
        assert!(start.elapsed() < Duration::from_secs(60), "{called:?}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    };
    assert_eq!(back.text(), "Echo: back");
    servers.close().await;
}
