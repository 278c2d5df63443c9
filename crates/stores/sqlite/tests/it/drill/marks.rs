//! What a process says it has done, a line each, once it is on the disk.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use stream_manager::port::{
    Accepted, Checkpoint, Claim, Conversation, ConversationStore, Lease, Orphan, Page, Settlement,
    StoreError, TopicSummary, Written,
};
use stream_manager::record::{Input, InputId, ReturnReason, RowContent, StoredInput, TopicId};
use stream_store_sqlite::SqliteStore;

/// A thing that is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Kind {
    Accept,
    Claim,
    Checkpoint,
    Settle,
}

impl Kind {
    pub(crate) const ALL: [Self; 4] = [Self::Accept, Self::Claim, Self::Checkpoint, Self::Settle];
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// A thing that was done: the `number`th of its kind.
pub(crate) struct Mark {
    pub(crate) kind: Kind,
    pub(crate) number: usize,
    pub(crate) topic: String,
    /// The input, or the row.
    pub(crate) id: String,
    /// Of an end first the status; then what the model gets of the row.
    pub(crate) texts: Vec<String>,
}

const SIGN: &str = "MARK\t";

impl Mark {
    /// A line that a kill has cut is none.
    pub(crate) fn read(line: &str) -> Option<Self> {
        let (_, line) = line.split_once(SIGN)?;
        let mut fields = line.strip_suffix("\tend")?.split('\t').map(str::to_owned);
        let name = fields.next()?;
        let kind = Kind::ALL.into_iter().find(|kind| kind.to_string() == name)?;
        let number = fields.next()?.parse().ok()?;
        Some(Self { kind, number, topic: fields.next()?, id: fields.next()?, texts: fields.collect() })
    }
}

/// What the model gets of a row, but for what the user said in the middle.
pub(crate) fn texts(content: &RowContent) -> Vec<String> {
    let said = content.messages.iter().filter(|message| message.steer.is_none());
    let texts = said.map(|message| match &*message.message {
        ai_provider::Message::Assistant(message) => message.text(),
        other => format!("{other:?}"),
    });
    texts.collect()
}

/// A store that says what was done, and where it is told to, does not come back from it.
#[derive(Debug)]
pub(crate) struct Marking {
    store: SqliteStore,
    stop: Option<(String, usize)>,
    counts: Mutex<HashMap<Kind, usize>>,
}

impl Marking {
    pub(crate) fn new(store: SqliteStore, stop: Option<(String, usize)>) -> Self {
        Self { store, stop, counts: Mutex::default() }
    }

    async fn mark(&self, kind: Kind, topic: &TopicId, id: &str, texts: &[String]) {
        let number = {
            let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
            let count = counts.entry(kind).or_default();
            *count += 1;
            // One write for one line: a kill between two of them must not join two marks.
            let fields =
                [&[kind.to_string(), count.to_string(), topic.to_string(), id.to_owned()], texts].concat();
            println!("{SIGN}{}\tend", fields.join("\t"));
            *count
        };
        if self.stop == Some((kind.to_string(), number)) {
            std::future::pending::<()>().await;
        }
    }
}

#[async_trait]
impl ConversationStore for Marking {
    async fn accept(&self, topic: &TopicId, input: &Input) -> Result<Accepted, StoreError> {
        let accepted = self.store.accept(topic, input).await?;
        self.mark(Kind::Accept, topic, input.id.as_str(), &[]).await;
        Ok(accepted)
    }

    async fn claim_and_open(&self, lease: &Lease, claim: &Claim) -> Result<(), StoreError> {
        self.store.claim_and_open(lease, claim).await?;
        let row = claim.rows.first().map_or("", |row| row.id.as_str());
        self.mark(Kind::Claim, &lease.topic, row, &[]).await;
        Ok(())
    }

    async fn checkpoint(&self, lease: &Lease, checkpoint: &Checkpoint) -> Result<Written, StoreError> {
        let written = self.store.checkpoint(lease, checkpoint).await?;
        if written == Written::Done {
            let texts = texts(&checkpoint.content);
            self.mark(Kind::Checkpoint, &lease.topic, checkpoint.row.as_str(), &texts).await;
        }
        Ok(written)
    }

    async fn settle(&self, lease: &Lease, settlement: &Settlement) -> Result<Written, StoreError> {
        let written = self.store.settle(lease, settlement).await?;
        if written == Written::Done {
            let mut told = vec![settlement.status.as_str().to_owned()];
            told.extend(texts(&settlement.content));
            self.mark(Kind::Settle, &lease.topic, settlement.row.as_str(), &told).await;
        }
        Ok(written)
    }

    async fn return_inputs(
        &self,
        lease: &Lease,
        inputs: &[InputId],
        why: ReturnReason,
    ) -> Result<(), StoreError> {
        self.store.return_inputs(lease, inputs, why).await
    }

    async fn input(&self, topic: &TopicId, id: &InputId) -> Result<Option<StoredInput>, StoreError> {
        self.store.input(topic, id).await
    }

    async fn inbox(&self, topic: &TopicId) -> Result<Vec<StoredInput>, StoreError> {
        self.store.inbox(topic).await
    }

    async fn history(&self, topic: &TopicId) -> Result<Option<Conversation>, StoreError> {
        self.store.history(topic).await
    }

    async fn list(&self, page: &Page) -> Result<Vec<TopicSummary>, StoreError> {
        self.store.list(page).await
    }

    async fn delete(&self, lease: &Lease) -> Result<bool, StoreError> {
        self.store.delete(lease).await
    }

    async fn orphans(&self) -> Result<Vec<Orphan>, StoreError> {
        self.store.orphans().await
    }

    async fn waiting(&self) -> Result<Vec<TopicId>, StoreError> {
        self.store.waiting().await
    }
}
