//! Logs with one fault each.

use std::task::{Context, Poll};

use agent_loop::{UiChunk, UiMessage};
use async_trait::async_trait;
use stream_manager::memory::MemoryLog;
use stream_manager::port::{Lease, LogBody, LogReader, LogRecord, LogWriter, Read, StoreErrorKind};
use stream_manager::record::{AttemptId, Terminal, TopicId};

use super::*;

#[derive(Debug)]
struct Bent {
    inner: MemoryLog,
    fault: &'static str,
}

#[derive(Debug)]
struct BentWriter {
    inner: Box<dyn LogWriter>,
    fault: &'static str,
    count: u64,
}

#[derive(Debug)]
struct BentReader {
    inner: Box<dyn LogReader>,
    fault: &'static str,
    got: u64,
}

#[async_trait]
impl ReplayLog for Bent {
    async fn create(
        &self,
        lease: &Lease,
        attempt: AttemptId,
        seed: UiMessage,
    ) -> Result<Box<dyn LogWriter>, StoreError> {
        let lease = match self.fault {
            "epochs do not count" => Lease::new(lease.topic.clone(), lease.node.clone(), 1),
            _ => lease.clone(),
        };
        if self.fault == "a log is made twice" {
            self.inner.forget(&lease.topic, attempt).await?;
        }
        let inner = self.inner.create(&lease, attempt, seed).await?;
        Ok(Box::new(BentWriter { inner, fault: self.fault, count: 0 }))
    }

    async fn read(
        &self,
        topic: &TopicId,
        attempt: AttemptId,
        after: Option<u64>,
    ) -> Result<Option<Box<dyn LogReader>>, StoreError> {
        let after = match (self.fault, after) {
            ("readers begin one late", after) => Some(after.unwrap_or_default() + 1),
            ("readers get one again", Some(after)) if after > 0 && after < 1000 => Some(after - 1),
            ("beyond the end is the beginning", Some(after)) if after > 12 => None,
            (_, after) => after,
        };
        let reader = self.inner.read(topic, attempt, after).await?;
        Ok(reader
            .map(|inner| -> Box<dyn LogReader> { Box::new(BentReader { inner, fault: self.fault, got: 0 }) }))
    }

    async fn seal_orphan(
        &self,
        lease: &Lease,
        attempt: AttemptId,
        terminal: Terminal,
    ) -> Result<(), StoreError> {
        match self.fault {
            "orphans stay open" => Ok(()),
            "early epochs end logs" => {
                let lease = Lease::new(lease.topic.clone(), lease.node.clone(), 99);
                self.inner.seal_orphan(&lease, attempt, terminal).await
            }
            _ => self.inner.seal_orphan(lease, attempt, terminal).await,
        }
    }

    async fn forget(&self, topic: &TopicId, attempt: AttemptId) -> Result<(), StoreError> {
        match self.fault {
            "nothing is forgotten" => Ok(()),
            "all is forgotten" => {
                for number in 1..9 {
                    self.inner.forget(topic, AttemptId { number, ..attempt }).await?;
                }
                Ok(())
            }
            _ => self.inner.forget(topic, attempt).await,
        }
    }
}

#[async_trait]
impl LogWriter for BentWriter {
    fn append(&mut self, chunk: UiChunk) -> u64 {
        self.count += 1;
        match self.fault {
            "numbers begin at 0" => self.inner.append(chunk) - 1,
            "every seventh record is lost" if self.count.is_multiple_of(7) => self.count,
            _ => self.inner.append(chunk),
        }
    }

    fn message(&mut self) -> UiMessage {
        self.inner.message()
    }

    fn is_fenced(&self) -> bool {
        self.fault != "a fenced writer does not know" && self.inner.is_fenced()
    }

    async fn flush(&mut self) -> Result<(), StoreError> {
        self.inner.flush().await
    }

    async fn seal(&mut self, terminal: Terminal) -> Result<(), StoreError> {
        match (self.fault, self.inner.seal(terminal).await) {
            ("any end is fine", Err(error)) if error.kind() == StoreErrorKind::Conflict => Ok(()),
            (_, sealed) => sealed,
        }
    }
}

impl LogReader for BentReader {
    fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        most: usize,
        out: &mut Vec<Arc<LogRecord>>,
    ) -> Poll<Result<Read, StoreError>> {
        let polled = self.inner.poll_read(cx, most, out);
        match (self.fault, polled) {
            // Only a reader that finds something at once gets it.
            ("nobody is woken", Poll::Pending) => {
                self.got += 1;
                if self.got > 1 { Poll::Ready(Ok(Read::End)) } else { Poll::Pending }
            }
            ("a snapshot is empty", Poll::Ready(Ok(Read::Rebase(mut snapshot)))) => {
                snapshot.chunks.clear();
                Poll::Ready(Ok(Read::Rebase(snapshot)))
            }
            ("the end does not come", Poll::Ready(Ok(Read::Records))) => {
                out.retain(|record| !matches!(record.body, LogBody::Terminal(_)));
                if out.is_empty() { Poll::Ready(Ok(Read::End)) } else { Poll::Ready(Ok(Read::Records)) }
            }
            (_, polled) => polled,
        }
    }
}

const FAULTS: &[(&str, &str)] = &[
    ("numbers begin at 0", "log-records"),
    ("every seventh record is lost", "log-records"),
    ("the end does not come", "log-records"),
    ("readers begin one late", "log-cursors"),
    ("readers get one again", "log-cursors"),
    ("beyond the end is the beginning", "log-cursors"),
    ("a snapshot is empty", "log-cursors"),
    ("nobody is woken", "log-cursors"),
    ("readers begin one late", "log-live"),
    ("the end does not come", "log-live"),
    ("a snapshot is empty", "log-slow"),
    ("epochs do not count", "log-fence"),
    ("a fenced writer does not know", "log-fence"),
    ("early epochs end logs", "log-fence"),
    ("orphans stay open", "log-orphan"),
    ("any end is fine", "log-seal"),
    ("nothing is forgotten", "log-forget"),
    ("all is forgotten", "log-forget"),
    ("a log is made twice", "log-apart"),
];

#[tokio::test(start_paused = true)]
async fn a_log_with_a_fault_fails_the_check_that_is_there_for_it() {
    for (fault, check) in FAULTS {
        let suite = StoreConformance::new()
            .log(move || async move { Ok(Arc::new(Bent { inner: MemoryLog::new(), fault })) });
        assert_found(&suite.only([*check]).run().await, fault, check);
    }
    for (name, _) in LOG {
        assert!(FAULTS.iter().any(|(_, check)| check == name), "no fault proves `{name}`");
    }
}
