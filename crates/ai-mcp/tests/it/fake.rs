//! A server of messages that are made up, and a loop that calls its tools.

use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use ai_core::{LoopControl, LoopEvent, NoControl, RunEnd, RunOptions, ToolEvent, ToolLoop, ToolSet};
use ai_mcp::{Approval, McpServer, McpServers};
use ai_provider::{LanguageModel, Message, ToolOutput, UnifiedFinish};
use ai_testkit::{Script, ScriptedModel};
use futures_util::StreamExt;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::sync::{mpsc, watch};

/// What is answered to a request.
pub(crate) enum Answer {
    Result(Value),
    Error(i64, &'static str),
    /// Nothing, or what the handler says itself.
    Silence,
    /// The connection is closed.
    Close,
}

type Handler = Arc<dyn Fn(&Talk, &Value) -> Answer + Send + Sync>;

/// The server's side of one connection.
#[derive(Clone)]
pub(crate) struct Talk(mpsc::UnboundedSender<Option<Vec<u8>>>);

impl Talk {
    pub(crate) fn say(&self, message: &Value) {
        self.raw(format!("{message}\n").into_bytes());
    }

    pub(crate) fn raw(&self, bytes: Vec<u8>) {
        let _ = self.0.send(Some(bytes));
    }

    pub(crate) fn close(&self) {
        let _ = self.0.send(None);
    }

    /// Whether the connection is over.
    pub(crate) fn is_gone(&self) -> bool {
        self.0.is_closed()
    }

    pub(crate) fn notify(&self, method: &str, params: Value) {
        self.say(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    pub(crate) fn answer(&self, request: &Value, result: &Value) {
        self.say(&json!({"jsonrpc": "2.0", "id": request["id"], "result": result}));
    }

    pub(crate) fn progress(&self, call: &Value, progress: Value) {
        let mut params = json!({"progressToken": call["params"]["_meta"]["progressToken"]});
        params.as_object_mut().unwrap().extend(progress.as_object().unwrap().clone());
        self.notify("notifications/progress", params);
    }
}

/// A server, over all its connections.
pub(crate) struct Fake {
    handlers: Mutex<HashMap<String, Handler>>,
    tools: Mutex<Vec<Value>>,
    seen: watch::Sender<Vec<Value>>,
    talk: Mutex<Option<Talk>>,
    pub(crate) connections: AtomicUsize,
    /// It cannot be reached.
    pub(crate) down: AtomicBool,
}

impl Fake {
    pub(crate) fn new(tools: &[&str]) -> Arc<Self> {
        let fake = Arc::new(Self {
            handlers: Mutex::default(),
            tools: Mutex::default(),
            seen: watch::Sender::new(Vec::new()),
            talk: Mutex::default(),
            connections: AtomicUsize::new(0),
            down: AtomicBool::new(false),
        });
        fake.offer(tools);
        fake.on("server/discover", |_, _| Answer::Error(-32601, "Method not found")).on(
            "initialize",
            |_, _| {
                Answer::Result(json!({
                    "protocolVersion": "2025-11-25", "capabilities": {"tools": {"listChanged": true}},
                    "serverInfo": {"name": "fake\u{1b}", "version": "1.2"},
                }))
            },
        )
    }

    /// Sets the tools: from now on, if nobody is told.
    pub(crate) fn offer(&self, tools: &[&str]) {
        let tool =
            |name: &&str| json!({"name": name, "description": "Does it.", "inputSchema": {"type": "object"}});
        self.offer_raw(tools.iter().map(tool).collect());
    }

    pub(crate) fn offer_raw(&self, tools: Vec<Value>) {
        *self.tools.lock().unwrap() = tools;
    }

    pub(crate) fn on(
        self: Arc<Self>,
        method: &str,
        handler: impl Fn(&Talk, &Value) -> Answer + Send + Sync + 'static,
    ) -> Arc<Self> {
        self.handlers.lock().unwrap().insert(method.to_owned(), Arc::new(handler));
        self
    }

    /// From now on this method is answered as usual.
    pub(crate) fn off(&self, method: &str) {
        self.handlers.lock().unwrap().remove(method);
    }

    /// Answers calls with a text.
    pub(crate) fn says(self: Arc<Self>, text: &'static str) -> Arc<Self> {
        self.on("tools/call", move |_, _| {
            Answer::Result(json!({"content": [{"type": "text", "text": text}]}))
        })
    }

    /// How to reach it, as one whose tools run unasked.
    pub(crate) fn server(self: &Arc<Self>) -> McpServer {
        let fake = Arc::clone(self);
        McpServer::streams(move || {
            let fake = Arc::clone(&fake);
            async move {
                if fake.down.load(Ordering::SeqCst) {
                    return Err(io::Error::from(io::ErrorKind::ConnectionRefused));
                }
                let (ours, theirs) = tokio::io::duplex(64 << 10);
                fake.connections.fetch_add(1, Ordering::SeqCst);
                tokio::spawn(fake.serve(theirs));
                Ok(tokio::io::split(ours))
            }
        })
        .with_approval(Approval::Never)
    }

    /// Connected, as `srv`.
    pub(crate) async fn connect(self: &Arc<Self>) -> McpServers {
        McpServers::builder().with("srv", self.server()).unwrap().connect().await
    }

    async fn serve(self: Arc<Self>, stream: tokio::io::DuplexStream) {
        let (read, mut write) = tokio::io::split(stream);
        let (send, mut queue) = mpsc::unbounded_channel::<Option<Vec<u8>>>();
        let talk = Talk(send);
        *self.talk.lock().unwrap() = Some(talk.clone());
        let mut lines = BufReader::new(read).lines();
        loop {
            tokio::select! {
                biased;
                line = lines.next_line() => match line {
                    Ok(Some(line)) => self.hear(&talk, serde_json::from_str(&line).unwrap()),
                    _ => return,
                },
                out = queue.recv() => match out {
                    Some(Some(bytes)) => if write.write_all(&bytes).await.is_err() { return },
                    _ => return,
                },
            }
        }
    }

    fn hear(&self, talk: &Talk, message: Value) {
        self.seen.send_modify(|seen| seen.push(message.clone()));
        let method = message["method"].as_str().unwrap_or_default();
        let handler = self.handlers.lock().unwrap().get(method).cloned();
        let answer = match (handler, method) {
            (Some(handler), _) => handler(talk, &message),
            (None, "tools/list") => Answer::Result(json!({"tools": *self.tools.lock().unwrap()})),
            (None, _) if message.get("id").is_some() => Answer::Error(-32601, "Method not found"),
            (None, _) => Answer::Silence,
        };
        match answer {
            Answer::Result(result) => talk.answer(&message, &result),
            Answer::Error(code, text) => talk.say(&json!({
                "jsonrpc": "2.0", "id": message["id"], "error": {"code": code, "message": text},
            })),
            Answer::Silence => {}
            Answer::Close => talk.close(),
        }
    }

    /// The connection that came last.
    pub(crate) fn talk(&self) -> Talk {
        self.talk.lock().unwrap().clone().expect("connected")
    }

    /// What has come of this method, over all connections.
    pub(crate) fn all(&self, method: &str) -> Vec<Value> {
        self.seen.borrow().iter().filter(|message| message["method"] == method).cloned().collect()
    }

    /// The nth message of this method, counted from 1, once it has come.
    pub(crate) async fn nth(&self, method: &str, nth: usize) -> Value {
        let mut seen = self.seen.subscribe();
        let of =
            |seen: &[Value]| seen.iter().filter(|message| message["method"] == method).nth(nth - 1).cloned();
        let seen = seen.wait_for(|seen| of(seen).is_some()).await.unwrap();
        of(&seen).unwrap()
    }
}

/// Calls tools in one answer of a model, which then says "done".
pub(crate) fn calling(calls: &[(&str, Value)]) -> ScriptedModel {
    let script = calls.iter().enumerate().fold(Script::new(), |script, (at, (name, input))| {
        script.tool_call(format!("call{at}"), name, &input.to_string())
    });
    ScriptedModel::new().reply(script.finish(UnifiedFinish::ToolCalls)).reply(Script::text_reply("done"))
}

pub(crate) fn agent(model: &ScriptedModel, tools: ToolSet) -> ToolLoop {
    ToolLoop::new(Arc::new(model.clone()) as Arc<dyn LanguageModel>).with_tools(tools)
}

pub(crate) async fn run(agent: &ToolLoop, control: Arc<dyn LoopControl>) -> (Vec<LoopEvent>, RunEnd) {
    let (_handle, stream) = agent.start([Message::user("go")], RunOptions::default().with_control(control));
    let mut events: Vec<_> = stream.collect().await;
    match events.pop() {
        Some(LoopEvent::End(end)) => (events, *end),
        other => panic!("the last event is {other:?}"),
    }
}

/// One call: what it gave on the way, and how it ended.
pub(crate) struct Called {
    pub(crate) preliminary: Vec<ToolOutput>,
    pub(crate) output: ToolOutput,
    pub(crate) status: String,
}

impl Called {
    pub(crate) fn error(&self) -> &str {
        match &self.output {
            ToolOutput::ErrorText(text) => text,
            other => panic!("{other:?} is no error"),
        }
    }
}

/// Calls a tool by the name the model knows it by.
pub(crate) async fn call(servers: &McpServers, name: &str, input: Value) -> Called {
    let agent = agent(&calling(&[(name, input)]), servers.add_to(ToolSet::new()));
    let (events, end) = run(&agent, Arc::new(NoControl)).await;
    let preliminary = events.iter().filter_map(|event| match event {
        LoopEvent::Tool(ToolEvent::Preliminary(result)) => Some(result.output.clone()),
        _ => None,
    });
    let record = &end.steps[0].tools[0];
    Called {
        preliminary: preliminary.collect(),
        output: record.result.output.clone(),
        status: record.status.as_str().to_owned(),
    }
}
