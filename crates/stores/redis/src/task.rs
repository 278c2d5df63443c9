use tokio::task::{AbortHandle, JoinHandle};

/// Work of a store beside its callers.
#[allow(
    clippy::disallowed_methods,
    reason = "one connection for many followers, and one sender for many writers, outlive each of them"
)]
pub(crate) fn spawn(work: impl Future<Output = ()> + Send + 'static) -> JoinHandle<()> {
    tokio::spawn(work)
}

/// Ends a task when dropped.
#[derive(Debug)]
pub(crate) struct EndOnDrop(AbortHandle);

impl EndOnDrop {
    pub(crate) fn spawn(work: impl Future<Output = ()> + Send + 'static) -> Self {
        Self(spawn(work).abort_handle())
    }
}

impl Drop for EndOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}
