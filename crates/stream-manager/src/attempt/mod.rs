//! The task of one attempt: it runs the source, owns the writer of the log, and writes the row.

mod close;
mod settle;
mod stream;
mod writing;

use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use agent_loop::UiChunk;
use ai_provider::{CancellationToken, ErrorClass, ErrorRecord, Message, ModelError, UserMessage};
use futures_util::FutureExt;
use tokio::sync::mpsc;
use tokio::time::Instant;

pub(crate) use close::close_parts;

use crate::core::{End, Fact, Settle, StopWhy};
use crate::facts::Facts;
use crate::port::{Lease, LogWriter};
use crate::record::{AttemptId, InputId, Known, Row, RowContent, RowMessage, StoredInput, Terminal};
use crate::shared::Shared;
use crate::source::{InputWaits, TurnEnd, TurnEnding, TurnRun};
use writing::Writing;

/// What the topic tells the task of an attempt. Their number is bounded by that of the topic's inputs.
#[derive(Debug)]
pub(crate) enum Order {
    /// Look at the controls: the attempt is cancelled.
    Cancelled,
    /// Show this too.
    Note(Box<UiChunk>),
    /// Hand this to the run.
    Redirect(Box<StoredInput>),
    /// Write the end.
    Settle(Box<Settle>),
    /// If the end cannot be written, try once more and then give up.
    LastTry,
    /// Show the end.
    Seal(Terminal),
}

/// What the topic and the task of an attempt both hold, from before it begins.
#[derive(Clone, Debug)]
pub(crate) struct Controls {
    pub(crate) cancel: CancellationToken,
    pub(crate) waits: InputWaits,
    stop: Arc<Mutex<Option<StopWhy>>>,
    stopped: Arc<AtomicBool>,
}

impl Controls {
    pub(crate) fn new() -> Self {
        let cancel = CancellationToken::new();
        Self { cancel, waits: InputWaits::default(), stop: Arc::default(), stopped: Arc::default() }
    }

    /// Ends the attempt. The first reason counts.
    fn stop(&self, why: StopWhy) {
        self.stop.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(why);
        self.stopped.store(true, Ordering::Relaxed);
        self.cancel.cancel();
    }

    fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    fn why(&self) -> Option<StopWhy> {
        *self.stop.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How the topic reaches into an attempt.
#[derive(Clone, Debug)]
pub(crate) struct Handle {
    pub(crate) controls: Controls,
    pub(crate) orders: mpsc::UnboundedSender<Order>,
}

impl Handle {
    /// Ends the attempt. The first reason counts.
    pub(crate) fn stop(&self, why: StopWhy) {
        self.controls.stop(why);
        self.order(Order::Cancelled);
    }

    pub(crate) fn order(&self, order: Order) {
        // A task that is gone has told so.
        let _ = self.orders.send(order);
    }
}

/// What the task of an attempt is made of.
pub(crate) struct Attempt {
    pub(crate) shared: Arc<Shared>,
    pub(crate) lease: Lease,
    pub(crate) id: AttemptId,
    /// The row as it was opened.
    pub(crate) row: Row,
    pub(crate) writer: Box<dyn LogWriter>,
    pub(crate) run: TurnRun,
    /// What is shown first, behind the `start` of the message.
    pub(crate) opening: Vec<UiChunk>,
    /// Whether the row goes on, so that its message began before.
    pub(crate) goes_on: bool,
    pub(crate) controls: Controls,
    pub(crate) orders: mpsc::UnboundedReceiver<Order>,
    pub(crate) facts: Facts,
}

impl Attempt {
    /// Runs it to the end. Whatever happens, the topic hears of an end once.
    pub(crate) async fn run(self) {
        let (facts, id) = (self.facts.clone(), self.id);
        if AssertUnwindSafe(self.work()).catch_unwind().await.is_err() {
            facts.tell(Fact::Died { attempt: id });
        }
    }

    async fn work(self) {
        let mut task = Task::new(self);
        let ended = AssertUnwindSafe(task.stream()).catch_unwind().await;
        let ending = ended.unwrap_or_else(|_| {
            let error = ModelError::new(ErrorClass::Protocol, "the run panicked");
            TurnEnding::new(TurnEnd::Failed)
                .with_messages(std::mem::take(&mut task.messages))
                .with_error(error.record())
        });
        task.drop_run();
        task.open();
        let end = end_of(&ending.end);
        task.finished = task.content(ending);
        task.tell(Fact::Ended { attempt: task.at.id, end });
        // Boxed: a running attempt needs no room for it.
        Box::pin(task.settle_and_seal()).await;
    }
}

/// An attempt under way.
struct Task {
    at: Attempt,
    started: Instant,
    last: Instant,
    flushed: Instant,
    sleep: std::pin::Pin<Box<tokio::time::Sleep>>,
    /// Something has happened since the task last slept.
    progressed: bool,
    /// Something was shown since the row was last written.
    dirty: bool,
    spoke: bool,
    stopped_at: Option<Instant>,
    /// What the run has added by complete steps.
    messages: Vec<Arc<Message>>,
    /// How many of them stand in the row as it was opened, since the user spoke behind them.
    counted: usize,
    /// What was handed to the run, which has not said yet what became of it.
    handed: Vec<StoredInput>,
    writing: Writing,
    /// The chunks that end the message: held until the end is durable.
    held: Option<UiChunk>,
    finished: RowContent,
}

impl Task {
    fn new(at: Attempt) -> Self {
        let now = Instant::now();
        let finished = at.row.content.clone();
        Self {
            started: now,
            last: now,
            flushed: now,
            sleep: Box::pin(tokio::time::sleep_until(now)),
            progressed: true,
            dirty: false,
            spoke: false,
            stopped_at: None,
            messages: Vec::new(),
            counted: 0,
            handed: Vec::new(),
            writing: Writing::default(),
            held: None,
            finished,
            at,
        }
    }

    fn tell(&self, fact: Fact) {
        self.at.facts.tell(fact);
    }

    /// Shows what is shown first, once.
    fn open(&mut self) {
        for chunk in std::mem::take(&mut self.at.opening) {
            self.at.writer.append(chunk);
        }
    }

    /// Ends the run where it stands: its sockets close now, not when the row is written.
    fn drop_run(&mut self) {
        self.at.run = TurnRun::new(futures_util::stream::empty());
    }

    /// What the row holds with these messages of the run.
    fn content_with(&mut self, messages: &[Arc<Message>]) -> RowContent {
        let mut content = self.at.row.content.clone();
        content.ui = self.at.writer.message().into();
        let new = messages.get(self.counted..).unwrap_or_default();
        content.messages.extend(new.iter().cloned().map(RowMessage::from));
        content.run = None;
        content.partial = None;
        content.error = None;
        content
    }

    fn content(&mut self, ending: TurnEnding) -> RowContent {
        // A finished step is never lost, whatever the end says.
        let told = std::mem::take(&mut self.messages);
        let messages = if ending.messages.len() < told.len() { &told } else { &ending.messages };
        let mut content = self.content_with(messages);
        let waits = matches!(ending.end, TurnEnd::AwaitingApproval { .. } | TurnEnd::HandedOver { .. });
        if let (Known::Is(ui), false) = (&mut content.ui, waits) {
            close_parts(ui);
        }
        content.run = ending.run;
        content.partial = ending.partial;
        content.error = ending.error.or_else(|| self.limit_that_passed());
        if let Some(usage) = &ending.usage {
            content.usage.get_or_insert_default().add(usage);
        }
        content
    }

    /// The limit that ended the attempt, in words.
    fn limit_that_passed(&self) -> Option<ErrorRecord> {
        let limits = &self.at.shared.settings.limits;
        let (what, limit) = match self.at.controls.why()? {
            StopWhy::FirstOutput => ("no model said anything for", limits.first_output?),
            StopWhy::Idle => ("nothing happened for", limits.idle?),
            StopWhy::Total => ("the answer took longer than", limits.total?),
            _ => return None,
        };
        let message = format!("{what} {} s", limit.as_secs_f64());
        Some(ModelError::new(ErrorClass::Timeout, message).with_retryable(true).record())
    }
}

fn end_of(end: &TurnEnd) -> End {
    match end {
        TurnEnd::Complete => End::Complete,
        TurnEnd::AwaitingApproval { calls } => End::Awaiting { calls: calls.clone() },
        TurnEnd::HandedOver { calls } => End::HandedOver { calls: calls.clone() },
        TurnEnd::Stopped => End::Stopped,
        TurnEnd::Limited => End::Limited,
        TurnEnd::Failed => End::Failed,
    }
}

/// The message of an input, if it is one.
pub(crate) fn message_of(stored: &StoredInput) -> Option<&UserMessage> {
    match stored.input.body.known()? {
        crate::record::InputBody::Message { message, .. } => match &**message {
            Message::User(user) => Some(user),
            _ => None,
        },
        _ => None,
    }
}

/// The chunk that shows an input in the middle of an answer.
pub(crate) fn steering_chunk(id: &InputId, message: &UserMessage) -> UiChunk {
    UiChunk::SteeringMessage { id: id.to_string(), parts: agent_loop::UiUserPart::of(message) }
}
