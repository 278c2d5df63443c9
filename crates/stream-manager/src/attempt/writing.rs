use std::collections::VecDeque;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::timeout;

use crate::port::{Checkpoint, Claim, Lease, StoreError, StoreErrorKind};
use crate::record::InputId;
use crate::shared::Shared;

type Busy = Pin<Box<dyn Future<Output = Result<(), StoreError>> + Send>>;

/// What a running attempt writes, one thing at a time, while it goes on.
#[derive(Default)]
pub(super) struct Writing {
    busy: Option<(Job, Busy)>,
    /// The latest state of the row that is not written yet: it takes the place of an earlier one.
    checkpoint: Option<Checkpoint>,
    claims: VecDeque<Claim>,
    failures: u32,
}

/// Something to write.
#[derive(Clone, Debug)]
enum Job {
    Checkpoint(Box<Checkpoint>),
    Claim(Claim),
}

/// What came of writing.
#[derive(Debug)]
pub(super) enum Wrote {
    /// These inputs are consumed.
    Claimed(Vec<InputId>),
    /// These inputs cannot be consumed: they went back meanwhile, or are gone with their topic.
    Refused(Vec<InputId>),
    /// The topic is somebody else's.
    Fenced,
}

/// How long to wait before a claim is written again that the store did not take.
const AGAIN: Duration = Duration::from_millis(250);

impl Writing {
    pub(super) fn checkpoint(&mut self, checkpoint: Checkpoint) {
        self.checkpoint = Some(checkpoint);
    }

    pub(super) fn claim(&mut self, claim: Claim) {
        self.claims.push_back(claim);
    }

    /// Whether a claim is not durable yet.
    pub(super) fn owes(&self) -> bool {
        !self.claims.is_empty() || matches!(self.busy, Some((Job::Claim(_), _)))
    }

    /// Goes on writing. Ready with what is to be told; pending while something is being written, or there is nothing.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>, shared: &Arc<Shared>, lease: &Lease) -> Poll<Wrote> {
        loop {
            if self.busy.is_none() {
                let Some(job) = self.next() else { return Poll::Pending };
                let wait = if self.failures > 0 { AGAIN } else { Duration::ZERO };
                self.busy = Some((job.clone(), begin(job, wait, Arc::clone(shared), lease.clone())));
            }
            let Some((_, busy)) = &mut self.busy else { return Poll::Pending };
            let result = std::task::ready!(busy.as_mut().poll(cx));
            let Some((job, _)) = self.busy.take() else { return Poll::Pending };
            match (job, result) {
                (_, Err(error)) if error.is_fenced() => return Poll::Ready(Wrote::Fenced),
                (Job::Checkpoint(_), Ok(())) => self.failures = 0,
                (Job::Checkpoint(_), Err(error)) => {
                    // The next one holds all that this one did, and the end holds everything.
                    tracing::warn!(%error, "a running row could not be written");
                }
                (Job::Claim(claim), Ok(())) => {
                    self.failures = 0;
                    return Poll::Ready(Wrote::Claimed(claim.inputs));
                }
                (Job::Claim(claim), Err(error)) => {
                    tracing::warn!(%error, "what the user said could not be written into the running row");
                    if !error.is_transient() {
                        return Poll::Ready(Wrote::Refused(claim.inputs));
                    }
                    self.failures = self.failures.saturating_add(1);
                    self.claims.push_front(claim);
                }
            }
        }
    }

    fn next(&mut self) -> Option<Job> {
        let claim = self.claims.pop_front().map(Job::Claim);
        claim.or_else(|| self.checkpoint.take().map(Box::new).map(Job::Checkpoint))
    }
}

fn begin(job: Job, wait: Duration, shared: Arc<Shared>, lease: Lease) -> Busy {
    Box::pin(async move {
        if !wait.is_zero() {
            tokio::time::sleep(wait).await;
        }
        let write = async {
            match &job {
                Job::Checkpoint(checkpoint) => shared.store.checkpoint(&lease, checkpoint).await.map(|_| ()),
                Job::Claim(claim) => shared.store.claim_and_open(&lease, claim).await,
            }
        };
        let limit = shared.settings.store_timeout;
        let late = |_| StoreError::new(StoreErrorKind::Unavailable, "writing a running row");
        timeout(limit, write).await.map_err(late)?
    })
}

impl fmt::Debug for Writing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writing").field("busy", &self.busy.is_some()).finish_non_exhaustive()
    }
}
