use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use stream_manager::port::{
    Accepted, Checkpoint, Claim, Conversation, ConversationStore, Lease, Orphan, Page, Settlement,
    StoreError, StoreErrorKind, TopicSummary, Written,
};
use stream_manager::record::{Input, InputId, ReturnReason, StoredInput, TopicId};
use tokio::sync::watch;

/// A store around another one: it fails, hangs and recovers as it is told, and counts what is asked of it.
///
/// ```
/// use std::sync::Arc;
/// use ai_testkit::store::{Fault, FaultyStore, StoreCall};
/// use stream_manager::memory::MemoryConversations;
/// use stream_manager::port::{ConversationStore, StoreErrorKind};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let store = FaultyStore::new(Arc::new(MemoryConversations::new()));
/// store.fault(StoreCall::Waiting, Fault::Fails(StoreErrorKind::Unavailable), 1);
///
/// assert!(store.waiting().await.is_err());
/// assert!(store.waiting().await.is_ok());
/// assert_eq!(store.calls(StoreCall::Waiting), 2);
/// # }
/// ```
pub struct FaultyStore {
    inner: Arc<dyn ConversationStore>,
    script: Mutex<Script>,
    /// Counts the recoveries; wakes what hangs.
    recoveries: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct Script {
    calls: HashMap<StoreCall, u64>,
    plans: Vec<Plan>,
}

#[derive(Debug)]
struct Plan {
    call: StoreCall,
    skip: u64,
    times: u64,
    fault: Fault,
}

/// A method of a [`ConversationStore`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StoreCall {
    /// [`accept`](ConversationStore::accept).
    Accept,
    /// [`input`](ConversationStore::input).
    Input,
    /// [`inbox`](ConversationStore::inbox).
    Inbox,
    /// [`claim_and_open`](ConversationStore::claim_and_open).
    Claim,
    /// [`checkpoint`](ConversationStore::checkpoint).
    Checkpoint,
    /// [`settle`](ConversationStore::settle).
    Settle,
    /// [`return_inputs`](ConversationStore::return_inputs).
    ReturnInputs,
    /// [`history`](ConversationStore::history).
    History,
    /// [`list`](ConversationStore::list).
    List,
    /// [`delete`](ConversationStore::delete).
    Delete,
    /// [`orphans`](ConversationStore::orphans).
    Orphans,
    /// [`waiting`](ConversationStore::waiting).
    Waiting,
}

impl StoreCall {
    /// The methods that write.
    pub const WRITES: [Self; 6] =
        [Self::Accept, Self::Claim, Self::Checkpoint, Self::Settle, Self::ReturnInputs, Self::Delete];
}

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// It is not done, and fails so: `Full` is a full disk.
    Fails(StoreErrorKind),
    /// It is done, and fails as `Unavailable`: the answer was lost.
    DoneButFails,
    /// It is done once the store [recovers](FaultyStore::recover), unless the caller has gone by then.
    Hangs,
    /// It is done, and answered once the store [recovers](FaultyStore::recover).
    DoneButHangs,
}

impl FaultyStore {
    /// A store without faults yet.
    pub fn new(inner: Arc<dyn ConversationStore>) -> Self {
        Self { inner, script: Mutex::default(), recoveries: watch::Sender::new(0) }
    }

    /// The next calls of a method go wrong, so many of them.
    pub fn fault(&self, call: StoreCall, fault: Fault, times: u64) {
        self.fault_after(0, call, fault, times);
    }

    /// Calls of a method go wrong, so many of them, after `skip` that do not. Of several plans for a method the first
    /// that is not used up counts.
    pub fn fault_after(&self, skip: u64, call: StoreCall, fault: Fault, times: u64) {
        self.script().plans.push(Plan { call, skip, times, fault });
    }

    /// Every call that writes goes wrong until the store recovers.
    pub fn fault_writes(&self, fault: Fault) {
        for call in StoreCall::WRITES {
            self.fault(call, fault, u64::MAX);
        }
    }

    /// Nothing goes wrong from now on, and what hangs goes on.
    pub fn recover(&self) {
        self.script().plans.clear();
        self.recoveries.send_modify(|count| *count += 1);
    }

    /// How often a method was called, with and without a fault.
    pub fn calls(&self, call: StoreCall) -> u64 {
        self.script().calls.get(&call).copied().unwrap_or_default()
    }

    /// How often the store was asked to write.
    pub fn writes(&self) -> u64 {
        StoreCall::WRITES.into_iter().map(|call| self.calls(call)).sum()
    }

    fn script(&self) -> MutexGuard<'_, Script> {
        self.script.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn next(&self, call: StoreCall) -> Option<Fault> {
        let mut script = self.script();
        *script.calls.entry(call).or_default() += 1;
        let plan = script.plans.iter_mut().find(|plan| plan.call == call && plan.times > 0)?;
        if plan.skip > 0 {
            plan.skip -= 1;
            return None;
        }
        plan.times -= 1;
        Some(plan.fault)
    }

    async fn run<T>(
        &self,
        call: StoreCall,
        work: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        // Before the fault is looked up: a recovery in between is not missed.
        let mut recovered = self.recoveries.subscribe();
        match self.next(call) {
            None => work.await,
            Some(Fault::Fails(kind)) => Err(StoreError::new(kind, format!("{call:?}, as the test wants it"))),
            Some(Fault::DoneButFails) => {
                work.await?;
                let what = format!("{call:?}, done, but not answered");
                Err(StoreError::new(StoreErrorKind::Unavailable, what))
            }
            Some(Fault::Hangs) => {
                wait(&mut recovered).await;
                work.await
            }
            Some(Fault::DoneButHangs) => {
                let done = work.await;
                wait(&mut recovered).await;
                done
            }
        }
    }
}

/// Waits for a recovery. The sender lives as long as the call.
async fn wait(recovered: &mut watch::Receiver<u64>) {
    let _ = recovered.changed().await;
}

impl fmt::Debug for FaultyStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FaultyStore").field("inner", &self.inner).finish_non_exhaustive()
    }
}

#[async_trait]
impl ConversationStore for FaultyStore {
    async fn accept(&self, topic: &TopicId, input: &Input) -> Result<Accepted, StoreError> {
        self.run(StoreCall::Accept, self.inner.accept(topic, input)).await
    }

    async fn input(&self, topic: &TopicId, id: &InputId) -> Result<Option<StoredInput>, StoreError> {
        self.run(StoreCall::Input, self.inner.input(topic, id)).await
    }

    async fn inbox(&self, topic: &TopicId) -> Result<Vec<StoredInput>, StoreError> {
        self.run(StoreCall::Inbox, self.inner.inbox(topic)).await
    }

    async fn claim_and_open(&self, lease: &Lease, claim: &Claim) -> Result<(), StoreError> {
        self.run(StoreCall::Claim, self.inner.claim_and_open(lease, claim)).await
    }

    async fn checkpoint(&self, lease: &Lease, checkpoint: &Checkpoint) -> Result<Written, StoreError> {
        self.run(StoreCall::Checkpoint, self.inner.checkpoint(lease, checkpoint)).await
    }

    async fn settle(&self, lease: &Lease, settlement: &Settlement) -> Result<Written, StoreError> {
        self.run(StoreCall::Settle, self.inner.settle(lease, settlement)).await
    }

    async fn return_inputs(
        &self,
        lease: &Lease,
        inputs: &[InputId],
        why: ReturnReason,
    ) -> Result<(), StoreError> {
        self.run(StoreCall::ReturnInputs, self.inner.return_inputs(lease, inputs, why)).await
    }

    async fn history(&self, topic: &TopicId) -> Result<Option<Conversation>, StoreError> {
        self.run(StoreCall::History, self.inner.history(topic)).await
    }

    async fn list(&self, page: &Page) -> Result<Vec<TopicSummary>, StoreError> {
        self.run(StoreCall::List, self.inner.list(page)).await
    }

    async fn delete(&self, lease: &Lease) -> Result<bool, StoreError> {
        self.run(StoreCall::Delete, self.inner.delete(lease)).await
    }

    async fn orphans(&self) -> Result<Vec<Orphan>, StoreError> {
        self.run(StoreCall::Orphans, self.inner.orphans()).await
    }

    async fn waiting(&self) -> Result<Vec<TopicId>, StoreError> {
        self.run(StoreCall::Waiting, self.inner.waiting()).await
    }
}

#[cfg(test)]
mod tests;
