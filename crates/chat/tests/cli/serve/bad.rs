use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::client::{Server, message, said};
use crate::support::Chat;

const JSON: &str = "content-type: application/json";

/// [CH-172]
#[test]
fn bodies_that_make_no_sense_are_refused() {
    let chat = Chat::new();
    std::fs::write(
        chat.home.path().join("c.toml"),
        "[serve.limits]\nbody_bytes = 4096\nmessage_bytes = 100\n",
    )
    .unwrap();
    let server = Server::start(&chat, &["--config", "c.toml"]);
    let raw = |headers: &[&str], body: &str| server.request("POST", "/api/chat", headers, body);
    let post = |change: &dyn Fn(&mut Value)| {
        let mut body = message("c1", "u1", "Hello?");
        change(&mut body);
        server.post("/api/chat", &body)
    };
    for body in ["", "{", "nonsense", "{} {}", "[1"] {
        raw(&[JSON], body).refused(400, "bad_json");
    }
    raw(&[], "{}").refused(415, "unsupported_media_type");
    raw(&["content-type: text/plain"], "{}").refused(415, "unsupported_media_type");
    raw(&["content-type: application/x-www-form-urlencoded"], "a=b").refused(415, "unsupported_media_type");
    raw(&[JSON], &" ".repeat(5000)).refused(413, "too_large");
    post(&|body| body["messages"] = json!([said("u1", &"x".repeat(101))])).refused(413, "too_large");
    for body in ["[]", "\"text\"", "{\"id\":\"c1\"}", "{\"id\":\"c1\",\"messages\":7}", "{\"messages\":[]}"] {
        raw(&[JSON], body).refused(400, "bad_request");
    }
    post(&|body| body["trigger"] = json!("other")).refused(400, "bad_request");
    post(&|body| body["whenLive"] = json!("other")).refused(400, "bad_request");
    post(&|body| body["messages"][0]["role"] = json!("system")).refused(400, "bad_request");
    post(&|body| body["messages"][0]["id"] = json!("")).refused(400, "bad_request");
    post(&|body| body["messages"][0]["parts"] = json!("Hello")).refused(400, "bad_request");
    let file = json!([{ "type": "file", "mediaType": "image/png", "url": "http://169.254.169.254/" }]);
    post(&|body| body["messages"][0]["parts"] = file.clone()).refused(400, "bad_request");
    post(&|body| body["messages"][0]["parts"] = json!([])).refused(400, "empty_message");
    post(&|body| body["messages"] = json!([said("u1", "   ")])).refused(400, "empty_message");
    post(&|body| body["models"] = json!(["nobody"])).refused(400, "no_such_model");
    post(&|body| body["models"] = json!(["demo", "demo"])).refused(400, "duplicate_model");
    post(&|body| body["models"] = json!(vec!["demo"; 9])).refused(400, "bad_request");
    let level = server.request(
        "POST",
        "/api/chat",
        &[JSON, "x-ui-protocol: 4"],
        &message("c1", "u1", "x").to_string(),
    );
    level.refused(400, "bad_protocol");
    let head = format!(
        "POST /api/chat HTTP/1.1\r\nhost: {}\r\n{JSON}\r\nconnection: close\r\ncontent-length: 4\r\n\r\n",
        server.address
    );
    server.send(&[head.as_bytes(), b"\"\xff\xfe\""].concat()).rest().refused(400, "bad_json");
    for verb in ["steer", "follow-up", "withdraw", "stop", "approve"] {
        server.post(&format!("/api/chat/c1/{verb}"), &json!({})).refused(400, "bad_request");
    }
    server.post("/api/chat/c1/stop", &json!({ "turn": "one" })).refused(400, "bad_request");
    assert_eq!(server.get("/api/chats").json()["chats"], json!([]));
}

/// [CH-172]
#[test]
fn paths_that_lead_nowhere_are_refused() {
    let server = Server::start(&Chat::new(), &[]);
    for path in [
        "/nothing",
        "/api",
        "/api/",
        "/api/chat/x/y",
        "/assets/../Cargo.toml",
        "/assets/%2e%2e/x",
        "/assets/",
    ] {
        server.get(path).refused(404, "not_found");
    }
    let long = format!("/api/chat/{}", "x".repeat(129));
    for path in
        ["/api/chat/%2e%2e", "/api/chat/a%2fb", "/api/chat/%ff", "/api/chat/a%00", "/api/chat/a%20b", &long]
    {
        server.get(path).refused(400, "bad_id");
    }
    for id in [json!(""), json!("."), json!("a/b"), json!("ü")] {
        let mut body = message("c1", "u1", "Hello?");
        body["id"] = id;
        server.post("/api/chat", &body).refused(400, "bad_id");
    }
    for (method, path) in [
        ("GET", "/api/chat"),
        ("POST", "/api/chats"),
        ("PUT", "/api/chat/c1"),
        ("POST", "/"),
        ("DELETE", "/metrics"),
    ] {
        let reply = server.request(method, path, &[], "");
        reply.refused(405, "method_not_allowed");
        assert!(reply.header("allow").is_some(), "{reply:?}");
    }
    for nonsense in ["nonsense\r\n\r\n", "GET / HTTP/9.9\r\n\r\n", "GET /\0 HTTP/1.1\r\n\r\n"] {
        assert_eq!(server.send(nonsense.as_bytes()).rest().status, 400, "{nonsense:?}");
    }
    let huge = format!("GET / HTTP/1.1\r\nhost: {}\r\nx: {}\r\n\r\n", server.address, "x".repeat(40_000));
    assert_eq!(server.send(huge.as_bytes()).rest().status, 431);
    assert_eq!(server.get("/healthz").body, "ok");
}

/// [CH-173]
#[test]
fn slow_clients_are_given_up() {
    let chat = Chat::new();
    let config = "[serve.limits]\nheader_time = \"300ms\"\nbody_time = \"300ms\"\n";
    std::fs::write(chat.home.path().join("c.toml"), config).unwrap();
    let server = Server::start(&chat, &["--config", "c.toml"]);
    let began = Instant::now();
    let half = server.send(b"GET / HTTP/1.1\r\nhost: ");
    let head = format!(
        "POST /api/chat HTTP/1.1\r\nhost: {}\r\n{JSON}\r\ncontent-length: 9\r\nconnection: close\r\n\r\n{{",
        server.address
    );
    let slow = server.send(head.as_bytes());
    assert_eq!(server.get("/healthz").body, "ok");
    slow.rest().refused(408, "timeout");
    half.rest();
    assert!(began.elapsed() < Duration::from_secs(10));
}
