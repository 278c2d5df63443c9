//! Streamable HTTP against a server of a few lines.

use std::sync::{Arc, Mutex};

use ai_mcp::{Approval, Limits, McpServer, McpServers, ServerState};
use ai_provider::ToolOutput;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::fake::call;

const SECRET: &str = "Bearer hunter2";

/// Head and body of a request.
#[derive(Clone)]
struct Seen {
    head: String,
    body: Value,
}

/// What the server does with a message: status line and headers, and body.
type Reply = Arc<dyn Fn(&str, &Value) -> Option<(String, String)> + Send + Sync>;

struct Site {
    url: String,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl Site {
    /// A server that answers as it should where `reply` gives nothing.
    async fn start(reply: impl Fn(&str, &Value) -> Option<(String, String)> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let (seen, reply): (Arc<Mutex<Vec<Seen>>>, Reply) = (Arc::default(), Arc::new(reply));
        let kept = Arc::clone(&seen);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, Arc::clone(&seen), Arc::clone(&reply)));
            }
        });
        Self { url, seen: kept }
    }

    async fn connect(&self, limits: Limits) -> McpServers {
        let server = McpServer::http(&self.url).header("authorization", SECRET).with_limits(limits);
        McpServers::builder().with("web", server.with_approval(Approval::Never)).unwrap().connect().await
    }

    fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }
}

fn json_reply(body: &Value) -> (String, String) {
    ("200 OK\r\ncontent-type: application/json".to_owned(), body.to_string())
}

fn answer(message: &Value, result: &Value) -> (String, String) {
    json_reply(&json!({"jsonrpc": "2.0", "id": message["id"], "result": result}))
}

/// What a server of the time before discovery says.
fn usual(verb: &str, message: &Value) -> (String, String) {
    let method = message["method"].as_str().unwrap_or_default();
    match (verb, method) {
        ("POST", "initialize") => answer(
            message,
            &json!({
                "protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "web", "version": "1"},
            }),
        ),
        ("POST", "tools/list") => {
            answer(message, &json!({"tools": [{"name": "a", "inputSchema": {"type": "object"}}]}))
        }
        ("POST", _) if message.get("id").is_some() => json_reply(
            &json!({"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32601, "message": "?"}}),
        ),
        ("POST", _) => ("202 Accepted".to_owned(), String::new()),
        _ => ("405 Method Not Allowed".to_owned(), String::new()),
    }
}

/// One request a connection.
async fn serve(mut stream: TcpStream, seen: Arc<Mutex<Vec<Seen>>>, reply: Reply) {
    let mut bytes = Vec::new();
    let (head, body) = loop {
        if stream.read_buf(&mut bytes).await.unwrap_or(0) == 0 {
            return;
        }
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length = head
            .lines()
            .find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length: ").map(str::to_owned));
        if body.len() >= length.map_or(0, |length| length.parse().unwrap()) {
            break (head.to_owned(), body.to_owned());
        }
    };
    let message = serde_json::from_str(&body).unwrap_or(Value::Null);
    seen.lock().unwrap().push(Seen { head: head.clone(), body: message });
    let message: Value = serde_json::from_str(&body).unwrap_or(Value::Null);
    let verb = head.split(' ').next().unwrap_or_default().to_owned();
    let (status, body) = reply(&verb, &message).unwrap_or_else(|| usual(&verb, &message));
    let length = body.len();
    let head = format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n");
    let _ = stream.write_all((head + &body).as_bytes()).await;
}

/// [MC-57]
#[tokio::test]
async fn headers_go_with_every_request_and_a_result_comes_as_json_or_as_events() {
    let site = Site::start(|_, message| {
        (message["method"] == "tools/call").then(|| {
            let text = json!({"content": [{"type": "text", "text": "hi"}]});
            let events = [
                json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {
                    "progressToken": message["params"]["_meta"]["progressToken"], "progress": 1,
                }}),
                json!({"jsonrpc": "2.0", "id": message["id"], "result": text}),
            ];
            let body = events.map(|event| format!("data: {event}\n\n")).concat();
            ("200 OK\r\ncontent-type: text/event-stream".to_owned(), body)
        })
    })
    .await;
    let servers = site.connect(Limits::default()).await;
    let called = call(&servers, "web__a", json!({})).await;
    assert_eq!(called.output, ToolOutput::Text("hi".into()));
    assert_eq!(called.preliminary, [ToolOutput::Json(json!({"progress": 1.0}))]);
    let seen = site.seen();
    let methods: Vec<_> = seen.iter().filter_map(|seen| seen.body["method"].as_str()).collect();
    assert!(methods.contains(&"initialize") && methods.contains(&"tools/call"), "{methods:?}");
    assert!(seen.iter().all(|seen| seen.head.contains(SECRET)), "a request goes without its header");
}

/// [MC-56]
#[tokio::test]
async fn a_server_that_refuses_or_sends_elsewhere_is_told_of_without_the_secret() {
    let elsewhere = Site::start(|_, _| None).await;
    let to = elsewhere.url.clone();
    let refuses = Site::start(|_, _| {
        Some(("401 Unauthorized\r\ncontent-type: text/plain".to_owned(), format!("no: {SECRET}")))
    })
    .await;
    let redirects =
        Site::start(move |_, _| Some((format!("307 Temporary Redirect\r\nlocation: {to}"), String::new())))
            .await;
    for site in [&refuses, &redirects] {
        let servers = site.connect(Limits::default()).await;
        let status = servers.status().remove(0);
        assert_eq!(status.state, ServerState::Restarting);
        let error = status.error.unwrap();
        assert!(!error.contains("hunter2"), "{error}");
        assert!(error.contains("401") || error.contains("307"), "{error}");
    }
    assert!(elsewhere.seen().is_empty(), "a header went to another origin");
    let nobody = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let absent = McpServer::http(format!("http://{nobody}/mcp?key=hunter2"));
    let servers = McpServers::builder().with("web", absent).unwrap().connect().await;
    let error = servers.status().remove(0).error.unwrap();
    assert!(error.contains(&nobody.to_string()) && !error.contains("hunter2"), "{error}");
    assert!(error.to_lowercase().contains("refused"), "{error}");
}

/// [MC-56]
#[tokio::test]
async fn a_server_that_says_a_secret_again_is_not_repeated() {
    let site = Site::start(|_, message| {
        let refusal =
            json!({"code": -32000, "message": format!("the key {SECRET} is not known, hunter2 neither")});
        (message["method"] == "tools/call")
            .then(|| json_reply(&json!({"jsonrpc": "2.0", "id": message["id"], "error": refusal})))
    })
    .await;
    let called = call(&site.connect(Limits::default()).await, "web__a", json!({})).await;
    assert_eq!(called.error(), "MCP server `web`: the key *** is not known, *** neither");
}

/// [MC-44]
#[tokio::test]
async fn an_answer_over_http_that_is_too_large_is_not_read() {
    for events in [false, true] {
        let site = Site::start(move |_, message| {
            (message["method"] == "tools/call").then(|| {
                let text = json!({"content": [{"type": "text", "text": "x".repeat(50_000)}]});
                match events {
                    false => answer(message, &text),
                    true => {
                        let (_, body) = answer(message, &text);
                        ("200 OK\r\ncontent-type: text/event-stream".to_owned(), format!("data: {body}\n\n"))
                    }
                }
            })
        })
        .await;
        let servers = site.connect(Limits::default().with_message_bytes(10_000)).await;
        let called = call(&servers, "web__a", json!({})).await;
        assert_eq!(called.status, "failed", "{:?}", called.output);
        assert!(called.error().len() < 1_000, "{}", called.error());
        assert_eq!(servers.status()[0].state, ServerState::Ready);
    }
}
