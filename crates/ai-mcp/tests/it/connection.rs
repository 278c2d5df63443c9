use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use ai_core::ToolSet;
use ai_mcp::{McpServers, ServerState, ServerStatus};
use ai_provider::ToolOutput;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::fake::{Answer, Fake, call};

fn one(servers: &McpServers) -> ServerStatus {
    servers.status().into_iter().next().unwrap()
}

/// [MC-41]
#[tokio::test(start_paused = true)]
async fn a_server_that_hangs_or_fails_holds_up_no_other() {
    let hangs = Fake::new(&["x"]).on("initialize", |_, _| Answer::Silence);
    let stalls = Fake::new(&["x"]).on("tools/list", |_, _| Answer::Silence);
    let refuses = Fake::new(&["x"]).on("initialize", |_, _| Answer::Error(-32000, "no \u{1b}licence"));
    let gone = Fake::new(&["x"]);
    gone.down.store(true, Ordering::SeqCst);
    let good = Fake::new(&["x"]).says("here");
    let start = Instant::now();
    let servers = McpServers::builder()
        .with("hangs", hangs.server().with_connect_timeout(Duration::from_secs(20)))
        .unwrap()
        .with("stalls", stalls.server().with_connect_timeout(Duration::from_secs(5)))
        .unwrap()
        .with("refuses", refuses.server())
        .unwrap()
        .with("gone", gone.server())
        .unwrap()
        .with("good", good.server())
        .unwrap()
        .connect()
        .await;
    assert_eq!(start.elapsed().as_secs(), 20);
    let status: Vec<_> =
        servers.status().into_iter().map(|one| (one.name, one.error.unwrap_or_default())).collect();
    assert_eq!(status[0], ("gone".into(), "it cannot be reached: connection refused".into()));
    assert_eq!(status[1], ("good".into(), String::new()));
    assert_eq!(status[2], ("hangs".into(), "it was not ready within 20 s".into()));
    assert!(status[3].1.ends_with("no licence"), "{}", status[3].1);
    assert_eq!(status[4], ("stalls".into(), "it was not ready within 5 s".into()));
    assert_eq!(call(&servers, "good__x", json!({})).await.output, ToolOutput::Text("here".into()));
}

/// [MC-46]
#[tokio::test(start_paused = true)]
async fn a_server_that_ends_at_a_question_it_does_not_know_is_asked_the_old_way() {
    let fake = Fake::new(&["a"]).on("server/discover", |_, _| Answer::Close).says("old");
    let servers = fake.connect().await;
    assert_eq!(call(&servers, "srv__a", json!({})).await.output, ToolOutput::Text("old".into()));
    assert_eq!(fake.connections.load(Ordering::SeqCst), 2);
    // One that does not answer it is initialised on the same connection.
    let fake = Fake::new(&["a"]).on("server/discover", |_, _| Answer::Silence);
    assert_eq!(one(&fake.connect().await).state, ServerState::Ready);
    assert_eq!(fake.connections.load(Ordering::SeqCst), 1);
}

/// [MC-46]
#[tokio::test(start_paused = true)]
async fn a_server_of_the_current_protocol_is_discovered() {
    let fake = Fake::new(&["a"]).on("initialize", |_, _| Answer::Close).says("new").on("server/discover", |_, _| {
        Answer::Result(json!({
            "resultType": "complete", "supportedVersions": ["2026-07-28"], "ttlMs": 0, "cacheScope": "private",
            "capabilities": {"tools": {"listChanged": true}}, "_meta": {},
        }))
    });
    let fake = fake.on("subscriptions/listen", |talk, request| {
        talk.notify(
            "notifications/subscriptions/acknowledged",
            json!({
                "notifications": {"toolsListChanged": true},
                "_meta": {"io.modelcontextprotocol/subscriptionId": request["id"]},
            }),
        );
        Answer::Silence
    });
    let servers = fake.connect().await;
    assert_eq!(one(&servers).state, ServerState::Ready, "{:?}", one(&servers));
    assert_eq!(call(&servers, "srv__a", json!({})).await.output, ToolOutput::Text("new".into()));
    fake.nth("subscriptions/listen", 1).await;
    fake.offer(&["a", "b"]);
    fake.talk().notify("notifications/tools/list_changed", json!({}));
    fake.nth("tools/list", 2).await;
}

/// [MC-33]
#[tokio::test(start_paused = true)]
async fn a_call_whose_server_dies_is_told_at_once_that_nobody_knows() {
    let fake = Fake::new(&["a"]).on("tools/call", |_, _| Answer::Close);
    let servers = fake.connect().await;
    let start = Instant::now();
    let called = call(&servers, "srv__a", json!({})).await;
    assert_eq!(
        called.error(),
        "MCP server `srv`: the connection was lost while the call was running. Whether it took effect is unknown: do \
         not repeat it blindly"
    );
    assert!(start.elapsed() < Duration::from_millis(100), "{:?}", start.elapsed());
}

/// [MC-34] [MC-40]
#[tokio::test(start_paused = true)]
async fn a_lost_server_is_started_again_and_its_tools_say_so_meanwhile() {
    let fake = Fake::new(&["a"]).says("back");
    let servers = fake.connect().await;
    fake.talk().close();
    sleep(Duration::from_millis(1)).await;
    assert_eq!(one(&servers).state, ServerState::Restarting);
    let called = call(&servers, "srv__a", json!({})).await;
    assert_eq!(
        called.error(),
        "MCP server `srv`: it is down (it closed the connection) and is being started again; the call was not made, \
         try again in a moment"
    );
    sleep(Duration::from_millis(500)).await;
    assert_eq!(call(&servers, "srv__a", json!({})).await.output, ToolOutput::Text("back".into()));
    assert_eq!((fake.connections.load(Ordering::SeqCst), fake.all("tools/call").len()), (2, 1));
    assert_eq!(one(&servers).error, None);
}

/// [MC-40] [MC-34]
#[tokio::test(start_paused = true)]
async fn a_server_that_stays_away_is_given_up_until_it_is_called() {
    let fake = Fake::new(&["a"]).says("back");
    let servers = fake.connect().await;
    fake.down.store(true, Ordering::SeqCst);
    fake.talk().close();
    sleep(Duration::from_secs(15)).await;
    assert_eq!(one(&servers).state, ServerState::Restarting);
    sleep(Duration::from_secs(1)).await;
    let status = one(&servers);
    assert_eq!((status.state, status.tools.len()), (ServerState::GivenUp, 1));
    fake.down.store(false, Ordering::SeqCst);
    sleep(Duration::from_secs(600)).await;
    assert_eq!(fake.connections.load(Ordering::SeqCst), 1, "nobody called");
    let called = call(&servers, "srv__a", json!({})).await;
    assert_eq!(
        called.error(),
        "MCP server `srv`: it is down (it cannot be reached: connection refused), and starting it again has failed; \
         the call was not made"
    );
    sleep(Duration::from_millis(1)).await;
    assert_eq!(call(&servers, "srv__a", json!({})).await.output, ToolOutput::Text("back".into()));
}

/// [MC-35]
#[tokio::test(start_paused = true)]
async fn tools_say_so_when_their_servers_are_dropped_or_closed() {
    let fake = Fake::new(&["a"]).says("x");
    let servers = fake.connect().await;
    servers.close().await;
    assert_eq!(one(&servers).state, ServerState::Closed);
    assert_eq!(
        call(&servers, "srv__a", json!({})).await.error(),
        "MCP server `srv`: it was shut down by the application"
    );

    let fake = Fake::new(&["a"]).says("x");
    let servers = fake.connect().await;
    let tools = servers.add_to(ToolSet::new());
    let talk = fake.talk();
    drop(servers);
    let agent = crate::fake::agent(&crate::fake::calling(&[("srv__a", json!({}))]), tools);
    let (_, end) = crate::fake::run(&agent, Arc::new(ai_core::NoControl)).await;
    let gone = ToolOutput::ErrorText("MCP server `srv`: it was shut down by the application".to_owned());
    assert_eq!(end.steps[0].tools[0].result.output, gone);
    // The connection ends as well: what the server says finds nobody.
    while !talk.is_gone() {
        sleep(Duration::from_millis(10)).await;
    }
}

/// [MC-47]
#[tokio::test(start_paused = true)]
async fn lines_that_are_no_messages_are_passed_over() {
    let fake = Fake::new(&["a"]).on("tools/call", |talk, call| {
        talk.raw(b"Server listening\n\n{\"half\": \n\xff\xfe\n[1,2]\n".to_vec());
        let answer = json!({"jsonrpc": "2.0", "id": call["id"], "result": {"content": [{"type": "text", "text": "ok"}]}});
        talk.raw(format!("{answer}\r\n").into_bytes());
        Answer::Silence
    });
    let fake = fake.on("initialize", |talk, call| {
        talk.raw(b"Welcome!\n".to_vec());
        talk.answer(call, &json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "x", "version": "1"}}));
        Answer::Silence
    });
    assert_eq!(call(&fake.connect().await, "srv__a", json!({})).await.output, ToolOutput::Text("ok".into()));
}

/// [MC-47]
#[tokio::test(start_paused = true)]
async fn messages_may_come_in_any_pieces() {
    let fake = Fake::new(&["a"]).on("tools/call", |talk, call| {
        let answer = json!({"jsonrpc": "2.0", "id": call["id"], "result": {"content": [{"type": "text", "text": "äß€"}]}});
        for byte in format!("{answer}\n").into_bytes() {
            talk.raw(vec![byte]);
        }
        Answer::Silence
    });
    assert_eq!(call(&fake.connect().await, "srv__a", json!({})).await.output, ToolOutput::Text("äß€".into()));
}

/// [MC-4]
#[tokio::test(start_paused = true)]
async fn one_tool_that_is_not_described_as_it_should_be_does_not_cost_the_others() {
    let fake = Fake::new(&[]);
    let good = json!({"name": "good", "inputSchema": {"type": "object"}});
    fake.offer_raw(vec![json!({"name": "bad"}), good, Value::Null]);
    let status = one(&fake.connect().await);
    assert_eq!(status.tools.iter().map(|tool| &*tool.name).collect::<Vec<_>>(), ["srv__good"]);
    assert_eq!(status.refused.len(), 2);
    assert_eq!(
        status.info.map(|info| (info.name, info.version)),
        Some(("fake".to_owned(), "1.2".to_owned()))
    );
}
