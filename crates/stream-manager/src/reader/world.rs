//! A topic without a manager, for tests.

use std::sync::Arc;

use agent_loop::{UiChunk, UiMessage, UiReducer, UiRole};
use futures_util::FutureExt;

use super::{Attach, AttachError, ReaderBody, ReaderItem, TopicReader};
use crate::memory::{MemoryLog, MemoryStatus};
use crate::port::{Lease, LogWriter, ReplayLog, StatusBus};
use crate::record::{ActiveAttempt, AttemptId, NodeId, RowStatus, Terminal, TopicState, TopicStatus, TurnId};

pub(crate) fn attempt(number: u64) -> AttemptId {
    AttemptId { epoch: 1, number }
}

pub(crate) fn turn(number: u64) -> TurnId {
    TurnId { epoch: 1, number }
}

/// A topic without a manager.
pub(crate) struct World {
    pub(crate) log: Arc<MemoryLog>,
    pub(crate) bus: MemoryStatus,
    pub(crate) status: TopicStatus,
}

impl World {
    pub(crate) fn new() -> Self {
        Self::with_log(MemoryLog::new())
    }

    pub(crate) fn with_log(log: MemoryLog) -> Self {
        let mut status = TopicStatus::idle("t".into());
        status.epoch = 1;
        Self { log: Arc::new(log), bus: MemoryStatus::new(), status }
    }

    pub(crate) async fn publish(&mut self, state: TopicState, turn: TurnId, attempts: Vec<ActiveAttempt>) {
        self.status.revision += 1;
        (self.status.state, self.status.turn, self.status.attempts) = (state, Some(turn), attempts);
        self.bus.publish(self.status.clone()).await.unwrap();
    }

    pub(crate) async fn create(&self, number: u64, seed: UiMessage) -> Box<dyn LogWriter> {
        let lease = Lease::new("t".into(), NodeId::from("n"), 1);
        self.log.create(&lease, attempt(number), seed).await.unwrap()
    }

    pub(crate) async fn attach(&self, wants: Attach) -> Result<TopicReader, AttachError> {
        TopicReader::attach("t".into(), Arc::clone(&self.log) as Arc<dyn ReplayLog>, &self.bus, wants).await
    }
}

pub(crate) fn row(id: &str) -> UiMessage {
    UiMessage::new(id, UiRole::Assistant)
}

pub(crate) fn active(number: u64, row: &str) -> ActiveAttempt {
    ActiveAttempt::new(attempt(number), row.into())
}

pub(crate) fn text(text: &str) -> [UiChunk; 3] {
    let id = || text.into();
    [
        UiChunk::TextStart { id: id(), provider_metadata: None },
        UiChunk::TextDelta { id: id(), delta: text.to_owned(), provider_metadata: None },
        UiChunk::TextEnd { id: id(), citations: None, provider_metadata: None },
    ]
}

pub(crate) fn start(id: &str) -> UiChunk {
    UiChunk::Start { message_id: Some(id.to_owned()), message_metadata: None }
}

pub(crate) fn finish() -> UiChunk {
    UiChunk::Finish { finish_reason: None, message_metadata: None }
}

pub(crate) fn write(writer: &mut Box<dyn LogWriter>, chunks: impl IntoIterator<Item = UiChunk>) {
    for chunk in chunks {
        writer.append(chunk);
    }
}

pub(crate) async fn seal(
    writer: &mut Box<dyn LogWriter>,
    row: &str,
    continues: Option<u64>,
    ends_turn: bool,
) {
    let status = if continues.is_some() { RowStatus::Open } else { RowStatus::Complete };
    let terminal = Terminal::new(row.into(), status, continues.map(attempt), ends_turn);
    writer.seal(terminal).await.unwrap();
}

pub(crate) async fn rest(reader: &mut TopicReader) -> Vec<ReaderItem> {
    let mut items = Vec::new();
    while let Some(item) = reader.next().await {
        items.push(item.unwrap());
    }
    items
}

pub(crate) fn is_silent(reader: &mut TopicReader) -> bool {
    reader.next().now_or_never().is_none()
}

/// What a client shows of a row.
pub(crate) fn shown(items: &[ReaderItem], of: &str) -> UiMessage {
    let mut reducer = UiReducer::new(of);
    for item in items.iter().filter(|item| item.row.as_str() == of) {
        match (&item.body, item.chunk()) {
            (ReaderBody::Rebase(snapshot), _) => {
                reducer = UiReducer::new(of);
                snapshot.chunks.iter().for_each(|chunk| reducer.push_ref(chunk).unwrap());
            }
            (_, Some(chunk)) => reducer.push_ref(chunk).unwrap(),
            _ => {}
        }
    }
    reducer.into_message()
}
