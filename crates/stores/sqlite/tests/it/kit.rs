use std::path::PathBuf;
use std::sync::Arc;

use stream_manager::port::{Claim, ConversationStore, Lease, Settlement};
use stream_manager::record::{
    AttemptId, Input, InputBody, Queue, Row, RowContent, RowStatus, TopicId, TurnId,
};
use stream_store_sqlite::{SqliteSettings, SqliteStore};
use tempfile::TempDir;

/// A folder that goes with the test, and a file in it.
pub(crate) fn file() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("topics.db");
    (folder, path)
}

pub(crate) async fn open(path: &PathBuf) -> SqliteStore {
    SqliteStore::open(path, SqliteSettings::default()).await.unwrap()
}

pub(crate) fn said(id: &str, text: &str) -> Input {
    let message = Arc::new(ai_provider::Message::user(text));
    Input::new(id, InputBody::Message { message, queue: Queue::Steer, parent: None })
}

pub(crate) fn lease(topic: &str, epoch: u64) -> Lease {
    Lease::new(topic.into(), "node".into(), epoch)
}

pub(crate) fn attempt(number: u64) -> AttemptId {
    AttemptId { epoch: 1, number }
}

pub(crate) fn content(row: &str, text: &str) -> RowContent {
    let mut content = RowContent::new(agent_loop::UiMessage::new(row, agent_loop::UiRole::Assistant));
    content.messages.push(Arc::new(ai_provider::Message::assistant(text)).into());
    content
}

/// Accepts an input and opens a row for it, both with this id.
pub(crate) async fn begin(store: &SqliteStore, topic: &str, id: &str) -> Claim {
    store.accept(&topic.into(), &said(id, "Hello.")).await.unwrap();
    let turn = TurnId { epoch: 1, number: 1 };
    let row = Row::assistant(id, TopicId::from(topic), turn, attempt(1), content(id, ""), 1_750_000_000_000);
    let claim = Claim { turn, attempt: attempt(1), inputs: vec![id.into()], rows: vec![row] };
    store.claim_and_open(&lease(topic, 1), &claim).await.unwrap();
    claim
}

pub(crate) fn end(id: &str, text: &str) -> Settlement {
    Settlement {
        row: id.into(),
        attempt: attempt(1),
        status: RowStatus::Complete,
        content: content(id, text),
        returned: Vec::new(),
    }
}
