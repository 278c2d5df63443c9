//! A topic of the manager, and those who read it.

use std::sync::atomic::{AtomicUsize, Ordering};

use agent_loop::Agent;
use ai_core::ToolLoop;
use ai_provider::Message;
use bench_peer::{Job, PROMPT, Result, SYSTEM, Tally};
use stream_manager::reader::{Attach, SseBody, SseSettings};
use stream_manager::record::TopicId;
use stream_manager::{Send, StreamManager};
use tokio::sync::OnceCell;
use tokio::task::JoinSet;

use crate::{Chat, model};

/// An agent behind a manager: one for all runs, each of which has a topic of its own.
pub struct Managed {
    agent: Agent,
    manager: OnceCell<StreamManager>,
    topics: AtomicUsize,
}

impl Managed {
    /// The agent of a job.
    ///
    /// # Errors
    /// If its model cannot be made.
    pub fn new(job: &Job) -> Result<Self> {
        let agent = Agent::new(ToolLoop::new(model::<Chat>(job)?).with_instructions(SYSTEM));
        Ok(Self { agent, manager: OnceCell::new(), topics: AtomicUsize::new(0) })
    }

    /// Asks once. One reader writes the bytes for a browser; `further` ones look at each chunk.
    ///
    /// # Errors
    /// If the answer is not whole.
    pub async fn run(&self, job: &Job, tally: &mut Tally, further: usize) -> Result<()> {
        let manager = || StreamManager::builder(self.agent.clone()).build();
        let manager = self.manager.get_or_try_init(manager).await?;
        let topic = TopicId::from(format!("topic-{}", self.topics.fetch_add(1, Ordering::Relaxed)));
        let turn = manager.send(&topic, Send::text(PROMPT)).await?.turn.ok_or("no turn")?;
        let attach = || Attach::new().with_turn(turn);
        let mut readers = JoinSet::new();
        for _ in 0..further {
            let mut reader = manager.attach(&topic, attach()).await?;
            readers.spawn(async move {
                let mut deltas = 0;
                while let Some(item) = reader.next().await {
                    let text = item.ok().and_then(|item| item.chunk().and_then(agent_loop::visible_text).map(str::len));
                    deltas += usize::from(text.is_some());
                }
                deltas
            });
        }
        let mut body = SseBody::new(manager.attach(&topic, attach()).await?, SseSettings::new());
        let mut bytes = 0;
        while let Some(piece) = body.next().await {
            bytes += piece?.len();
        }
        while let Some(deltas) = readers.join_next().await {
            if deltas? < job.expected.deltas {
                return Err("a reader has missed something".into());
            }
        }
        let history = manager.history(&topic).await?.ok_or("no conversation")?;
        let messages = history.rows.last().into_iter().flat_map(|row| &row.content.messages);
        let chars: usize = messages
            .map(|message| match &*message.message {
                Message::Assistant(answer) => answer.text().len(),
                _ => 0,
            })
            .sum();
        if bytes < chars || chars != job.expected.deltas * 4 {
            return Err(format!("{bytes} bytes, {chars} characters").into());
        }
        tally.unparsed(job.expected);
        Ok(())
    }
}
