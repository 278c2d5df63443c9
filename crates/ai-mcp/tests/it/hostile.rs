use std::sync::atomic::Ordering;
use std::time::Duration;

use ai_mcp::{Limits, McpServers, ServerState};
use ai_provider::ToolOutput;
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::fake::{Answer, Fake, call};

/// [MC-44]
#[tokio::test(start_paused = true)]
async fn a_message_that_is_too_large_ends_the_connection_and_its_call_is_told() {
    let fake = Fake::new(&["a"]).on("tools/call", |talk, call| {
        let size = call["params"]["arguments"]["size"].as_u64().unwrap() as usize;
        let result = json!({"content": [{"type": "text", "text": "x".repeat(size)}]});
        match call["params"]["arguments"]["ends"] {
            // A line without an end is bounded as well.
            Value::Bool(false) => talk.raw(vec![b'x'; size]),
            _ => talk.answer(call, &result),
        }
        Answer::Silence
    });
    let limits = Limits::default().with_message_bytes(4_000);
    let servers =
        McpServers::builder().with("srv", fake.server().with_limits(limits)).unwrap().connect().await;
    assert_eq!(call(&servers, "srv__a", json!({"size": 3_000})).await.status, "ok");
    for (connections, input) in [(2, json!({"size": 5_000})), (3, json!({"size": 5_000, "ends": false}))] {
        let called = call(&servers, "srv__a", input).await;
        let says = "running: it sent a message of more than 4000 bytes. Whether it took effect is unknown";
        assert!(called.error().contains(says), "{}", called.error());
        sleep(Duration::from_millis(1)).await;
        assert_eq!(servers.status()[0].error.as_deref(), Some("it sent a message of more than 4000 bytes"));
        sleep(Duration::from_secs(5)).await;
        assert_eq!(fake.connections.load(Ordering::SeqCst), connections);
    }
    assert_eq!(call(&servers, "srv__a", json!({"size": 10})).await.status, "ok");
}

/// [MC-45]
#[tokio::test(start_paused = true)]
async fn a_server_that_asks_without_end_is_cut_off() {
    let fake = Fake::new(&["a"]).on("tools/call", |talk, _| {
        // In one piece, so that no answer comes in between.
        let pings = (0..65)
            .map(|id| format!("{}\n", json!({"jsonrpc": "2.0", "id": format!("p{id}"), "method": "ping"})));
        talk.raw(pings.collect::<String>().into_bytes());
        Answer::Silence
    });
    let servers = fake.connect().await;
    let called = call(&servers, "srv__a", json!({})).await;
    assert!(called.error().contains("it has more than 64 requests open at once"), "{}", called.error());
}

/// [MC-45]
#[tokio::test(start_paused = true)]
async fn ids_and_messages_that_are_kept_are_short() {
    let fake = Fake::new(&["a"]).on("tools/call", |talk, call| {
        talk.progress(call, json!({"progress": 1, "message": "x".repeat(1 << 20)}));
        talk.notify("notifications/progress", json!({"progressToken": "y".repeat(1 << 20), "progress": 2}));
        talk.say(&json!({"jsonrpc": "2.0", "id": "z".repeat(2_000), "method": "ping"}));
        Answer::Silence
    });
    let called = call(&fake.connect().await, "srv__a", json!({})).await;
    let message = "x".repeat(1_000) + "…";
    assert_eq!(called.preliminary, [ToolOutput::Json(json!({"progress": 1.0, "message": message}))]);
    assert!(called.error().contains("whose id is longer than 1000 bytes"), "{}", called.error());
}

/// [MC-45]
#[tokio::test(start_paused = true)]
async fn questions_that_are_taken_back_are_not_open() {
    let fake = Fake::new(&["a"]).on("tools/call", |talk, call| {
        let asked = (0..100).map(|at| {
            let ping = json!({"jsonrpc": "2.0", "id": format!("p{at}"), "method": "ping"});
            let off = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": format!("p{at}")}});
            format!("{ping}\n{off}\n")
        });
        talk.raw(asked.collect::<String>().into_bytes());
        talk.answer(call, &json!({"content": [{"type": "text", "text": "done"}]}));
        Answer::Silence
    });
    let called = call(&fake.connect().await, "srv__a", json!({})).await;
    assert_eq!(called.output, ToolOutput::Text("done".into()));
}

/// [MC-45]
#[tokio::test(start_paused = true)]
async fn a_servers_questions_are_answered() {
    let fake = Fake::new(&["a"]).on("tools/call", |talk, call| {
        let (talk, call) = (talk.clone(), call.clone());
        tokio::spawn(async move {
            for id in 0..200 {
                let method = ["ping", "roots/list", "sampling/createMessage", "elicitation/create"][id % 4];
                talk.say(&json!({"jsonrpc": "2.0", "id": format!("q{id}"), "method": method, "params": {}}));
                sleep(Duration::from_millis(1)).await;
            }
            talk.answer(&call, &json!({"content": [{"type": "text", "text": "done"}]}));
        });
        Answer::Silence
    });
    let servers = fake.connect().await;
    let called = call(&servers, "srv__a", json!({})).await;
    assert_eq!(
        (called.output, servers.status()[0].state),
        (ToolOutput::Text("done".into()), ServerState::Ready)
    );
}

/// [MC-45]
#[tokio::test(start_paused = true)]
async fn notifications_without_end_cost_nothing() {
    let fake = Fake::new(&["a"]).on("tools/call", |talk, call| {
        for at in 0..5_000 {
            talk.notify("notifications/message", json!({"level": "info", "data": "x".repeat(100)}));
            talk.notify("notifications/resources/updated", json!({"uri": "x://y"}));
            talk.progress(call, json!({"progress": at}));
            talk.notify("notifications/made/up", json!({}));
        }
        Answer::Result(json!({"content": [{"type": "text", "text": "done"}]}))
    });
    let called = call(&fake.connect().await, "srv__a", json!({})).await;
    assert_eq!(called.output, ToolOutput::Text("done".into()));
    let last = called.preliminary.last().cloned();
    assert_eq!(last, Some(ToolOutput::Json(json!({"progress": 4999.0}))));
}

/// [MC-7]
#[tokio::test(start_paused = true)]
async fn pages_without_end_are_bounded() {
    let fake = Fake::new(&[]).on("tools/list", |_, request| {
        let cursor =
            request["params"]["cursor"].as_str().and_then(|cursor| cursor.parse::<u64>().ok()).unwrap_or(0);
        let tool = json!({"name": format!("t{cursor}"), "inputSchema": {"type": "object"}});
        Answer::Result(json!({"tools": [tool], "nextCursor": (cursor + 1).to_string()}))
    });
    let servers = fake.connect().await;
    assert_eq!(servers.status()[0].tools.len(), 100);
    assert_eq!(fake.all("tools/list").len(), 100);
}

/// [MC-47]
#[tokio::test(start_paused = true)]
async fn answers_to_nothing_are_passed_over() {
    let fake = Fake::new(&["a"]).on("tools/call", |talk, call| {
        talk.say(&json!({"jsonrpc": "2.0", "id": 4711, "result": {"content": []}}));
        talk.say(&json!({"jsonrpc": "2.0", "id": null, "error": {"code": 1, "message": "?"}}));
        talk.answer(call, &json!({"content": [{"type": "text", "text": "mine"}]}));
        talk.answer(call, &json!({"content": [{"type": "text", "text": "again"}]}));
        Answer::Silence
    });
    let servers = fake.connect().await;
    for _ in 0..2 {
        assert_eq!(call(&servers, "srv__a", json!({})).await.output, ToolOutput::Text("mine".into()));
    }
}

/// [MC-48]
#[tokio::test(start_paused = true)]
async fn a_server_that_refuses_it_does_not_say_what_is_asked_whether_it_is_there() {
    let fake = Fake::new(&["a"]).on("tools/call", |talk, call| {
        // As a server does over HTTP that has forgotten the session.
        let mut refusal = json!({"jsonrpc": "2.0", "error": {"code": -32000, "message": "No valid session"}});
        if call["params"]["arguments"]["id"].is_string() {
            refusal["id"] = call["params"]["arguments"]["id"].clone();
        }
        talk.say(&refusal);
        Answer::Silence
    });
    let server = fake.server().with_call_timeout(Duration::from_secs(60));
    let servers = McpServers::builder().with("srv", server).unwrap().connect().await;
    // It answers: the refusal was about something else.
    assert_eq!(call(&servers, "srv__a", json!({})).await.status, "delivery-unknown");
    assert_eq!((fake.all("tools/list").len(), fake.connections.load(Ordering::SeqCst)), (2, 1));
    for (at, input) in [json!({}), json!({"id": "server-error"})].into_iter().enumerate() {
        let lists = fake.all("tools/list").len();
        let fake = fake.clone().on("tools/list", |_, _| Answer::Silence);
        let start = tokio::time::Instant::now();
        let called = call(&servers, "srv__a", input).await;
        assert!(called.error().contains("running: it no longer answers."), "{}", called.error());
        assert_eq!(start.elapsed().as_secs(), 5);
        fake.off("tools/list");
        fake.nth("tools/list", lists + 2).await;
        sleep(Duration::from_millis(1)).await;
        assert_eq!(fake.connections.load(Ordering::SeqCst), at + 2);
    }
}
