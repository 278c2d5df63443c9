use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use ai_testkit::WireServer;
use serde_json::{Value, json};

use crate::support::Chat;

/// The server, until it is dropped.
pub(crate) struct Server {
    child: Child,
    pub(crate) address: SocketAddr,
    pub(crate) said: String,
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

/// Everything that waits for the server gives up after this.
pub(crate) const LIMIT: Duration = Duration::from_secs(30);

impl Server {
    /// Conversations in memory, the demo as its model.
    pub(crate) fn start(chat: &Chat, more: &[&str]) -> Self {
        Self::run(chat, &[&["serve", "--listen", "127.0.0.1:0", "--memory"], more].concat())
    }

    pub(crate) fn run(chat: &Chat, args: &[&str]) -> Self {
        let mut child = chat.command(args).stderr(Stdio::inherit()).spawn().unwrap();
        let mut said = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut said).unwrap();
        let address = said.trim().strip_prefix("http://").and_then(|said| said.split('/').next());
        let address = address.and_then(|address| address.parse().ok());
        Self { address: address.unwrap_or_else(|| panic!("it says {said:?}")), child, said }
    }

    /// A model behind it that says what the wire server says.
    pub(crate) fn of(wire: &WireServer, more: &str) -> (Chat, Self) {
        let chat = Chat::new();
        let config = format!(
            "default_model = \"test\"\n[providers.wire]\nbase_url = \"{}/v1\"\n[models.test]\nmodel = \"wire:m\"\n\
             [models.other]\nmodel = \"wire:n\"\n{more}",
            wire.url()
        );
        std::fs::write(chat.home.path().join("c.toml"), config).unwrap();
        let server = Self::start(&chat, &["--config", "c.toml"]);
        (chat, server)
    }

    pub(crate) fn get(&self, path: &str) -> Reply {
        self.request("GET", path, &[], "")
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Reply {
        self.request("POST", path, &["content-type: application/json"], &body.to_string())
    }

    pub(crate) fn request(&self, method: &str, path: &str, headers: &[&str], body: &str) -> Reply {
        self.begin(method, path, headers, body).rest()
    }

    pub(crate) fn begin(&self, method: &str, path: &str, headers: &[&str], body: &str) -> Reading {
        let host = if headers.iter().any(|header| header.starts_with("host:")) {
            String::new()
        } else {
            format!("host: {}\r\n", self.address)
        };
        let headers: String = headers.iter().map(|header| format!("{header}\r\n")).collect();
        let length = body.len();
        let head = format!(
            "{method} {path} HTTP/1.1\r\n{host}{headers}content-length: {length}\r\nconnection: close\r\n\r\n"
        );
        self.send(&[head.as_bytes(), body.as_bytes()].concat())
    }

    /// Sends these bytes, whatever they are.
    pub(crate) fn send(&self, bytes: &[u8]) -> Reading {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        // A server that has heard enough may close before all of it is sent.
        let _ = stream.write_all(bytes);
        Reading { stream, read: Vec::new() }
    }

    /// Says something; the reply is whole.
    pub(crate) fn say(&self, chat: &str, id: &str, text: &str) -> Reply {
        self.post("/api/chat", &message(chat, id, text))
    }

    /// Begins to say something; the reply can be read as it comes.
    pub(crate) fn saying(&self, chat: &str, id: &str, text: &str) -> Reading {
        self.begin(
            "POST",
            "/api/chat",
            &["content-type: application/json"],
            &message(chat, id, text).to_string(),
        )
    }

    pub(crate) fn chat(&self, id: &str) -> Value {
        let reply = self.get(&format!("/api/chat/{id}"));
        assert_eq!(reply.status, 200, "{reply:?}");
        reply.json()
    }

    /// Waits until the chat stands so.
    pub(crate) fn wait(&self, id: &str, is_so: impl Fn(&Value) -> bool) -> Value {
        let began = Instant::now();
        loop {
            let reply = self.get(&format!("/api/chat/{id}"));
            if reply.status == 200 && is_so(&reply.json()) {
                return reply.json();
            }
            assert!(began.elapsed() < LIMIT, "{reply:?}");
            std::thread::yield_now();
        }
    }

    pub(crate) fn wait_state(&self, id: &str, state: &str) -> Value {
        self.wait(id, |chat| chat["status"]["state"] == state)
    }

    pub(crate) fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        let sent = std::process::Command::new("kill").args([&format!("-{name}"), &pid]).status().unwrap();
        assert!(sent.success());
    }

    pub(crate) fn ended(&mut self) -> Option<i32> {
        let began = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            assert!(began.elapsed() < LIMIT, "the server does not end");
            std::thread::yield_now();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A reply that is being read.
pub(crate) struct Reading {
    stream: TcpStream,
    read: Vec<u8>,
}

impl Reading {
    fn more(&mut self) -> bool {
        let mut piece = [0; 4096];
        match self.stream.read(&mut piece) {
            Ok(0) => false,
            Ok(count) => {
                self.read.extend_from_slice(&piece[..count]);
                true
            }
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => false,
            Err(error) => panic!("{error}: {}", String::from_utf8_lossy(&self.read)),
        }
    }

    /// Reads until these words have come, and gives all that has.
    pub(crate) fn until(&mut self, words: &str) -> String {
        loop {
            let text = String::from_utf8_lossy(&self.read).into_owned();
            if text.contains(words) {
                return text;
            }
            assert!(self.more(), "{words} did not come: {text}");
        }
    }

    pub(crate) fn header(&mut self, name: &str) -> Option<String> {
        let text = self.until("\r\n\r\n");
        let head = text.split("\r\n\r\n").next().unwrap();
        value(head, name)
    }

    pub(crate) fn rest(mut self) -> Reply {
        while self.more() {}
        let text = String::from_utf8(self.read).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
        let chunked = value(head, "transfer-encoding").is_some();
        let body = if chunked { unchunked(body) } else { body.to_owned() };
        Reply { status, head: head.to_owned(), body }
    }
}

fn unchunked(mut rest: &str) -> String {
    let mut body = String::new();
    while let Some((size, more)) = rest.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).unwrap();
        body.push_str(&more[..size.min(more.len())]);
        match more.get(size + 2..) {
            Some(after) if size > 0 => rest = after,
            _ => break,
        }
    }
    body
}

fn value(head: &str, name: &str) -> Option<String> {
    let mut lines = head.lines().filter_map(|line| line.split_once(": "));
    lines.find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.to_owned())
}

impl Reply {
    pub(crate) fn header(&self, name: &str) -> Option<String> {
        value(&self.head, name)
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The chunks of a stream.
    pub(crate) fn chunks(&self) -> Vec<Value> {
        let data = self.body.lines().filter_map(|line| line.strip_prefix("data: "));
        data.filter(|data| *data != "[DONE]").map(|data| serde_json::from_str(data).unwrap()).collect()
    }

    pub(crate) fn text(&self) -> String {
        let chunks = self.chunks();
        let deltas = chunks.iter().filter(|chunk| chunk["type"] == "text-delta");
        deltas.map(|chunk| chunk["delta"].as_str().unwrap()).collect()
    }

    /// An error with this status and code, and nothing else.
    pub(crate) fn refused(&self, status: u16, code: &str) {
        assert_eq!((self.status, self.json()["error"]["code"].as_str()), (status, Some(code)), "{self:?}");
        assert!(!self.json()["error"]["message"].as_str().unwrap().is_empty());
        assert_eq!(self.header("cache-control").as_deref(), Some("no-store"));
        assert!(self.header("x-request-id").is_some());
    }
}

pub(crate) fn said(id: &str, text: &str) -> Value {
    json!({ "id": id, "role": "user", "parts": [{ "type": "text", "text": text }] })
}

pub(crate) fn message(chat: &str, id: &str, text: &str) -> Value {
    json!({ "id": chat, "trigger": "submit-message", "messages": [said(id, text)] })
}
