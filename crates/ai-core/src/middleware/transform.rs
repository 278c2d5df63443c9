use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll};

use ai_provider::{ModelError, ModelStream, StreamPart};
use futures_core::Stream;

/// Changes the parts of one answer: a pure function with memory, without clock and without I/O.
pub trait PartTransform: Send + 'static {
    /// Takes one part and gives what takes its place: nothing, itself, or several.
    ///
    /// # Errors
    /// An error ends the stream, after the parts given so far.
    fn part(&mut self, part: StreamPart, out: &mut Parts) -> Result<(), ModelError>;

    /// The stream broke off, with an error or just without a finish: gives what is held back. The error follows.
    fn failed(&mut self, _error: Option<&ModelError>, _out: &mut Parts) {}
}

/// The parts a [`PartTransform`] gives, in order.
#[derive(Debug, Default)]
pub struct Parts(VecDeque<StreamPart>);

impl Parts {
    /// Gives a part.
    pub fn push(&mut self, part: StreamPart) {
        self.0.push_back(part);
    }

    /// Takes the first of them.
    pub fn pop(&mut self) -> Option<StreamPart> {
        self.0.pop_front()
    }
}

impl Extend<StreamPart> for Parts {
    fn extend<I: IntoIterator<Item = StreamPart>>(&mut self, parts: I) {
        self.0.extend(parts);
    }
}

/// An answer changed part by part. Idle until polled.
pub fn transform_parts(stream: ModelStream, transform: impl PartTransform) -> ModelStream {
    Box::pin(Transformed {
        stream: Some(stream),
        transform,
        out: Parts::default(),
        error: None,
        finished: false,
    })
}

struct Transformed<T> {
    /// Absent once it has broken off.
    stream: Option<ModelStream>,
    transform: T,
    out: Parts,
    /// Held until what came before it is handed out.
    error: Option<ModelError>,
    finished: bool,
}

impl<T: PartTransform> Unpin for Transformed<T> {}

impl<T: PartTransform> Stream for Transformed<T> {
    type Item = Result<StreamPart, ModelError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        loop {
            if let Some(part) = this.out.pop() {
                return Poll::Ready(Some(Ok(part)));
            }
            if let Some(error) = this.error.take() {
                return Poll::Ready(Some(Err(error)));
            }
            let Some(stream) = &mut this.stream else { return Poll::Ready(None) };
            match stream.as_mut().poll_next(cx) {
                Poll::Ready(Some(Ok(part))) => {
                    this.finished |= matches!(part, StreamPart::Finish(_));
                    if let Err(error) = this.transform.part(part, &mut this.out) {
                        this.error = Some(error);
                        this.stream = None;
                    }
                }
                Poll::Ready(end) => {
                    this.stream = None;
                    this.error = end.and_then(Result::err);
                    if !this.finished {
                        this.transform.failed(this.error.as_ref(), &mut this.out);
                    }
                }
                Poll::Pending => return Poll::Pending,
            }
        }
    }
}
