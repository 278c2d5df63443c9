//! Tells what happens: to the context's sink, and to `tracing`.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use ai_provider::{
    AttemptEnd, AttemptEvent, AttemptKind, CallContext, Event, FailedAttempt, KeyLabel, ModelError,
    RequestId, RetryError, SkippedTarget, TargetId, UnifiedFinish, Usage,
};

use crate::backoff::hinted;
use crate::decide::Wait;
use crate::relay::Relay;

/// An attempt as it is spoken of.
#[derive(Clone, Debug)]
pub(crate) struct Attempt {
    pub(crate) number: u32,
    pub(crate) target: TargetId,
    pub(crate) key: Option<KeyLabel>,
    pub(crate) request_id: RequestId,
}

/// The events of one call. However the call ends, it is settled once: by a drop as cancelled.
pub(crate) struct Report {
    ctx: CallContext,
    /// What the call would try first; absent until it is polled.
    begun: Option<Attempt>,
    last: Option<Attempt>,
    /// What is told from beneath the last attempt.
    relay: Option<Arc<Relay>>,
    settled: bool,
    pub(crate) failed: Vec<FailedAttempt>,
    pub(crate) skipped: Vec<SkippedTarget>,
    /// A fallback could not be made.
    pub(crate) resolver_failed: bool,
}

impl Report {
    pub(crate) fn new(ctx: CallContext) -> Self {
        Self {
            ctx,
            begun: None,
            last: None,
            relay: None,
            settled: false,
            failed: Vec::new(),
            skipped: Vec::new(),
            resolver_failed: false,
        }
    }

    /// From here on the call has an end, whether it comes to an attempt or not.
    pub(crate) fn begin(&mut self, first: Attempt) {
        self.begun = Some(first);
    }

    /// The number of the next attempt.
    pub(crate) fn next_number(&self) -> u32 {
        self.last().map_or(1, |last| last.number.saturating_add(1))
    }

    /// The last attempt, by the number of the last one beneath it.
    fn last(&self) -> Option<Attempt> {
        let mut last = self.last.clone()?;
        last.number = self.relay.as_ref().map_or(last.number, |relay| relay.last());
        Some(last)
    }

    fn emit(&self, attempt: &Attempt, kind: AttemptKind) {
        let event =
            AttemptEvent::new(attempt.number, attempt.target.clone(), attempt.request_id.clone(), kind)
                .in_step(self.ctx.step)
                .with_key(attempt.key.clone());
        self.ctx.emit(Event::Attempt(event));
    }

    /// An attempt begins; where its model is to send what it has to tell.
    pub(crate) fn started(&mut self, attempt: Attempt) -> Arc<Relay> {
        tracing::debug!(step = self.ctx.step, attempt = attempt.number, target = %attempt.target, "attempt started");
        self.emit(&attempt, AttemptKind::Started);
        let relay = Relay::new(self.ctx.clone(), attempt.number);
        self.relay = Some(Arc::clone(&relay));
        self.last = Some(attempt);
        relay
    }

    /// The attempt that is under way failed; `safe` if nothing of its answer was shown.
    pub(crate) fn failed(&mut self, error: &ModelError, safe: bool, usage: Option<Usage>) {
        let Some(last) = self.last() else { return };
        tracing::warn!(
            step = self.ctx.step,
            attempt = last.number,
            target = %last.target,
            class = %error.class(),
            status = error.status(),
            safe,
            "attempt failed"
        );
        let kind = AttemptKind::Failed {
            error: error.record(),
            safe,
            hint: hinted(error.hint(), SystemTime::now()),
            usage: usage.map(Box::new),
        };
        let told = self.relay.as_ref().is_some_and(|relay| relay.told_failure());
        if !told {
            self.emit(&last, kind);
        }
        match (RetryError::of(error), &self.relay) {
            (Some(beneath), Some(relay)) => {
                let attempts = beneath.attempts().iter().cloned().map(|mut attempt| {
                    attempt.attempt = relay.number(attempt.attempt);
                    attempt
                });
                self.failed.extend(attempts);
                self.skipped.extend_from_slice(beneath.skipped());
            }
            _ => {
                let Attempt { number, target, key, .. } = last;
                self.failed.push(FailedAttempt { attempt: number, target, key, error: error.clone() });
            }
        }
    }

    pub(crate) fn rotated(&self, next: &Attempt) {
        let from = self.last.as_ref().and_then(|last| last.key.clone());
        tracing::info!(target = %next.target, key = next.key.as_ref().map(KeyLabel::as_str), "next key");
        self.emit(next, AttemptKind::Rotated { from });
    }

    pub(crate) fn fell_back(&self, from: &TargetId, next: &Attempt) {
        tracing::warn!(from = %from, to = %next.target, "falling back");
        self.emit(next, AttemptKind::FellBack { from: from.clone() });
    }

    /// A target was passed over, while this one is still the present one.
    pub(crate) fn skipped(&mut self, present: &Attempt, name: &str, why: String) {
        tracing::info!(name, why, "target passed over");
        self.emit(present, AttemptKind::Skipped { name: name.to_owned(), why: why.clone() });
        self.skipped.push(SkippedTarget { name: name.to_owned(), why });
    }

    pub(crate) fn waiting(&self, next: &Attempt, wait: Wait, remaining: Option<Duration>) {
        tracing::info!(target = %next.target, delay = ?wait.delay, source = ?wait.source, "waiting");
        let until = SystemTime::now().checked_add(wait.delay).unwrap_or(SystemTime::UNIX_EPOCH);
        self.emit(next, AttemptKind::Waiting { delay: wait.delay, source: wait.source, until, remaining });
    }

    pub(crate) fn answered(&mut self, finish: UnifiedFinish) {
        self.settle(AttemptEnd::Answered { finish });
    }

    pub(crate) fn gave_up(&mut self, error: &ModelError) {
        if error.is_cancelled() {
            return self.settle(AttemptEnd::Cancelled);
        }
        self.settle(AttemptEnd::Failed { error: error.record() });
    }

    fn settle(&mut self, end: AttemptEnd) {
        if std::mem::replace(&mut self.settled, true) {
            return;
        }
        if let Some(last) = self.last().or_else(|| self.begun.take()) {
            tracing::debug!(step = self.ctx.step, attempt = last.number, target = %last.target, end = ?end, "settled");
            self.emit(&last, AttemptKind::Settled { end });
        }
    }
}

impl Drop for Report {
    fn drop(&mut self) {
        self.settle(AttemptEnd::Cancelled);
    }
}
