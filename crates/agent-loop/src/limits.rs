use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use ai_core::{ToolError, ToolStream, ToolYield};
use ai_provider::{ErrorClass, ModelError, ModelStream, StreamPart};
use futures_core::Stream;
use tokio::time::{Instant, Sleep};

/// How long things may take. Nothing is limited unless set.
///
/// ```
/// use agent_loop::Timeouts;
/// use std::time::Duration;
/// let patient = Timeouts::new()
///     .with_first_output(Duration::from_secs(60))
///     .with_between_outputs(Duration::from_secs(30));
/// assert_eq!(patient.total, None);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Timeouts {
    /// For the whole run, from its start; time in which a person decides does not count. The run then ends as
    /// `Budget { kind: Time }`, cleanly. A run that is resumed has it anew.
    pub total: Option<Duration>,
    /// For a step: its model call fails when the time is up, and each of its tools has what the call left of it.
    pub step: Option<Duration>,
    /// From the first request of a step to the first output, attempts and waits of a retrying model included. The
    /// step fails when it is up. An answer that is asked for in one body is one output.
    pub first_output: Option<Duration>,
    /// Between two outputs of an answer. Time in which the consumer does not ask for more does not count. The step
    /// fails when it is up.
    pub between_outputs: Option<Duration>,
    /// For a tool that states no limit of its own.
    pub tool: Option<Duration>,
}

impl Timeouts {
    /// No limits.
    pub fn new() -> Self {
        Self::default()
    }

    /// Limits the run.
    #[must_use]
    pub fn with_total(mut self, limit: Duration) -> Self {
        self.total = Some(limit);
        self
    }

    /// Limits each step.
    #[must_use]
    pub fn with_step(mut self, limit: Duration) -> Self {
        self.step = Some(limit);
        self
    }

    /// Limits the wait for the first output of a step.
    #[must_use]
    pub fn with_first_output(mut self, limit: Duration) -> Self {
        self.first_output = Some(limit);
        self
    }

    /// Limits the wait between two outputs.
    #[must_use]
    pub fn with_between_outputs(mut self, limit: Duration) -> Self {
        self.between_outputs = Some(limit);
        self
    }

    /// Limits each tool.
    #[must_use]
    pub fn with_tool(mut self, limit: Duration) -> Self {
        self.tool = Some(limit);
        self
    }

    /// Whether the model call of a step is limited.
    pub(crate) fn limits_model(&self) -> bool {
        self.step.is_some() || self.first_output.is_some() || self.between_outputs.is_some()
    }

    /// Limits the stream of one model call.
    pub(crate) fn watch(&self, stream: ModelStream, spent: Arc<Spent>) -> ModelStream {
        Box::pin(Timed {
            stream: Some(stream),
            limits: *self,
            spent,
            started: None,
            waiting: None,
            waited: Duration::ZERO,
            said: false,
            sleep: None,
        })
    }

    /// Limits a tool to what the model call of its step has left.
    pub(crate) fn limit_tool(&self, run: ToolStream, spent: &Spent) -> ToolStream {
        match self.step {
            Some(step) => Box::pin(Limited {
                run: Some(run),
                step,
                left: step.saturating_sub(spent.get()),
                sleep: None,
            }),
            None => run,
        }
    }
}

/// What the model call of a step took.
#[derive(Debug, Default)]
pub(crate) struct Spent(Mutex<Duration>);

impl Spent {
    fn set(&self, took: Duration) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = took;
    }

    fn get(&self) -> Duration {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The answer of a model, in time or not.
struct Timed {
    stream: Option<ModelStream>,
    limits: Timeouts,
    spent: Arc<Spent>,
    started: Option<Instant>,
    /// Since when the consumer waits.
    waiting: Option<Instant>,
    /// How long it waited for this output in earlier polls.
    waited: Duration,
    /// Whether there was any output.
    said: bool,
    sleep: Option<Pin<Box<Sleep>>>,
}

impl Timed {
    /// What is up next, and when.
    fn next_limit(&self, started: Instant, waiting: Instant) -> Option<(Instant, Late)> {
        let step = self.limits.step.and_then(|limit| Some((started.checked_add(limit)?, Late::Step(limit))));
        let output = if self.said {
            self.limits.between_outputs.map(|limit| (limit, Late::Between(limit)))
        } else {
            self.limits.first_output.map(|limit| (limit, Late::First(limit)))
        };
        let output = output
            .and_then(|(limit, late)| Some((waiting.checked_add(limit.saturating_sub(self.waited))?, late)));
        [step, output].into_iter().flatten().min_by_key(|(at, _)| *at)
    }

    fn over(&mut self) {
        self.stream = None;
        if let Some(started) = self.started {
            self.spent.set(started.elapsed());
        }
    }

    fn fail(&mut self, late: Late) -> Poll<Option<Result<StreamPart, ModelError>>> {
        self.over();
        Poll::Ready(Some(Err(ModelError::new(ErrorClass::Timeout, late.to_string()))))
    }

    fn wait(&mut self, until: Instant, cx: &mut Context<'_>) -> Poll<()> {
        let sleep = self.sleep.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(until)));
        if sleep.deadline() != until {
            sleep.as_mut().reset(until);
        }
        sleep.as_mut().poll(cx)
    }
}

impl Stream for Timed {
    type Item = Result<StreamPart, ModelError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        let Some(stream) = &mut this.stream else { return Poll::Ready(None) };
        let polled = stream.as_mut().poll_next(cx);
        let now = Instant::now();
        let started = *this.started.get_or_insert(now);
        let waiting = *this.waiting.get_or_insert(now);
        match polled {
            Poll::Ready(item) => {
                this.waited += now.saturating_duration_since(waiting);
                this.waiting = None;
                match &item {
                    Some(Ok(StreamPart::Finish(_))) => this.spent.set(now.saturating_duration_since(started)),
                    Some(Ok(part)) => {
                        if part.commits() {
                            this.waited = Duration::ZERO;
                            this.said = true;
                        }
                        // While a model always has something, nobody lets the timer ring.
                        if let Some((until, late)) = this.next_limit(started, now)
                            && until <= now
                        {
                            return this.fail(late);
                        }
                    }
                    Some(Err(_)) | None => this.over(),
                }
                Poll::Ready(item)
            }
            Poll::Pending => {
                let Some((until, late)) = this.next_limit(started, waiting) else { return Poll::Pending };
                ready!(this.wait(until, cx));
                this.fail(late)
            }
        }
    }
}

/// Which limit passed.
#[derive(Clone, Copy)]
enum Late {
    Step(Duration),
    First(Duration),
    Between(Duration),
}

impl fmt::Display for Late {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Step(limit) => write!(f, "the step took longer than {limit:?}"),
            Self::First(limit) => write!(f, "the model gave no output within {limit:?}"),
            Self::Between(limit) => write!(f, "the model gave no further output within {limit:?}"),
        }
    }
}

/// A tool that ends with its step's time.
struct Limited {
    run: Option<ToolStream>,
    step: Duration,
    left: Duration,
    sleep: Option<Pin<Box<Sleep>>>,
}

impl Stream for Limited {
    type Item = ToolYield;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<ToolYield>> {
        let this = &mut *self;
        let Some(run) = &mut this.run else { return Poll::Ready(None) };
        let sleep = this.sleep.get_or_insert_with(|| Box::pin(tokio::time::sleep(this.left)));
        let polled = run.as_mut().poll_next(cx);
        // A tool that always has something so far is late all the same.
        let late = match polled {
            Poll::Ready(Some(ToolYield::Preliminary(_))) => Instant::now() >= sleep.deadline(),
            Poll::Ready(_) => false,
            Poll::Pending => sleep.as_mut().poll(cx).is_ready(),
        };
        if !late {
            return polled;
        }
        this.run = None;
        Poll::Ready(Some(ToolYield::Final(Err(ToolError::timed_out(this.step)))))
    }
}
