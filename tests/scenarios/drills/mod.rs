//! Fault drills: one stream, and what each of those who look at it is left with.

mod cuts;
mod faults;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use agent_loop::{
    Agent, AgentEvent, Audit, AuditEntry, AuditEvent, AuditRecord, CallTimeline, Hooks, Interrupted, Missing,
    PendingView, Transcript, TranscriptView, UiChunk, Unresolved,
};
use ai_anthropic::Anthropic;
use ai_core::{Effect, OnError, ToolError, ToolLoop, ToolSet, tool_fn};
use ai_openai::{Dialect, OpenAi};
use ai_provider::{
    ApiKey, AttemptKind, CancellationToken, ErrorClass, Keys, LanguageModel, Message, ModelError, Provider,
};
use ai_testkit::{Cut, MemoryEnd, MemoryReply, MemoryTransport};
use futures_util::StreamExt;
use http::StatusCode;
use retry::RetryPolicy;
use serde_json::{Value, json};

use crate::support::{City, KEY, call, frame, stream, weather};

/// What a run leaves to those who look at it.
struct Seen {
    /// What the user reads in the end.
    text: String,
    chunks: Vec<UiChunk>,
    audit: AuditRecord,
    transcript: Transcript,
    /// The bodies of the requests.
    requests: Vec<Value>,
    outcome: String,
}

impl Seen {
    fn kinds(&self) -> Vec<&str> {
        self.chunks.iter().map(UiChunk::kind).filter(|kind| !kind.starts_with("data-")).collect()
    }

    fn error_text(&self) -> Option<&str> {
        self.chunks.iter().find_map(|chunk| match chunk {
            UiChunk::Error { error_text } => Some(error_text.as_str()),
            _ => None,
        })
    }

    /// What went wrong with attempts and steps: step, attempt, class, whether nothing had been shown.
    fn failures(&self) -> Vec<(u32, u32, ErrorClass, bool)> {
        let failed = self.audit.entries().iter().filter_map(|entry| match &entry.event {
            AuditEvent::Attempt { attempt } => match &attempt.kind {
                AttemptKind::Failed { error, safe, .. } => {
                    Some((entry.step, attempt.attempt, error.class, *safe))
                }
                _ => None,
            },
            _ => None,
        });
        failed.collect()
    }

    fn audit_json(&self) -> String {
        serde_json::to_string(&self.audit).unwrap()
    }
}

fn question() -> Arc<Message> {
    Arc::new(Message::user("How is Rome?"))
}

fn chat(transport: &MemoryTransport) -> Arc<dyn LanguageModel> {
    let provider = OpenAi::builder()
        .dialect(Dialect::generic("local", "http://local.test/v1"))
        .keys(Arc::new(Keys::one(ApiKey::new(KEY).unwrap())))
        .transport(Arc::new(transport.clone()))
        .build()
        .unwrap();
    provider.language_model("m").unwrap()
}

/// An agent that tries a model call twice, and a step that broke off as often.
fn agent(transport: &MemoryTransport, tools: ToolSet, retries: bool) -> Agent {
    let policy =
        RetryPolicy::new().with_retries(1).with_jitter(false).with_base_delay(Duration::from_millis(1));
    let model = policy.wrap(chat(transport)).unwrap();
    let agent =
        Agent::new(ToolLoop::new(model).with_tools(tools)).with_message_id("m1").with_usage_metadata(true);
    let on_error = Hooks::new().on_error(|_| async { Ok(OnError::Retry) });
    if retries { agent.with_hooks(on_error) } else { agent }
}

fn tools() -> ToolSet {
    ToolSet::new().with(weather()).unwrap()
}

async fn see(
    transport: MemoryTransport,
    agent: impl FnOnce(&MemoryTransport) -> Agent,
    content: bool,
) -> Seen {
    let entries: Arc<Mutex<Vec<AuditEntry>>> = Arc::default();
    let heard = Arc::clone(&entries);
    let audit =
        Audit::new(move |entry| heard.lock().unwrap().push(entry)).with_content(content).with_hash_key("k");
    let agent = agent(&transport).with_audit(audit);
    let mut run = agent.stream([question()], CancellationToken::new());
    let (mut pending, mut view) = (PendingView::default(), TranscriptView::new([question()]));
    let (mut chunks, mut outcome) = (Vec::new(), String::new());
    while let Some(event) = run.next().await {
        view.push(&event);
        match event {
            AgentEvent::Chunk(chunk) => {
                pending.push(&chunk);
                chunks.push(chunk);
            }
            AgentEvent::End(end) => end.as_str().clone_into(&mut outcome),
            _ => {}
        }
    }
    let text = pending.blocks().map(|block| format!("{}{}", block.stable, block.tail)).collect();
    let body = |call: &ai_http::HttpCall| serde_json::from_slice(&call.body).unwrap();
    let requests = transport.calls().iter().map(body).collect();
    let audit = entries.lock().unwrap().drain(..).collect();
    Seen { text, chunks, audit, transcript: view.transcript(), requests, outcome }
}

async fn drill(replies: Vec<MemoryReply>, retries: bool) -> Seen {
    let transport = replies.into_iter().fold(MemoryTransport::new(), MemoryTransport::reply);
    see(transport, |transport| agent(transport, tools(), retries), false).await
}

fn reset() -> MemoryEnd {
    MemoryEnd::Error(ModelError::new(ErrorClass::Transport, "connection reset"))
}

fn reply(body: impl Into<bytes::Bytes>) -> MemoryReply {
    MemoryReply::sse(body)
}

fn say(text: &str) -> Value {
    json!({ "content": text })
}

fn think(text: &str) -> Value {
    json!({ "reasoning_content": text })
}

fn answer() -> MemoryReply {
    reply(stream(&[say("It is "), say("sunny.")], "stop"))
}

fn asks() -> MemoryReply {
    reply(stream(
        &[think("Where?"), say("Let me see."), call(0, "c1", "weather", r#"{"name":"Rome"}"#)],
        "tool_calls",
    ))
}
