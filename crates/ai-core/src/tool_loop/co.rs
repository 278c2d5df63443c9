use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use futures_core::Stream;

/// The giving side of a stream written as an async function: no task, no channel, one slot.
///
/// [`give`](Self::give) returns when the consumer asks for the next item, so what stands after it in the
/// function happens only on demand, and dropping the stream drops the function where it stands.
#[derive(Debug)]
pub(crate) struct Co<T>(Arc<Mutex<Option<T>>>);

impl<T> Co<T> {
    /// Hands out one item. Must be awaited directly in the function the stream runs, not raced with others.
    pub(crate) async fn give(&self, item: T) {
        put(&self.0, item);
        let mut handed_out = false;
        std::future::poll_fn(|_| {
            // No waker: the stream returns the item, and its consumer polls again for the next one.
            if std::mem::replace(&mut handed_out, true) { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }
}

fn put<T>(slot: &Mutex<Option<T>>, item: T) {
    *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(item);
}

fn take<T>(slot: &Mutex<Option<T>>) -> Option<T> {
    slot.lock().unwrap_or_else(PoisonError::into_inner).take()
}

/// The stream of what an async function gives.
pub(crate) struct CoStream<T> {
    slot: Arc<Mutex<Option<T>>>,
    function: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
}

impl<T: Send + 'static> CoStream<T> {
    /// Idle until polled.
    pub(crate) fn new<F, Fut>(function: F) -> Self
    where
        F: FnOnce(Co<T>) -> Fut,
        Fut: Future<Output = ()> + Send + 'static,
    {
        let slot = Arc::new(Mutex::new(None));
        let function = function(Co(Arc::clone(&slot)));
        Self { slot, function: Some(Box::pin(function)) }
    }
}

impl<T> Stream for CoStream<T> {
    type Item = T;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<T>> {
        // Taken out while it runs: if it panics the stream is over, and its parts are dropped with the panic.
        let Some(mut function) = self.function.take() else { return Poll::Ready(None) };
        let over = function.as_mut().poll(cx).is_ready();
        if !over {
            self.function = Some(function);
        }
        match take(&self.slot) {
            Some(item) => Poll::Ready(Some(item)),
            None if over => Poll::Ready(None),
            None => Poll::Pending,
        }
    }
}
