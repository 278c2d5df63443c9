use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use ai_provider::{AttemptEvent, Event, EventSink};

use super::control::LoopControl;

/// Attempt events on their way from the model's context to the stream of the run.
#[derive(Debug)]
pub(super) struct Attempts {
    control: Arc<dyn LoopControl>,
    /// Kept beside the queue, so that asking costs no lock per delta.
    waiting: AtomicUsize,
    queue: Mutex<VecDeque<AttemptEvent>>,
}

/// More than any run of attempts between two polls: beyond it the oldest are dropped.
const MOST: usize = 1024;

impl Attempts {
    pub(super) fn new(control: Arc<dyn LoopControl>) -> Self {
        Self { control, waiting: AtomicUsize::new(0), queue: Mutex::default() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.load(Ordering::Acquire) == 0
    }

    pub(super) fn pop(&self) -> Option<AttemptEvent> {
        if self.is_empty() {
            return None;
        }
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        let event = queue.pop_front();
        self.waiting.store(queue.len(), Ordering::Release);
        event
    }
}

impl EventSink for Attempts {
    fn emit(&self, event: Event) {
        let Event::Attempt(attempt) = event else { return };
        if catch_unwind(AssertUnwindSafe(|| self.control.on_attempt(&attempt))).is_err() {
            tracing::error!("the hook `on_attempt` panicked");
        }
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        if queue.len() >= MOST {
            queue.pop_front();
        }
        queue.push_back(attempt);
        self.waiting.store(queue.len(), Ordering::Release);
    }
}
