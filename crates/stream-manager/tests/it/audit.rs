//! The audit of runs, written in the background.

use std::error::Error;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agent_loop::{Agent, AuditEntry};
use ai_core::{Effect, ToolError, ToolLoop, ToolSet, tool_fn};
use ai_testkit::{Script, ScriptedModel};
use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use stream_manager::listener::{AuditTrail, AuditWriter};
use stream_manager::record::{TopicId, TopicState};
use stream_manager::{Send, StreamManager};

use crate::world::SOON;

#[derive(Default)]
struct Book {
    written: Mutex<Vec<String>>,
    away: AtomicBool,
}

#[async_trait]
impl AuditWriter for Book {
    async fn write(&self, entry: &AuditEntry) -> Result<(), Box<dyn Error + std::marker::Send + Sync>> {
        if self.away.load(Ordering::Relaxed) {
            return Err("the disk is away".into());
        }
        let line = serde_json::to_string(entry)?;
        self.written.lock().unwrap().push(line);
        Ok(())
    }
}

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

/// [SM-180]
#[tokio::test(start_paused = true)]
async fn the_audit_names_topic_turn_and_attempt_and_is_whole_at_the_end() {
    let model = ScriptedModel::new()
        .reply(Script::tool_reply("c1", "look", "{}"))
        .reply(Script::text_reply("a secret answer"));
    let look = tool_fn("look", "Looks.", |_: Nothing, _| async { Ok::<_, ToolError>("a secret view") });
    let tools = ToolSet::new().with(look.with_effect(Effect::ReadOnly)).unwrap();
    let book = Arc::new(Book::default());
    book.away.store(true, Ordering::Relaxed);
    let trail = AuditTrail::new(book.clone()).with_bound(2).with_interval(Duration::from_millis(10));
    let agent = Agent::new(ToolLoop::new(Arc::new(model)).with_tools(tools)).with_audit(trail.audit());
    let manager = StreamManager::builder(agent).with_audit(trail).build().await.unwrap();
    let topic = TopicId::from("chat");
    manager.send(&topic, Send::text("a secret question")).await.unwrap();
    while manager.status(&topic).await.unwrap().state != TopicState::Done {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert!(book.written.lock().unwrap().is_empty(), "the turn does not wait for the writer");
    book.away.store(false, Ordering::Relaxed);
    assert!(manager.shut_down(SOON).await);
    assert_eq!(manager.tasks(), 0);

    let written = book.written.lock().unwrap().join("\n");
    for told in ["run-started", "call-made", "call-started", "call-ended", "run-ended"] {
        assert!(written.contains(&format!("\"type\":\"{told}\"")), "{told}: {written}");
    }
    assert!(written.lines().all(|line| line.contains("\"run\":\"chat/1.1/1.1\"")), "{written}");
    assert!(!written.contains("secret"), "{written}");
}
