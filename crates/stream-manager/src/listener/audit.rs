use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use agent_loop::{Audit, AuditEntry, AuditQueue};
use async_trait::async_trait;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

/// Where an audit is written.
#[async_trait]
pub trait AuditWriter: Send + Sync + 'static {
    /// Writes an entry. It may take its time: the runs do not wait for it.
    ///
    /// # Errors
    /// If it is not written; it is tried again later, and nothing behind it before.
    async fn write(&self, entry: &AuditEntry) -> Result<(), Box<dyn Error + Send + Sync>>;
}

/// What happens in the runs of agents, without what is said in them, written in the background.
///
/// Runs never wait for the writer. Where it is slow, samples are left out and counted; starts, ends and decisions of tools
/// and runs never are, as long as there are no more than eight times the bound of them. Give the manager the trail, and the
/// agents its [`audit`](Self::audit):
///
/// ```
/// use std::sync::Arc;
/// use agent_loop::Agent;
/// use stream_manager::StreamManager;
/// use stream_manager::listener::{AuditTrail, AuditWriter};
/// # async fn f(agent: Agent, writer: Arc<dyn AuditWriter>) -> Result<(), Box<dyn std::error::Error>> {
/// let trail = AuditTrail::new(writer);
/// let manager = StreamManager::builder(agent.with_audit(trail.audit())).with_audit(trail).build().await?;
/// # Ok(())
/// # }
/// ```
pub struct AuditTrail {
    queue: Arc<AuditQueue>,
    writer: Arc<dyn AuditWriter>,
    every: Duration,
}

/// How many entries may wait before samples are left out: some seconds of a busy process.
const BOUND: usize = 4096;

impl AuditTrail {
    /// A trail to this writer, written every second, of which 4,096 entries may wait before samples are left out.
    pub fn new(writer: Arc<dyn AuditWriter>) -> Self {
        Self { queue: Arc::new(AuditQueue::new(BOUND)), writer, every: Duration::from_secs(1) }
    }

    /// Sets how many entries may wait before samples are left out.
    #[must_use]
    pub fn with_bound(mut self, entries: usize) -> Self {
        self.queue = Arc::new(AuditQueue::new(entries));
        self
    }

    /// Sets how often it is written.
    #[must_use]
    pub fn with_interval(mut self, every: Duration) -> Self {
        self.every = every;
        self
    }

    /// What agents are given: [`Agent::with_audit`](agent_loop::Agent::with_audit).
    pub fn audit(&self) -> Audit {
        let queue = Arc::clone(&self.queue);
        Audit::new(move |entry| {
            if let Err(full) = queue.push(entry) {
                tracing::error!(%full, "an entry of the audit is lost");
            }
        })
    }

    /// How many samples were left out.
    pub fn dropped(&self) -> u64 {
        self.queue.dropped()
    }

    /// Writes until it is told to end, and then what is left, for at most `limit`.
    pub(crate) async fn run(self, end: CancellationToken, limit: Duration) {
        loop {
            let ending = tokio::select! {
                () = end.cancelled() => true,
                () = sleep(self.every) => false,
            };
            let left = self.flush(limit).await;
            if ending {
                if left > 0 {
                    tracing::error!(left, "entries of the audit could not be written before the end");
                }
                return;
            }
        }
    }

    async fn flush(&self, limit: Duration) -> usize {
        let writer = Arc::clone(&self.writer);
        let write = move |entry| {
            let writer = Arc::clone(&writer);
            async move {
                let written = writer.write(&entry).await;
                if let Err(error) = &written {
                    tracing::warn!(%error, "the audit cannot be written at the moment");
                }
                written
            }
        };
        self.queue.flush(limit, write).await
    }
}

impl fmt::Debug for AuditTrail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AuditTrail").field("waiting", &self.queue.len()).finish_non_exhaustive()
    }
}
