//! Carriers of commands with one fault each.

use std::time::Duration;

use async_trait::async_trait;
use stream_manager::memory::MemoryCommands;
use stream_manager::port::{Command, CommandHandler, Reply, Serving, StoreErrorKind};
use stream_manager::record::{NodeId, TopicId};

use super::*;

#[derive(Debug)]
struct Bent {
    inner: Arc<MemoryCommands>,
    fault: &'static str,
    /// One call at a time.
    gate: tokio::sync::Mutex<()>,
}

#[derive(Debug)]
struct Forever;

impl Serving for Forever {}

#[async_trait]
impl Commands for Bent {
    async fn call(
        &self,
        node: &NodeId,
        topic: &TopicId,
        command: Command,
        limit: Duration,
    ) -> Result<Reply, StoreError> {
        let node = match self.fault {
            "calls go astray" if node.as_str() == "one" => &"other".into(),
            "names are cut" if node.as_str() == "one:2" => &"one".into(),
            _ => node,
        };
        let command = match (self.fault, command) {
            ("turns are lost", Command::Submit { input, when_live, .. }) => {
                Command::Submit { input, when_live, turn: None }
            }
            ("replies are mixed", Command::Stop { mut turn }) if turn.number > 32 => {
                turn.number -= 1;
                Command::Stop { turn }
            }
            (_, command) => command,
        };
        let limit = if self.fault == "limits do not count" { Duration::MAX } else { limit };
        let _one =
            if self.fault == "one call holds up the others" { Some(self.gate.lock().await) } else { None };
        let reply = self.inner.call(node, topic, command, limit).await;
        match (self.fault, reply) {
            ("nobody is done", Err(error)) if error.kind() == StoreErrorKind::NotFound => Ok(Reply::Done),
            (_, reply) => reply,
        }
    }

    async fn serve(
        &self,
        node: &NodeId,
        handler: Arc<dyn CommandHandler>,
    ) -> Result<Box<dyn Serving>, StoreError> {
        let serving = self.inner.serve(node, handler).await?;
        if self.fault == "nodes listen for ever" {
            std::mem::forget(serving);
            return Ok(Box::new(Forever));
        }
        Ok(serving)
    }
}

const FAULTS: &[(&str, &str)] = &[
    ("calls go astray", "call"),
    ("nobody is done", "call-nobody"),
    ("names are cut", "call-nobody"),
    ("turns are lost", "call-kinds"),
    ("replies are mixed", "call-at-once"),
    ("limits do not count", "call-hangs"),
    ("one call holds up the others", "call-hangs"),
    ("nodes listen for ever", "call-gone"),
];

#[tokio::test(start_paused = true)]
async fn a_carrier_with_a_fault_fails_the_check_that_is_there_for_it() {
    for (fault, check) in FAULTS {
        let suite = StoreConformance::new().commands(move || async move {
            Ok(Arc::new(Bent { inner: Arc::default(), fault, gate: tokio::sync::Mutex::default() }))
        });
        assert_found(&suite.only([*check]).run().await, fault, check);
    }
    for (name, _) in COMMANDS {
        assert!(FAULTS.iter().any(|(_, check)| check == name), "no fault proves `{name}`");
    }
}
