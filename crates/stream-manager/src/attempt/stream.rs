use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use agent_loop::UiChunk;
use ai_provider::{ErrorClass, ModelError};
use tokio::time::Instant;

use super::writing::Wrote;
use super::{Order, Task, message_of, steering_chunk};
use crate::core::{Fact, StopWhy};
use crate::port::{Checkpoint, Claim};
use crate::record::{RowMessage, StoredInput};
use crate::shared::later;
use crate::source::{TurnEnd, TurnEnding, TurnEvent};

/// How many events are taken in one go: a source that is always ready must not keep the others of its thread waiting.
const BATCH: usize = 64;

impl Task {
    /// Runs the source to its end.
    pub(super) async fn stream(&mut self) -> TurnEnding {
        poll_fn(|cx| self.poll_stream(cx)).await
    }

    fn poll_stream(&mut self, cx: &mut Context<'_>) -> Poll<TurnEnding> {
        while let Poll::Ready(Some(order)) = self.at.orders.poll_recv(cx) {
            self.order(order);
        }
        for _ in 0..BATCH {
            match self.at.run.events.as_mut().poll_next(cx) {
                Poll::Ready(Some(event)) => {
                    self.progressed = true;
                    if let Some(ending) = self.event(event) {
                        return Poll::Ready(ending);
                    }
                }
                Poll::Ready(None) => {
                    let error = ModelError::new(ErrorClass::Incomplete, "the run stopped without an end");
                    let messages = std::mem::take(&mut self.messages);
                    let ending = TurnEnding::new(TurnEnd::Failed).with_messages(messages);
                    return Poll::Ready(ending.with_error(error.record()));
                }
                Poll::Pending => {
                    self.poll_writing(cx);
                    return self.poll_limits(cx);
                }
            }
        }
        self.poll_writing(cx);
        match self.poll_limits(cx) {
            Poll::Pending => {
                cx.waker().wake_by_ref();
                Poll::Pending
            }
            ready => ready,
        }
    }

    fn order(&mut self, order: Order) {
        match order {
            Order::Cancelled => self.stopped_at = self.stopped_at.or_else(|| Some(Instant::now())),
            Order::Note(chunk) if self.at.opening.is_empty() => {
                self.at.writer.append(*chunk);
            }
            Order::Note(chunk) => self.at.opening.push(*chunk),
            Order::Redirect(stored) => self.hand_over(*stored),
            // None of these comes before the end was told.
            Order::Settle(_) | Order::LastTry | Order::Seal(_) => {}
        }
    }

    fn hand_over(&mut self, stored: StoredInput) {
        match (&self.at.run.redirect, message_of(&stored)) {
            (Some(redirect), Some(message)) if !self.at.controls.is_stopped() => {
                redirect.redirect(&stored.input.id, message);
                self.handed.push(stored);
            }
            _ => self.tell(Fact::NotRedirected { attempt: self.at.id, inputs: vec![stored.input.id] }),
        }
    }

    fn event(&mut self, event: TurnEvent) -> Option<TurnEnding> {
        match event {
            TurnEvent::Chunk(chunk) => self.chunk(chunk),
            TurnEvent::Step(messages) => {
                self.messages = messages;
                self.write_row();
            }
            TurnEvent::Redirected(inputs) => {
                for input in inputs {
                    if let Some(at) = self.handed.iter().position(|stored| stored.input.id == input) {
                        let stored = self.handed.remove(at);
                        self.take_up(stored);
                    }
                }
            }
            TurnEvent::NotRedirected(inputs) => {
                self.handed.retain(|stored| !inputs.contains(&stored.input.id));
                self.tell(Fact::NotRedirected { attempt: self.at.id, inputs });
            }
            TurnEvent::End(ending) => return Some(*ending),
        }
        None
    }

    fn chunk(&mut self, chunk: UiChunk) {
        if self.held.is_some() {
            return;
        }
        match &chunk {
            UiChunk::Finish { .. } | UiChunk::Error { .. } | UiChunk::Abort { .. } => {
                self.held = Some(chunk);
                return;
            }
            UiChunk::Start { .. } => {
                if !self.at.goes_on {
                    self.at.writer.append(chunk);
                }
                self.open();
                return;
            }
            UiChunk::TextDelta { .. } | UiChunk::ReasoningDelta { .. } | UiChunk::ToolInputDelta { .. }
                if self.at.controls.is_stopped() =>
            {
                return;
            }
            _ => {}
        }
        if !self.at.opening.is_empty() {
            self.open();
        }
        if !self.spoke && says_something(&chunk) {
            self.spoke = true;
            self.tell(Fact::Spoke { attempt: self.at.id });
        }
        self.dirty = true;
        self.at.writer.append(chunk);
    }

    /// What the user said stands in the row from here on.
    fn take_up(&mut self, stored: StoredInput) {
        let Some(message) = message_of(&stored) else { return };
        self.at.writer.append(steering_chunk(&stored.input.id, message));
        let inputs = vec![stored.input.id.clone()];
        if let Some(crate::record::InputBody::Message { message, .. }) = stored.input.body.known() {
            let message = RowMessage { message: Arc::clone(message), steer: Some(stored.input.id.clone()) };
            let new = self.messages.get(self.counted..).unwrap_or_default().iter().cloned();
            self.at.row.content.messages.extend(new.map(RowMessage::from));
            self.counted = self.messages.len();
            self.at.row.content.messages.push(message);
        }
        let mut row = self.at.row.clone();
        row.content = self.content_with(&[]);
        let claim = Claim { turn: row.turn, attempt: self.at.id, inputs, rows: vec![row] };
        self.writing.claim(claim);
    }

    fn write_row(&mut self) {
        let messages = std::mem::take(&mut self.messages);
        let content = self.content_with(&messages);
        self.messages = messages;
        self.dirty = false;
        self.flushed = Instant::now();
        let row = self.at.row.id.clone();
        self.writing.checkpoint(Checkpoint { row, attempt: self.at.id, content });
    }

    pub(super) fn poll_writing(&mut self, cx: &mut Context<'_>) {
        while let Poll::Ready(wrote) = self.writing.poll(cx, &self.at.shared, &self.at.lease) {
            match wrote {
                Wrote::Claimed(inputs) => self.tell(Fact::Redirected { attempt: self.at.id, inputs }),
                Wrote::Refused(inputs) => {
                    let kept =
                        |message: &RowMessage| message.steer.as_ref().is_none_or(|id| !inputs.contains(id));
                    self.at.row.content.messages.retain(kept);
                    self.finished.messages.retain(kept);
                    self.tell(Fact::NotRedirected { attempt: self.at.id, inputs });
                }
                Wrote::Fenced => {
                    self.tell(Fact::LeaseLost);
                    return;
                }
            }
        }
    }

    /// Looks at the clock: cancels what takes too long, and writes the row from time to time.
    fn poll_limits(&mut self, cx: &mut Context<'_>) -> Poll<TurnEnding> {
        loop {
            let now = Instant::now();
            if std::mem::take(&mut self.progressed) {
                self.last = now;
            }
            if let Some(at) = self.stopped_at
                && now >= later(at, self.at.shared.settings.stop_grace)
            {
                let messages = std::mem::take(&mut self.messages);
                return Poll::Ready(TurnEnding::new(TurnEnd::Stopped).with_messages(messages));
            }
            if self.dirty && now >= later(self.flushed, self.at.shared.settings.flush_every) {
                self.write_row();
                self.poll_writing(cx);
            }
            let due = self.next_limit(now);
            let Some(due) = due else { return Poll::Pending };
            let armed = self.sleep.deadline();
            if armed > due || armed <= now {
                self.sleep.as_mut().reset(due);
            }
            if Pin::new(&mut self.sleep).poll(cx).is_pending() {
                return Poll::Pending;
            }
        }
    }

    /// When to look at the clock next. A limit that has passed stops the attempt.
    fn next_limit(&mut self, now: Instant) -> Option<Instant> {
        let settings = &self.at.shared.settings;
        let mut due = self.dirty.then(|| later(self.flushed, settings.flush_every));
        if let Some(at) = self.stopped_at {
            due = earlier(due, later(at, settings.stop_grace));
            return due;
        }
        let limits = settings.limits;
        let waits = (!self.spoke).then_some(limits.first_output).flatten();
        let passed = [
            (StopWhy::FirstOutput, waits.map(|limit| later(self.started, limit))),
            (StopWhy::Idle, limits.idle.map(|limit| later(self.last, limit))),
            (StopWhy::Total, limits.total.map(|limit| later(self.started, limit))),
        ];
        for (why, at) in passed {
            match at {
                Some(at) if at <= now => {
                    self.stopped_at = Some(now);
                    self.at.controls.stop(why);
                    return Some(later(now, settings.stop_grace));
                }
                Some(at) => due = earlier(due, at),
                None => {}
            }
        }
        due
    }
}

fn earlier(due: Option<Instant>, at: Instant) -> Option<Instant> {
    Some(due.map_or(at, |due| due.min(at)))
}

/// Whether a model, or a tool, has done something that a user can see.
fn says_something(chunk: &UiChunk) -> bool {
    match chunk {
        UiChunk::TextDelta { delta, .. } | UiChunk::ReasoningDelta { delta, .. } => !delta.is_empty(),
        UiChunk::Start { .. }
        | UiChunk::StartStep
        | UiChunk::FinishStep
        | UiChunk::ResetStep
        | UiChunk::TextStart { .. }
        | UiChunk::ReasoningStart { .. }
        | UiChunk::MessageMetadata { .. }
        | UiChunk::SteeringMessage { .. } => false,
        UiChunk::Data(data) => data.transient != Some(true),
        _ => true,
    }
}
