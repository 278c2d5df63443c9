use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use ai_provider::{CallContext, ModelError, ModelStream, StreamPart};
use futures_core::Stream;

use crate::middleware::Guard;
use crate::panic::model_panicked;

/// The stream of a model and of the plugins around it, which may never end, or panic: it ends with the call's cancel
/// and deadline, and a panic is an error.
pub(crate) fn guarded(stream: ModelStream, ctx: CallContext) -> ModelStream {
    Box::pin(Guarded { stream: Some(stream), guard: Guard::new(ctx) })
}

struct Guarded {
    /// Absent once it has failed.
    stream: Option<ModelStream>,
    guard: Guard,
}

impl Stream for Guarded {
    type Item = Result<StreamPart, ModelError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        let Some(stream) = &mut this.stream else { return Poll::Ready(None) };
        let polled = catch_unwind(AssertUnwindSafe(|| stream.as_mut().poll_next(cx)));
        let item = match polled.unwrap_or_else(|panic| Poll::Ready(Some(Err(model_panicked(&*panic))))) {
            Poll::Ready(item) => item,
            Poll::Pending => Some(Err(ready!(this.guard.poll(cx, format_args!("a stream of the plugins"))))),
        };
        if matches!(item, Some(Err(_))) {
            this.stream = None;
        }
        Poll::Ready(item)
    }
}
