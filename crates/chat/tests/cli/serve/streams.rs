use ai_testkit::{WireReply, WireServer};
use serde_json::json;

use super::answers::{endless, kinds};
use super::client::{Server, said};
use crate::support::{Chat, call, finish, says, sse};

/// [CH-160] [CH-161]
#[test]
fn a_stream_is_taken_up_where_it_broke() {
    let wire = WireServer::start([endless()]).unwrap();
    let (_chat, server) = Server::of(&wire, "");
    let mut first = server.saying("c1", "u1", "Hello?");
    let seen = first.until("upon");
    drop(first);
    let ids: Vec<_> = seen.lines().filter_map(|line| line.strip_prefix("id: ")).collect();
    let begun: Vec<_> = seen.lines().filter(|line| line.starts_with("data: ")).collect();

    let mut whole = server.begin("GET", "/api/chat/c1/stream", &[], "");
    let again = whole.until("upon");
    assert_eq!(again.lines().filter(|line| line.starts_with("data: ")).collect::<Vec<_>>(), begun);
    // Behind each event, the rest.
    for (at, id) in ids.iter().enumerate().take(ids.len() - 1) {
        let header = format!("last-event-id: {id}");
        let mut rest = server.begin("GET", "/api/chat/c1/stream", &[&header], "");
        let rest = rest.until("upon");
        assert_eq!(
            rest.lines().filter_map(|line| line.strip_prefix("id: ")).collect::<Vec<_>>(),
            ids[at + 1..]
        );
    }
    server.request("GET", "/api/chat/c1/stream", &["last-event-id: 1.1:x"], "").refused(400, "bad_cursor");
    assert_eq!(server.request("GET", "/api/chat/c1/stream", &["last-event-id: 9.9:1"], "").status, 204);
    server.get("/api/chat/c2/stream").refused(404, "no_such_chat");

    let turn = server.chat("c1")["status"]["turn"].clone();
    server.post("/api/chat/c1/stop", &json!({ "turn": turn }));
    assert!(whole.rest().body.ends_with("data: [DONE]\n\n"));
    assert_eq!(server.get("/api/chat/c1/stream").status, 204);
    // Who has a cursor still gets the end.
    let late = server.request(
        "GET",
        "/api/chat/c1/stream",
        &[&format!("last-event-id: {}", ids.last().unwrap())],
        "",
    );
    assert!(kinds(&late.chunks()).ends_with(&["abort"]), "{late:?}");
}

/// [CH-162] [CH-164]
#[test]
fn what_is_said_in_the_middle_is_answered_in_the_same_message() {
    let calls = sse(&[call(0, "call_1", "calculator", r#"{"expression":"6*7"}"#), finish("tool_calls")]);
    let slow = WireReply::sse(calls).head_delay(std::time::Duration::from_millis(700));
    let wire = WireServer::start([slow, says(&["Short."]), says(&["Later."])]).unwrap();
    let (_chat, server) = Server::of(&wire, "");
    let latest = ["content-type: application/json", "x-ui-protocol: latest"];
    let body = super::client::message("c1", "u1", "Hello?").to_string();
    let mut first = server.begin("POST", "/api/chat", &latest, &body);
    let turn = first.header("x-chat-turn").unwrap();
    let say = |verb: &str, id: &str, turn: &str| {
        server
            .post(&format!("/api/chat/c1/{verb}"), &json!({ "turn": turn, "message": said(id, "Shorter.") }))
    };
    say("steer", "u2", "9.9").refused(409, "stale_turn");
    let taken = say("steer", "u2", &turn);
    assert_eq!(taken.status, 202);
    assert_eq!((&taken.json()["inputId"], &taken.json()["duplicate"]), (&json!("u2"), &json!(false)));
    assert_eq!(say("steer", "u2", &turn).json()["duplicate"], true);
    assert_eq!(say("follow-up", "u3", &turn).status, 202);
    assert_eq!(say("follow-up", "u4", &turn).status, 202);
    assert_eq!(server.post("/api/chat/c1/withdraw", &json!({ "inputId": "u4" })).status, 200);
    server.post("/api/chat/c1/withdraw", &json!({ "inputId": "u4" })).refused(404, "no_such_input");

    let reply = first.rest();
    let kinds = kinds(&reply.chunks()).iter().filter(|kind| **kind == "start" || **kind == "finish").count();
    assert_eq!(kinds, 2, "{}", reply.body);
    assert!(reply.body.contains("\"steering-message\""), "{}", reply.body);
    assert_eq!(reply.text(), "Short.");
    let chat =
        server.wait("c1", |chat| chat["messages"].as_array().is_some_and(|messages| messages.len() == 4));
    assert_eq!(chat["messages"][2]["id"], "u3");
    assert_eq!(wire.requests().len(), 3);
    say("steer", "u5", &turn).refused(409, "not_live");
    server
        .post("/api/chat/c9/steer", &json!({ "turn": turn, "message": said("u", "x") }))
        .refused(404, "no_such_chat");
}

/// [CH-163] [CH-165] [CH-166]
#[test]
fn chats_are_watched_listed_and_deleted() {
    let wire = WireServer::start([endless()]).unwrap();
    let (_chat, server) = Server::of(&wire, "");
    let mut watched = server.begin("GET", "/api/status", &[], "");
    watched.until("event: ready\ndata: {}\n\n");
    let mut first = server.saying("c1", "u1", "Hello?");
    first.until("upon");
    watched.until("\"state\":\"streaming\"");
    watched.until("\"fate\":\"consumed\",\"inputId\":\"u1\",\"topic\":\"c1\"");
    let turn = first.header("x-chat-turn").unwrap();
    server.post("/api/chat/c1/stop", &json!({ "turn": "9.9" })).refused(409, "stale_turn");
    assert_eq!(server.post("/api/chat/c1/stop", &json!({ "turn": turn })).json(), json!({ "returned": [] }));
    assert_eq!(server.chat("c1")["rows"][1]["status"], "stopped");
    server.post("/api/chat/c1/stop", &json!({ "turn": turn })).refused(409, "not_live");
    assert!(first.rest().body.contains("\"abort\""));

    wire.reply(says(&["Hi."]));
    server.say("c2", "u1", "Second");
    let page = server.get("/api/chats?limit=1").json();
    assert_eq!((&page["chats"][0]["id"], &page["chats"][0]["title"]), (&json!("c2"), &json!("Second")));
    let next = page["next"].as_str().unwrap();
    let page = server.get(&format!("/api/chats?limit=1&after={next}")).json();
    assert_eq!((&page["chats"][0]["id"], &page["chats"][0]["state"]), (&json!("c1"), &json!("stopped")));
    server.get("/api/chats?limit=0").refused(400, "bad_request");
    server.get("/api/chats?after=x").refused(400, "bad_cursor");

    wire.reply(endless());
    let mut live = server.saying("c2", "u2", "Again");
    live.until("upon");
    assert_eq!(server.request("DELETE", "/api/chat/c2", &[], "").status, 204);
    watched.until("event: deleted\ndata: {\"topic\":\"c2\"}\n\n");
    assert!(wire.blocking_wait_closed(super::client::LIMIT));
    server.get("/api/chat/c2").refused(404, "no_such_chat");
    server.request("DELETE", "/api/chat/c2", &[], "").refused(404, "no_such_chat");
}

/// [CH-174]
#[test]
fn streams_are_limited() {
    let chat = Chat::new();
    std::fs::write(chat.home.path().join("c.toml"), "[serve.limits]\nstreams_per_client = 2\n").unwrap();
    let server = Server::start(&chat, &["--config", "c.toml"]);
    let mut open: Vec<_> = (0..2).map(|_| server.begin("GET", "/api/status", &[], "")).collect();
    for one in &mut open {
        one.until("event: ready");
    }
    let refused = server.get("/api/status");
    refused.refused(429, "too_many_streams");
    assert!(refused.header("retry-after").is_some());
    assert!(server.get("/metrics").body.contains("\nchat_streams_open 2\n"));
    drop(open);
    let began = std::time::Instant::now();
    while server.get("/metrics").body.contains("\nchat_streams_open 2\n") {
        assert!(began.elapsed() < super::client::LIMIT);
    }
    let mut again = server.begin("GET", "/api/status", &[], "");
    again.until("event: ready");
}
