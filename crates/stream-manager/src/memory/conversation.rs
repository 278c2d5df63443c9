use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};

use async_trait::async_trait;

use super::lock;
use crate::port::{
    Accepted, Checkpoint, Claim, Claiming, Conversation, ConversationStore, Lease, Orphan, Page, Settlement,
    Standing, StoreError, StoreErrorKind, TopicSummary, Written,
};
use crate::record::{Fate, Input, InputId, Known, ReturnReason, Row, RowId, RowStatus, StoredInput, TopicId};

/// Conversations in memory: everything is gone with the process.
///
/// Of a deleted topic it keeps the epoch, so that a late writer stays refused.
pub struct MemoryConversations {
    store: Mutex<Store>,
    clock: Arc<dyn Fn() -> u64 + Send + Sync>,
}

#[derive(Default)]
struct Store {
    /// The greatest epoch that each topic has seen.
    epochs: HashMap<TopicId, u64>,
    topics: HashMap<TopicId, Topic>,
}

#[derive(Default)]
struct Topic {
    rows: Vec<Row>,
    /// Where each row stands among them.
    places: HashMap<RowId, usize>,
    inputs: Vec<StoredInput>,
    /// Where each input stands among them.
    numbers: HashMap<InputId, usize>,
    title: String,
    created_at: u64,
    updated_at: u64,
}

impl Store {
    /// Refuses a lease that is not the latest.
    fn fence(&mut self, lease: &Lease) -> Result<Option<&mut Topic>, StoreError> {
        let seen = self.epochs.entry(lease.topic.clone()).or_default();
        if lease.epoch < *seen {
            return Err(StoreError::fenced(format!(
                "writing topic {} as of epoch {}",
                lease.topic, lease.epoch
            )));
        }
        *seen = lease.epoch;
        Ok(self.topics.get_mut(&lease.topic))
    }
}

impl Topic {
    fn row(&self, id: &RowId) -> Option<&Row> {
        self.rows.get(*self.places.get(id)?)
    }

    fn row_mut(&mut self, id: &RowId) -> Option<&mut Row> {
        self.rows.get_mut(*self.places.get(id)?)
    }

    fn input(&self, id: &InputId) -> Option<&StoredInput> {
        self.inputs.get(*self.numbers.get(id)?)
    }

    fn accept(&mut self, input: &Input, now: u64) -> Accepted {
        if let Some(old) = self.input(&input.id) {
            return Accepted::new(old.seq, old.fate.clone(), true);
        }
        if self.inputs.is_empty() && self.rows.is_empty() {
            self.created_at = now;
        }
        if self.title.is_empty() {
            self.title = input.title().unwrap_or_default();
        }
        self.numbers.insert(input.id.clone(), self.inputs.len());
        let seq = self.inputs.len() as u64 + 1;
        self.inputs.push(StoredInput::queued(seq, input.clone(), now));
        self.touch(now);
        Accepted::new(seq, Known::Is(Fate::Queued), false)
    }

    /// Gives an input a fate, if it still waits.
    fn end(&mut self, id: &InputId, fate: Fate, now: u64) {
        let place = self.numbers.get(id).copied();
        let input = place.and_then(|place| self.inputs.get_mut(place));
        if let Some(input) = input.filter(|input| input.is_queued()) {
            input.fate = Known::Is(fate);
            self.touch(now);
        }
    }

    fn open(&mut self, new: &Row) {
        match self.row_mut(&new.id) {
            Some(old) => *old = Row { created_at: old.created_at, ..new.clone() },
            None => {
                self.places.insert(new.id.clone(), self.rows.len());
                self.rows.push(new.clone());
            }
        }
    }

    fn touch(&mut self, now: u64) {
        self.updated_at = self.updated_at.max(now);
    }

    fn summary(&self, topic: &TopicId) -> TopicSummary {
        let rows = self.rows.len() as u64;
        TopicSummary::new(topic.clone(), self.title.clone(), rows, self.created_at, self.updated_at)
    }
}

impl MemoryConversations {
    /// Nothing is stored.
    pub fn new() -> Self {
        Self::with_clock(|| {
            let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
        })
    }

    /// Nothing is stored, and this tells the time: milliseconds since 1970.
    pub fn with_clock(clock: impl Fn() -> u64 + Send + Sync + 'static) -> Self {
        Self { store: Mutex::default(), clock: Arc::new(clock) }
    }
}

impl Default for MemoryConversations {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for MemoryConversations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let topics = lock(&self.store).topics.len();
        f.debug_struct("MemoryConversations").field("topics", &topics).finish_non_exhaustive()
    }
}

#[async_trait]
impl ConversationStore for MemoryConversations {
    async fn accept(&self, topic: &TopicId, input: &Input) -> Result<Accepted, StoreError> {
        let now = (self.clock)();
        let mut store = lock(&self.store);
        Ok(store.topics.entry(topic.clone()).or_default().accept(input, now))
    }

    async fn input(&self, topic: &TopicId, id: &InputId) -> Result<Option<StoredInput>, StoreError> {
        Ok(lock(&self.store).topics.get(topic).and_then(|topic| topic.input(id)).cloned())
    }

    async fn inbox(&self, topic: &TopicId) -> Result<Vec<StoredInput>, StoreError> {
        let store = lock(&self.store);
        let inputs = store.topics.get(topic).into_iter().flat_map(|topic| &topic.inputs);
        Ok(inputs.filter(|input| input.is_queued()).cloned().collect())
    }

    async fn claim_and_open(&self, lease: &Lease, claim: &Claim) -> Result<(), StoreError> {
        let now = (self.clock)();
        let mut store = lock(&self.store);
        let Some(topic) = store.fence(lease)? else {
            let what = format!("claiming inputs of topic {}", lease.topic);
            return Err(StoreError::new(StoreErrorKind::NotFound, what));
        };
        let fate = |id: &InputId| topic.input(id).map(|input| input.fate.clone());
        let standing = |id: &RowId| topic.row(id).map(Standing::of);
        if claim.check(&lease.topic, fate, standing)? == Claiming::New {
            for input in &claim.inputs {
                topic.end(input, Fate::Consumed { turn: claim.turn, attempt: claim.attempt }, now);
            }
            for row in &claim.rows {
                topic.open(row);
            }
            topic.touch(now);
        }
        Ok(())
    }

    async fn checkpoint(&self, lease: &Lease, checkpoint: &Checkpoint) -> Result<Written, StoreError> {
        let now = (self.clock)();
        let mut store = lock(&self.store);
        let Some(topic) = store.fence(lease)? else { return Ok(Written::Gone) };
        let Some(row) = topic.row_mut(&checkpoint.row) else { return Ok(Written::Gone) };
        if !row.is_open_for(checkpoint.attempt) {
            return Ok(Written::Already);
        }
        row.content = checkpoint.content.clone();
        row.updated_at = now;
        topic.touch(now);
        Ok(Written::Done)
    }

    async fn settle(&self, lease: &Lease, settlement: &Settlement) -> Result<Written, StoreError> {
        let now = (self.clock)();
        let mut store = lock(&self.store);
        let Some(topic) = store.fence(lease)? else { return Ok(Written::Gone) };
        for (input, why) in &settlement.returned {
            topic.end(input, Fate::Returned { why: *why }, now);
        }
        let Some(row) = topic.row_mut(&settlement.row) else { return Ok(Written::Gone) };
        if !row.can_settle(settlement.attempt) {
            return Ok(Written::Already);
        }
        row.status = Known::Is(settlement.status);
        row.content = settlement.content.clone();
        row.updated_at = now;
        topic.touch(now);
        Ok(Written::Done)
    }

    async fn return_inputs(
        &self,
        lease: &Lease,
        inputs: &[InputId],
        why: ReturnReason,
    ) -> Result<(), StoreError> {
        let now = (self.clock)();
        let mut store = lock(&self.store);
        if let Some(topic) = store.fence(lease)? {
            for input in inputs {
                topic.end(input, Fate::Returned { why }, now);
            }
        }
        Ok(())
    }

    async fn history(&self, topic: &TopicId) -> Result<Option<Conversation>, StoreError> {
        let store = lock(&self.store);
        let topic = store.topics.get(topic);
        Ok(topic.map(|topic| Conversation::new(topic.rows.clone(), topic.inputs.clone())))
    }

    async fn list(&self, page: &Page) -> Result<Vec<TopicSummary>, StoreError> {
        let store = lock(&self.store);
        let mut order: Vec<(u64, &TopicId)> = (store.topics.iter())
            .map(|(id, topic)| (topic.updated_at, id))
            .filter(|(at, id)| page.after.as_ref().is_none_or(|(after, last)| (*at, *id) < (*after, last)))
            .collect();
        order.sort_unstable_by(|one, other| other.cmp(one));
        let page = order.into_iter().take(page.limit);
        Ok(page.filter_map(|(_, id)| store.topics.get(id).map(|topic| topic.summary(id))).collect())
    }

    async fn delete(&self, lease: &Lease) -> Result<bool, StoreError> {
        let mut store = lock(&self.store);
        store.fence(lease)?;
        Ok(store.topics.remove(&lease.topic).is_some())
    }

    async fn orphans(&self) -> Result<Vec<Orphan>, StoreError> {
        let open = |row: &&Row| row.status == Known::Is(RowStatus::Open);
        let store = lock(&self.store);
        let orphans = store
            .topics
            .iter()
            .map(|(id, topic)| Orphan::new(id.clone(), topic.rows.iter().filter(open).cloned().collect()));
        Ok(orphans.filter(|orphan| !orphan.rows.is_empty()).collect())
    }

    async fn waiting(&self) -> Result<Vec<TopicId>, StoreError> {
        let store = lock(&self.store);
        let waits = store.topics.iter().filter(|(_, topic)| topic.inputs.iter().any(StoredInput::is_queued));
        Ok(waits.map(|(id, _)| id.clone()).collect())
    }
}
