use async_trait::async_trait;
use stream_manager::port::{
    Accepted, Checkpoint, Claim, Conversation, ConversationStore, Lease, Orphan, Page, Settlement,
    StoreError, StoreErrorKind, TopicSummary, Written, encode,
};
use stream_manager::record::{Input, InputId, ReturnReason, StoredInput, TopicId};

use crate::read;
use crate::row::{Columns, Content};
use crate::store::{SqliteStore, now};
use crate::write::Writing;

#[async_trait]
impl ConversationStore for SqliteStore {
    async fn accept(&self, topic: &TopicId, input: &Input) -> Result<Accepted, StoreError> {
        let what = "accepting an input";
        let (topic, input, body) = (topic.clone(), input.clone(), encode(input)?);
        self.write(what, move |transaction| {
            Writing::new(transaction, what, now()).accept(&topic, &input, &body)
        })
        .await
    }

    async fn input(&self, topic: &TopicId, id: &InputId) -> Result<Option<StoredInput>, StoreError> {
        let (topic, id) = (topic.clone(), id.clone());
        self.read("reading an input", move |transaction| read::input(transaction, &topic, &id)).await
    }

    async fn inbox(&self, topic: &TopicId) -> Result<Vec<StoredInput>, StoreError> {
        let topic = topic.clone();
        self.read("reading an inbox", move |transaction| read::inbox(transaction, &topic)).await
    }

    async fn claim_and_open(&self, lease: &Lease, claim: &Claim) -> Result<(), StoreError> {
        let what = "claiming inputs";
        let rows = claim.rows.iter().map(Columns::of).collect::<Result<Vec<_>, _>>()?;
        let (lease, claim) = (lease.clone(), claim.clone());
        self.write(what, move |transaction| {
            let writing = Writing::new(transaction, what, now());
            let Some(topic) = writing.fence(&lease)? else {
                let what = format!("claiming inputs of topic {}", lease.topic);
                return Err(StoreError::new(StoreErrorKind::NotFound, what));
            };
            writing.claim(topic, &lease, &claim, &rows)
        })
        .await
    }

    async fn checkpoint(&self, lease: &Lease, checkpoint: &Checkpoint) -> Result<Written, StoreError> {
        let what = "writing a checkpoint";
        let content = Content::of(&checkpoint.content)?;
        let (lease, row, attempt) = (lease.clone(), checkpoint.row.clone(), checkpoint.attempt);
        self.write(what, move |transaction| {
            let writing = Writing::new(transaction, what, now());
            let Some(topic) = writing.fence(&lease)? else { return Ok(Written::Gone) };
            writing.checkpoint(topic, &row, attempt, &content)
        })
        .await
    }

    async fn settle(&self, lease: &Lease, settlement: &Settlement) -> Result<Written, StoreError> {
        let what = "ending an attempt";
        let content = Content::of(&settlement.content)?;
        let (lease, row) = (lease.clone(), settlement.row.clone());
        let (attempt, status, returned) =
            (settlement.attempt, settlement.status, settlement.returned.clone());
        self.write(what, move |transaction| {
            let writing = Writing::new(transaction, what, now());
            let Some(topic) = writing.fence(&lease)? else { return Ok(Written::Gone) };
            for (input, why) in &returned {
                writing.return_input(topic, input, *why)?;
            }
            writing.settle(topic, &row, attempt, status, &content)
        })
        .await
    }

    async fn return_inputs(
        &self,
        lease: &Lease,
        inputs: &[InputId],
        why: ReturnReason,
    ) -> Result<(), StoreError> {
        let what = "returning inputs";
        let (lease, inputs) = (lease.clone(), inputs.to_vec());
        self.write(what, move |transaction| {
            let writing = Writing::new(transaction, what, now());
            let Some(topic) = writing.fence(&lease)? else { return Ok(()) };
            inputs.iter().try_for_each(|input| writing.return_input(topic, input, why))
        })
        .await
    }

    async fn history(&self, topic: &TopicId) -> Result<Option<Conversation>, StoreError> {
        let topic = topic.clone();
        self.read("reading a topic", move |transaction| read::history(transaction, &topic)).await
    }

    async fn list(&self, page: &Page) -> Result<Vec<TopicSummary>, StoreError> {
        let page = page.clone();
        self.read("listing topics", move |transaction| read::list(transaction, &page)).await
    }

    async fn delete(&self, lease: &Lease) -> Result<bool, StoreError> {
        let what = "deleting a topic";
        let lease = lease.clone();
        self.write(what, move |transaction| {
            let writing = Writing::new(transaction, what, now());
            let Some(topic) = writing.fence(&lease)? else { return Ok(false) };
            writing.delete(topic).map(|()| true)
        })
        .await
    }

    async fn orphans(&self) -> Result<Vec<Orphan>, StoreError> {
        self.read("looking for open rows", read::orphans).await
    }

    async fn waiting(&self) -> Result<Vec<TopicId>, StoreError> {
        self.read("looking for inputs that wait", read::waiting).await
    }
}
