use std::collections::HashSet;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use ai_provider::Id;
use futures_core::Stream;
use serde_json::json;
use tokio::time::{Instant, Sleep, sleep_until};

use crate::said::said;
use crate::stream::Chunks;
use crate::ui::{DataChunk, UiChunk};

/// After how much silence a client is told that the run is still there. A notice never ends a run: limits of time do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProgressNotices {
    waiting: Option<Duration>,
    slow: Option<Duration>,
    stalled: Option<Duration>,
}

impl Default for ProgressNotices {
    /// `waiting` after 10 s, `slow` after 30 s, `stalled` after 60 s: about when people begin to wonder, to doubt and
    /// to give up.
    fn default() -> Self {
        let after = |seconds| Some(Duration::from_secs(seconds));
        Self { waiting: after(10), slow: after(30), stalled: after(60) }
    }
}

impl ProgressNotices {
    /// Sets when the run is `waiting`; none is never.
    #[must_use]
    pub fn with_waiting(mut self, after: impl Into<Option<Duration>>) -> Self {
        self.waiting = after.into();
        self
    }

    /// Sets when it is `slow`; none is never.
    #[must_use]
    pub fn with_slow(mut self, after: impl Into<Option<Duration>>) -> Self {
        self.slow = after.into();
        self
    }

    /// Sets when it is `stalled`; none is never.
    #[must_use]
    pub fn with_stalled(mut self, after: impl Into<Option<Duration>>) -> Self {
        self.stalled = after.into();
        self
    }

    /// The next notice after this much silence.
    fn next(&self, told: Option<Duration>) -> Option<(Duration, &'static str)> {
        let all = [(self.waiting, "waiting"), (self.slow, "slow"), (self.stalled, "stalled")];
        let due = all.into_iter().filter_map(|(after, state)| Some((after?, state)));
        // Of notices that fall together the gravest is told.
        due.rev().filter(|(after, _)| told.is_none_or(|told| *after > told)).min_by_key(|(after, _)| *after)
    }
}

impl Chunks {
    /// Tells the client when nothing comes for a while.
    pub fn with_progress(self, notices: ProgressNotices) -> ProgressChunks<Self> {
        ProgressChunks::new(self, notices)
    }

    /// Tells `hear` when nothing comes for a while, and the client nothing.
    ///
    /// ```
    /// use agent_loop::ProgressNotices;
    /// # fn f(chunks: agent_loop::Chunks) {
    /// let notices = ProgressNotices::default();
    /// let chunks = chunks.with_progress_heard(notices, |notice| {
    ///     eprintln!("{} since {} s", notice.state, notice.silence.as_secs());
    /// });
    /// # drop(chunks); }
    /// ```
    pub fn with_progress_heard(
        self,
        notices: ProgressNotices,
        hear: impl FnMut(ProgressNotice) + Send + 'static,
    ) -> ProgressChunks<Self> {
        ProgressChunks { hear: Some(Box::new(hear)), ..ProgressChunks::new(self, notices) }
    }
}

/// A notice of silence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProgressNotice {
    /// `waiting`, `slow` or `stalled`.
    pub state: &'static str,
    /// For how long nothing has come.
    pub silence: Duration,
}

type Hear = Box<dyn FnMut(ProgressNotice) + Send>;

/// Chunks with notices of silence among them: transient `data-progress`, `{"state": "waiting" | "slow" | "stalled",
/// "seconds"}`, never part of the message.
///
/// Silence is the time in which the reader waits for output: what the reader itself takes does not count, nor does the
/// time in which a person is asked about a call. Any chunk but transient data is output, and ends the silence.
pub struct ProgressChunks<S> {
    inner: S,
    notices: ProgressNotices,
    timer: Option<Pin<Box<Sleep>>>,
    /// Since when the reader waits.
    waits_since: Option<Instant>,
    /// The silence before that.
    silence: Duration,
    told: Option<Duration>,
    asked: HashSet<Id>,
    /// Who is told instead of the client.
    hear: Option<Hear>,
}

impl<S> ProgressChunks<S> {
    /// Adds notices to any stream of chunks.
    pub fn new(inner: S, notices: ProgressNotices) -> Self {
        Self {
            inner,
            notices,
            timer: None,
            waits_since: None,
            silence: Duration::ZERO,
            told: None,
            asked: HashSet::new(),
            hear: None,
        }
    }

    /// The stream beneath.
    pub fn get_ref(&self) -> &S {
        &self.inner
    }

    fn stop_waiting(&mut self) {
        if let Some(since) = self.waits_since.take() {
            self.silence += since.elapsed();
        }
    }

    fn take(&mut self, chunk: &UiChunk) {
        match chunk {
            UiChunk::Data(DataChunk { transient: Some(true), .. }) => return self.stop_waiting(),
            UiChunk::ToolApprovalRequest { tool_call_id, .. } => {
                self.asked.insert(tool_call_id.clone());
            }
            // Whatever comes next, the person has answered.
            _ => self.asked.clear(),
        }
        (self.waits_since, self.silence, self.told) = (None, Duration::ZERO, None);
    }
}

impl<S: Stream<Item = UiChunk> + Unpin> Stream for ProgressChunks<S> {
    type Item = UiChunk;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<UiChunk>> {
        let this = &mut *self;
        if let Poll::Ready(next) = Pin::new(&mut this.inner).poll_next(cx) {
            if let Some(chunk) = &next {
                this.take(chunk);
            }
            return Poll::Ready(next);
        }
        while let Some((after, state)) = this.notices.next(this.told).filter(|_| this.asked.is_empty()) {
            let since = *this.waits_since.get_or_insert_with(Instant::now);
            // Farther off than a clock can tell is never.
            let Some(due) = since.checked_add(after.saturating_sub(this.silence)) else { break };
            let timer = this.timer.get_or_insert_with(|| Box::pin(sleep_until(due)));
            if timer.deadline() != due {
                timer.as_mut().reset(due);
            }
            ready!(timer.as_mut().poll(cx));
            this.told = Some(after);
            let Some(hear) = &mut this.hear else {
                this.stop_waiting();
                let data = json!({ "state": state, "seconds": after.as_secs() });
                let name = "progress".to_owned();
                return Poll::Ready(Some(UiChunk::Data(DataChunk {
                    name,
                    id: None,
                    data,
                    transient: Some(true),
                })));
            };
            said("progress notices", || hear(ProgressNotice { state, silence: after }));
        }
        Poll::Pending
    }
}

impl<S: fmt::Debug> fmt::Debug for ProgressChunks<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProgressChunks")
            .field("inner", &self.inner)
            .field("notices", &self.notices)
            .field("told", &self.told)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
