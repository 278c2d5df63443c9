//! The events of a retry layer beneath this one, told as part of this one's attempts.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use ai_provider::{AttemptKind, CallContext, Event, EventSink};

/// Where a model beneath sends its events during one attempt. Its attempts are counted on from this one, its start is
/// this one's, and its end is no end of the call.
pub(crate) struct Relay {
    ctx: CallContext,
    /// The number of the attempt it stands for.
    first: u32,
    last: AtomicU32,
    /// Whether the last attempt was told to have failed.
    failed: AtomicBool,
}

impl Relay {
    pub(crate) fn new(ctx: CallContext, first: u32) -> Arc<Self> {
        Arc::new(Self { ctx, first, last: AtomicU32::new(first), failed: AtomicBool::new(false) })
    }

    /// The number of the last attempt that was told of.
    pub(crate) fn last(&self) -> u32 {
        self.last.load(Ordering::Relaxed)
    }

    pub(crate) fn told_failure(&self) -> bool {
        self.failed.load(Ordering::Relaxed)
    }

    /// The number a call above counts an attempt beneath by.
    pub(crate) fn number(&self, beneath: u32) -> u32 {
        self.first.saturating_add(beneath.saturating_sub(1))
    }
}

impl EventSink for Relay {
    fn emit(&self, event: Event) {
        let Event::Attempt(mut attempt) = event else { return self.ctx.emit(event) };
        attempt.attempt = self.number(attempt.attempt);
        match &attempt.kind {
            AttemptKind::Settled { .. } => return,
            AttemptKind::Started => {
                self.failed.store(false, Ordering::Relaxed);
                self.last.fetch_max(attempt.attempt, Ordering::Relaxed);
                if attempt.attempt == self.first {
                    return;
                }
            }
            AttemptKind::Failed { .. } => self.failed.store(true, Ordering::Relaxed),
            _ => {}
        }
        self.ctx.emit(Event::Attempt(attempt));
    }
}
