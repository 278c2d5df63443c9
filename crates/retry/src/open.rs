//! One attempt, up to the point where its answer can be shown.

use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::io;
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::{Duration, Instant};

use ai_provider::{
    Assembler, CancellationToken, ErrorClass, Finish, ModelError, ModelStream, StreamPart, UnifiedFinish,
    Usage,
};
use tokio::time::{Sleep, sleep, sleep_until};

/// Bytes of what comes before the first content that are held back. What is longer is no preamble: it is shown, and
/// binds.
const HELD: usize = 64 * 1024;

/// What ends the wait for output.
pub(crate) struct Patience<'a> {
    pub(crate) cancel: &'a CancellationToken,
    pub(crate) first_output: Option<Duration>,
    pub(crate) limit: Option<Instant>,
}

/// Which answers without content count as failures.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Strictness {
    pub(crate) empty: bool,
    pub(crate) refused: bool,
}

pub(crate) enum Opened {
    /// The answer has begun, or is over and has none: what was held back, and the rest.
    Committed {
        held: VecDeque<StreamPart>,
        stream: ModelStream,
    },
    Failed {
        error: ModelError,
        no_output: bool,
        usage: Option<Usage>,
    },
}

enum Heard {
    Item(Option<Result<StreamPart, ModelError>>),
    Cancelled,
    NoOutput(Duration),
    OutOfTime,
}

pub(crate) async fn open(mut stream: ModelStream, patience: Patience<'_>, strictness: Strictness) -> Opened {
    let mut cancelled = pin!(patience.cancel.cancelled());
    let mut silence = patience.first_output.map(|limit| (limit, Box::pin(sleep(limit))));
    let mut limit = timer(patience.limit);
    let (mut held, mut bytes) = (VecDeque::new(), 0);
    loop {
        let heard = poll_fn(|cx| {
            if cancelled.as_mut().poll(cx).is_ready() {
                return Poll::Ready(Heard::Cancelled);
            }
            if let Poll::Ready(item) = stream.as_mut().poll_next(cx) {
                return Poll::Ready(Heard::Item(item));
            }
            if limit.as_mut().is_some_and(|limit| limit.as_mut().poll(cx).is_ready()) {
                return Poll::Ready(Heard::OutOfTime);
            }
            match &mut silence {
                Some((limit, sleep)) => sleep.as_mut().poll(cx).map(|()| Heard::NoOutput(*limit)),
                None => Poll::Pending,
            }
        });
        let part = match heard.await {
            Heard::Item(Some(Ok(part))) => part,
            Heard::Item(Some(Err(error))) => return failed(error, false),
            Heard::Item(None) => return failed(incomplete(), false),
            Heard::Cancelled => return failed(ModelError::cancelled(), false),
            Heard::NoOutput(limit) => return failed(no_output(limit), true),
            Heard::OutOfTime => return failed(out_of_time(), false),
        };
        if let StreamPart::Finish(finish) = &part
            && let Some(error) = without_content(&held, finish, strictness)
        {
            let usage = Some(finish.usage.clone());
            return Opened::Failed { error, no_output: false, usage };
        }
        let commits = part.commits();
        if !commits {
            bytes += weight(&part);
        }
        held.push_back(part);
        if commits || bytes > HELD {
            return Opened::Committed { held, stream };
        }
    }
}

/// A timer for a point of tokio's clock.
pub(crate) fn timer(at: Option<Instant>) -> Option<Pin<Box<Sleep>>> {
    at.map(|at| Box::pin(sleep_until(tokio::time::Instant::from_std(at))))
}

fn failed(error: ModelError, no_output: bool) -> Opened {
    Opened::Failed { error, no_output, usage: None }
}

/// Why a finish behind no content is a failure, if it is: by the same measure as the run's own final check.
fn without_content(
    held: &VecDeque<StreamPart>,
    finish: &Finish,
    strictness: Strictness,
) -> Option<ModelError> {
    match finish.reason.unified {
        UnifiedFinish::Length => None,
        UnifiedFinish::ContentFilter => strictness
            .refused
            .then(|| ModelError::new(ErrorClass::ContentRefused, "the provider refused to answer")),
        UnifiedFinish::Error => {
            Some(ModelError::new(ErrorClass::Server, "the model ended with an error instead of an answer"))
        }
        _ if !strictness.empty => None,
        _ => {
            let mut assembler = Assembler::default();
            let in_order = held.iter().all(|part| assembler.push(part).is_ok());
            let empty = in_order && assembler.finish().is_empty();
            empty.then(|| ModelError::new(ErrorClass::Empty, "the model gave an empty answer"))
        }
    }
}

fn incomplete() -> ModelError {
    ModelError::new(ErrorClass::Incomplete, "the stream ended before the answer was complete")
}

fn no_output(limit: Duration) -> ModelError {
    ModelError::new(ErrorClass::Timeout, format!("the model gave no output within {limit:?}"))
}

/// What is said when the time for the whole call is over.
pub(crate) const OUT_OF_TIME: &str = "the time for the call is over";

/// The time for the whole call is over: nothing may be tried again.
pub(crate) fn out_of_time() -> ModelError {
    ModelError::new(ErrorClass::Timeout, OUT_OF_TIME).with_retryable(false)
}

/// The bytes of a part that is held back.
fn weight(part: &StreamPart) -> usize {
    struct Count(usize);
    impl io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut count = Count(0);
    // The counter takes everything, and all keys of a part are text.
    let _ = serde_json::to_writer(&mut count, part);
    count.0
}
