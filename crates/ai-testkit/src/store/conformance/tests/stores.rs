//! Stores with one fault each: the check that is there for it finds it.

use std::collections::HashMap;
use std::sync::Mutex;

use async_trait::async_trait;
use stream_manager::memory::MemoryConversations;
use stream_manager::port::{
    Accepted, Checkpoint, Claim, Conversation, Lease, Orphan, Page, Settlement, StoreErrorKind, TopicSummary,
    Written,
};
use stream_manager::record::{Fate, Input, InputId, Known, ReturnReason, RowStatus, StoredInput, TopicId};

use super::*;

/// A healthy store, but for one thing.
#[derive(Debug)]
struct Bent {
    inner: MemoryConversations,
    fault: &'static str,
    /// What was deleted, and how often it was asked for something.
    deleted: Mutex<HashMap<TopicId, Conversation>>,
    calls: Mutex<u64>,
}

impl Bent {
    fn is(&self, fault: &str) -> bool {
        self.fault == fault
    }

    /// A lease that is never refused, but for what has to do with the fault.
    fn lease(&self, lease: &Lease, fault: &str) -> Lease {
        if self.is(fault) {
            Lease::new(lease.topic.clone(), lease.node.clone(), u64::MAX)
        } else {
            lease.clone()
        }
    }

    fn count(&self) -> u64 {
        let mut calls = self.calls.lock().unwrap();
        *calls += 1;
        *calls
    }
}

#[async_trait]
impl ConversationStore for Bent {
    async fn accept(&self, topic: &TopicId, input: &Input) -> Result<Accepted, StoreError> {
        let mut input = input.clone();
        if self.is("long ids are cut") && input.id.as_str().len() > 1000 {
            input.id = input.id.as_str()[..1000].into();
        }
        if self.is("ids have no case") {
            return self.inner.accept(&topic.as_str().to_lowercase().into(), &input).await;
        }
        if self.is("ids are joined") {
            let known = self.inner.list(&Page { limit: 1000, after: None }).await?;
            let joined = |topic: &TopicId, input: &InputId| format!("{topic}:{input}");
            for other in known {
                let history = self.inner.history(&other.topic).await?.unwrap();
                let mut ids = history.inputs.iter().map(|it| joined(&other.topic, &it.input.id));
                if other.topic != *topic && ids.any(|id| id == joined(topic, &input.id)) {
                    return Ok(Accepted::new(1, Known::Is(Fate::Queued), true));
                }
            }
        }
        if self.is("large inputs are cut") && serde_json::to_string(&input).unwrap().len() > 1 << 20 {
            input = Input::new(input.id, stream_manager::record::InputBody::Regenerate { row: "r".into() });
        }
        if self.is("models are lost") {
            input.models.clear();
        }
        if self.is("unknown inputs are lost") && input.body.known().is_none() {
            input.body = Known::Other(serde_json::Value::Null);
        }
        let mut accepted = self.inner.accept(topic, &input).await?;
        match self.fault {
            "numbers begin at 0" => accepted.seq -= 1,
            "doubles are not told" => accepted.duplicate = false,
            "the fate of a double is not told" => accepted.fate = Known::Is(Fate::Queued),
            "two at once are both the first" if accepted.duplicate && self.count().is_multiple_of(3) => {
                accepted.duplicate = false;
            }
            "a double is written over" if accepted.duplicate => {
                let old = Lease::new(topic.clone(), "x".into(), 0);
                self.inner.delete(&old).await?;
                self.inner.accept(topic, &input).await?;
            }
            _ => {}
        }
        Ok(accepted)
    }

    async fn input(&self, topic: &TopicId, id: &InputId) -> Result<Option<StoredInput>, StoreError> {
        self.inner.input(topic, id).await
    }

    async fn inbox(&self, topic: &TopicId) -> Result<Vec<StoredInput>, StoreError> {
        let mut inbox = self.inner.inbox(topic).await?;
        if self.is("the inbox runs backwards") {
            inbox.reverse();
        }
        Ok(inbox)
    }

    async fn claim_and_open(&self, lease: &Lease, claim: &Claim) -> Result<(), StoreError> {
        let mut claim = claim.clone();
        let lease = &self.lease(lease, "claims are not fenced");
        match self.fault {
            "a claim leaves the inputs" => claim.inputs.clear(),
            "a claim opens no rows" => claim.rows.clear(),
            "rows come by their ids" => claim.rows.sort_by(|one, other| one.id.cmp(&other.id)),
            "messages of a row are lost" => {
                claim.rows.iter_mut().for_each(|row| row.content.messages.clear())
            }
            "a claim is half made" => {
                for row in &claim.rows {
                    let half = Claim { inputs: Vec::new(), rows: vec![row.clone()], ..claim.clone() };
                    let _ = self.inner.claim_and_open(lease, &half).await;
                }
            }
            "claims of one input are all made" => {
                let result = self.inner.claim_and_open(lease, &claim).await;
                let lost = result.is_err();
                if lost && claim.rows.first().is_some_and(|row| row.id.as_str().starts_with("row-")) {
                    return Ok(());
                }
                return result;
            }
            "a claim cannot be made again" => {
                let history = self.inner.history(&lease.topic).await?.unwrap_or_default();
                if claim
                    .rows
                    .iter()
                    .any(|row| history.rows.iter().any(|old| old.id == row.id && old.attempt == row.attempt))
                {
                    return Err(StoreError::new(StoreErrorKind::Conflict, "again"));
                }
            }
            "a row is opened for good" => {
                let history = self.inner.history(&lease.topic).await?.unwrap_or_default();
                if claim
                    .rows
                    .iter()
                    .any(|row| history.rows.iter().any(|old| old.id == row.id && old.attempt != row.attempt))
                {
                    return Err(StoreError::new(StoreErrorKind::Conflict, "there"));
                }
            }
            "a claim makes a topic" if self.inner.history(&lease.topic).await?.is_none() => return Ok(()),
            _ => {}
        }
        self.inner.claim_and_open(lease, &claim).await
    }

    async fn checkpoint(&self, lease: &Lease, checkpoint: &Checkpoint) -> Result<Written, StoreError> {
        let lease = &self.lease(lease, "checkpoints are not fenced");
        let mut checkpoint = checkpoint.clone();
        let known = self.inner.history(&lease.topic).await?;
        let row = known.iter().flat_map(|it| &it.rows).find(|row| row.id == checkpoint.row);
        match (self.fault, row) {
            ("a checkpoint is of any attempt", Some(row)) => {
                checkpoint.attempt = row.attempt.unwrap_or(checkpoint.attempt)
            }
            ("a checkpoint makes a row", None) if known.is_some() => {
                let (turn, number) = (super::super::kit::turn(1), checkpoint.attempt.number);
                let mut row = super::super::kit::open(&lease.topic, checkpoint.row.as_str(), number);
                row.turn = turn;
                let claim = Claim { turn, attempt: checkpoint.attempt, inputs: Vec::new(), rows: vec![row] };
                self.inner.claim_and_open(lease, &claim).await?;
            }
            ("a checkpoint is kept for later", _) => return Ok(Written::Done),
            ("large rows are cut", _)
                if serde_json::to_string(&checkpoint.content).unwrap().len() > 1 << 23 =>
            {
                checkpoint.content.messages.clear();
            }
            ("JSON is read to a depth", _) => {
                let text = serde_json::to_string(&checkpoint.content).unwrap();
                if serde_json::from_str::<serde_json::Value>(&text).is_err() {
                    return Err(StoreError::new(StoreErrorKind::Corrupt, "deep"));
                }
            }
            _ => {}
        }
        let written = self.inner.checkpoint(lease, &checkpoint).await?;
        if self.is("a gone row is told as written") && written == Written::Gone {
            return Ok(Written::Done);
        }
        Ok(written)
    }

    async fn settle(&self, lease: &Lease, settlement: &Settlement) -> Result<Written, StoreError> {
        let lease = &self.lease(lease, "ends are not fenced");
        let mut settlement = settlement.clone();
        let known = self.inner.history(&lease.topic).await?;
        let row = known.iter().flat_map(|it| &it.rows).find(|row| row.id == settlement.row);
        match (self.fault, row) {
            ("an end returns nothing", _) => settlement.returned.clear(),
            ("a late end returns nothing", Some(row)) if !row.can_settle(settlement.attempt) => {
                settlement.returned.clear()
            }
            ("a row ends twice", Some(row)) if row.status != Known::Is(RowStatus::Open) => {
                return Ok(Written::Done);
            }
            ("what waits for approval cannot end", Some(row))
                if row.status == Known::Is(RowStatus::AwaitingApproval) =>
            {
                return Ok(Written::Already);
            }
            ("every end is complete", _) => settlement.status = RowStatus::Complete,
            _ => {}
        }
        self.inner.settle(lease, &settlement).await
    }

    async fn return_inputs(
        &self,
        lease: &Lease,
        inputs: &[InputId],
        why: ReturnReason,
    ) -> Result<(), StoreError> {
        let lease = &self.lease(lease, "returns are not fenced");
        if self.is("a return of nothing is not seen") && inputs.is_empty() {
            return Ok(());
        }
        let why = if self.is("the reason is lost") { ReturnReason::Stopped } else { why };
        self.inner.return_inputs(lease, inputs, why).await
    }

    async fn history(&self, topic: &TopicId) -> Result<Option<Conversation>, StoreError> {
        let found = self.inner.history(topic).await?;
        if self.is("history is never nothing") {
            return Ok(Some(found.unwrap_or_default()));
        }
        Ok(found)
    }

    async fn list(&self, page: &Page) -> Result<Vec<TopicSummary>, StoreError> {
        let mut page = page.clone();
        if self.is("pages overlap") {
            page.after = page.after.map(|(at, topic)| (at + 1, topic));
        }
        let mut topics = self.inner.list(&page).await?;
        match self.fault {
            "the oldest comes first" => topics.reverse(),
            "titles are long" => topics.iter_mut().for_each(|topic| topic.title.push('…')),
            _ => {}
        }
        Ok(topics)
    }

    async fn delete(&self, lease: &Lease) -> Result<bool, StoreError> {
        let lease = &self.lease(lease, "deletions are not fenced");
        if self.is("a deleted topic stays") {
            let known = self.inner.history(&lease.topic).await?;
            let first =
                self.deleted.lock().unwrap().insert(lease.topic.clone(), known.clone().unwrap_or_default());
            return Ok(known.is_some() && first.is_none());
        }
        self.inner.delete(lease).await
    }

    async fn orphans(&self) -> Result<Vec<Orphan>, StoreError> {
        let mut orphans = self.inner.orphans().await?;
        if self.is("one open row is enough") {
            orphans.iter_mut().for_each(|orphan| orphan.rows.truncate(1));
        }
        Ok(orphans)
    }

    async fn waiting(&self) -> Result<Vec<TopicId>, StoreError> {
        if self.is("every topic waits") {
            let all = self.inner.list(&Page::default()).await?;
            return Ok(all.into_iter().map(|topic| topic.topic).collect());
        }
        self.inner.waiting().await
    }
}

const FAULTS: &[(&str, &str)] = &[
    ("numbers begin at 0", "accept"),
    ("models are lost", "accept"),
    ("the inbox runs backwards", "accept"),
    ("history is never nothing", "accept"),
    ("doubles are not told", "accept-again"),
    ("the fate of a double is not told", "accept-again"),
    ("a double is written over", "accept-again"),
    ("two at once are both the first", "accept-at-once"),
    ("a claim leaves the inputs", "claim"),
    ("a claim opens no rows", "claim"),
    ("a claim cannot be made again", "claim-again"),
    ("a claim is half made", "claim-conflict"),
    ("a claim makes a topic", "claim-conflict"),
    ("claims of one input are all made", "claim-at-once"),
    ("a row is opened for good", "reopen"),
    ("a checkpoint is of any attempt", "checkpoint"),
    ("a checkpoint makes a row", "checkpoint"),
    ("a checkpoint is kept for later", "checkpoint"),
    ("a gone row is told as written", "checkpoint"),
    ("a row ends twice", "settle"),
    ("what waits for approval cannot end", "settle"),
    ("every end is complete", "settle"),
    ("an end returns nothing", "settle-returns"),
    ("a late end returns nothing", "settle-returns"),
    ("the reason is lost", "return"),
    ("claims are not fenced", "fence"),
    ("checkpoints are not fenced", "fence"),
    ("ends are not fenced", "fence"),
    ("returns are not fenced", "fence"),
    ("deletions are not fenced", "fence"),
    ("a return of nothing is not seen", "fence-seen"),
    ("messages of a row are lost", "fields"),
    ("unknown inputs are lost", "fields"),
    ("rows come by their ids", "order"),
    ("the oldest comes first", "list"),
    ("titles are long", "list"),
    ("pages overlap", "pages"),
    ("a deleted topic stays", "delete"),
    ("one open row is enough", "orphans"),
    ("every topic waits", "waiting"),
    ("large inputs are cut", "large"),
    ("large rows are cut", "large"),
    ("JSON is read to a depth", "deep"),
    ("long ids are cut", "ids"),
    ("ids have no case", "ids"),
    ("ids are joined", "apart"),
];

#[tokio::test]
async fn a_store_with_a_fault_fails_the_check_that_is_there_for_it() {
    for (fault, check) in FAULTS {
        let suite = StoreConformance::new().conversations(move || async move {
            let inner = MemoryConversations::new();
            Ok(Arc::new(Bent { inner, fault, deleted: Mutex::default(), calls: Mutex::default() }))
        });
        assert_found(&suite.only([*check]).run().await, fault, check);
    }
}

#[test]
fn every_check_of_stores_is_proved() {
    for (name, _) in CONVERSATIONS {
        assert!(FAULTS.iter().any(|(_, check)| check == name), "no fault proves `{name}`");
    }
}
