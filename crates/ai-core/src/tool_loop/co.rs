use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use futures_core::Stream;
use futures_util::stream::Empty;

/// The giving side of a stream written as an async function: no task, no channel, one slot.
///
/// [`give`](Self::give) returns when the consumer asks for the next item, so what stands after it in the
/// function happens only on demand, and dropping the stream drops the function where it stands.
///
/// Both must be awaited directly in the function the stream runs, not raced with others.
#[derive(Debug)]
pub(crate) struct Co<T, S = Empty<T>>(Slot<T, S>);

type Slot<T, S> = Arc<Mutex<Option<Given<T, S>>>>;

#[derive(Debug)]
enum Given<T, S> {
    Item(T),
    Lent(Box<S>),
    Back(Box<S>),
}

impl<T, S> Co<T, S> {
    /// Hands out one item.
    pub(crate) async fn give(&self, item: T) {
        put(&self.0, Given::Item(item));
        let mut handed_out = false;
        poll_fn(|_| {
            // No waker: the stream returns the item, and its consumer polls again for the next one.
            if std::mem::replace(&mut handed_out, true) { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }

    /// Hands out all items of a stream, and gives it back at its end. Meanwhile nothing stands between it and the
    /// consumer: where there are many items, this costs less than giving each.
    pub(crate) async fn lend(&self, stream: Box<S>) -> Box<S> {
        put(&self.0, Given::Lent(stream));
        poll_fn(|_| match take(&self.0) {
            Some(Given::Back(stream)) => Poll::Ready(stream),
            other => {
                *lock(&self.0) = other;
                Poll::Pending
            }
        })
        .await
    }
}

fn lock<T, S>(slot: &Slot<T, S>) -> std::sync::MutexGuard<'_, Option<Given<T, S>>> {
    slot.lock().unwrap_or_else(PoisonError::into_inner)
}

fn put<T, S>(slot: &Slot<T, S>, given: Given<T, S>) {
    *lock(slot) = Some(given);
}

fn take<T, S>(slot: &Slot<T, S>) -> Option<Given<T, S>> {
    lock(slot).take()
}

/// The stream of what an async function gives.
pub(crate) struct CoStream<T, S = Empty<T>> {
    slot: Slot<T, S>,
    lent: Option<Box<S>>,
    function: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
}

impl<T: Send + 'static, S: Send + 'static> CoStream<T, S> {
    /// Idle until polled.
    pub(crate) fn new<F, Fut>(function: F) -> Self
    where
        F: FnOnce(Co<T, S>) -> Fut,
        Fut: Future<Output = ()> + Send + 'static,
    {
        let slot = Arc::new(Mutex::new(None));
        let function = function(Co(Arc::clone(&slot)));
        Self { slot, lent: None, function: Some(Box::pin(function)) }
    }
}

impl<T, S: Stream<Item = T> + Unpin> Stream for CoStream<T, S> {
    type Item = T;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<T>> {
        let this = &mut *self;
        // Taken out while they run: if one panics the stream is over, and its parts are dropped with the panic.
        let Some(mut function) = this.function.take() else { return Poll::Ready(None) };
        let mut lent = this.lent.take();
        loop {
            if let Some(mut stream) = lent {
                let polled = Pin::new(&mut *stream).poll_next(cx);
                if !matches!(polled, Poll::Ready(None)) {
                    (this.lent, this.function) = (Some(stream), Some(function));
                    return polled;
                }
                put(&this.slot, Given::Back(stream));
            }
            let over = function.as_mut().poll(cx).is_ready();
            let given = match take(&this.slot) {
                Some(Given::Lent(stream)) if !over => {
                    lent = Some(stream);
                    continue;
                }
                Some(Given::Item(item)) => Poll::Ready(Some(item)),
                _ if over => Poll::Ready(None),
                _ => Poll::Pending,
            };
            this.function = (!over).then_some(function);
            return given;
        }
    }
}
